// What waits in a pool that ends is looked at a few times, not once for each that is broken off.
#include <gtest/gtest.h>

#include "rubato/detail/work/future_state.hpp"
#include "work/owned_tasks.hpp"

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace {

struct waiting_work final : rubato::detail::future_state, rubato::detail::owned_task {
  std::size_t& asked;
  waiting_work* const waits_for; ///< cannot be withdrawn before that has been dropped
  bool dropped = false;

  waiting_work(std::size_t& a, waiting_work* other)
      : future_state(1)
      , owned_task(static_cast<future_state&>(*this))
      , asked(a)
      , waits_for(other) {}
  [[nodiscard]] void* result() noexcept override { return nullptr; }
  void fail(std::exception_ptr /*e*/) noexcept override {}
  void dispose() noexcept override {}
  [[nodiscard]] bool withdraw(owned_task const& /*as*/) noexcept override {
    ++asked;
    return waits_for == nullptr || waits_for->dropped;
  }
  void drop() noexcept override {
    EXPECT_FALSE(std::exchange(dropped, true));
    EXPECT_TRUE(broken_off);
    EXPECT_FALSE(is_listed());
  }
};

/// As lifecycle::drop_owned() does. True: at least one was dropped.
bool drop_stuck(rubato::detail::owned_tasks& all) {
  for (bool any = false;; any = true) {
    rubato::detail::intrusive_list<rubato::detail::owned_task> stuck;
    all.withdraw_stuck(stuck);
    if (stuck.empty()) return any;
    rubato::detail::owned_tasks::drop(stuck);
  }
}

TEST(owned_tasks, regression_breaking_off_is_linear_in_what_waits) {
  constexpr std::size_t count = 2000;
  std::size_t asked = 0;
  rubato::detail::owned_tasks all(nullptr);
  std::vector<std::unique_ptr<waiting_work>> work;
  // Each second one can be withdrawn; the others stand before them in the list, and wait for them.
  for (std::size_t i = 0; i != count; ++i) {
    work.push_back(std::make_unique<waiting_work>(asked, nullptr));
    work.push_back(std::make_unique<waiting_work>(asked, work.back().get()));
  }
  for (auto& w : work) all.add(*w);
  EXPECT_TRUE(drop_stuck(all));
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(all.count(), 0U);
  for (auto& w : work) EXPECT_TRUE(w->dropped);
  EXPECT_LE(asked, 4 * 2 * count);
  EXPECT_FALSE(drop_stuck(all));
}

} // namespace
