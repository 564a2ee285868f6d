// The timers of a hedged call: armed again by the firer, stopped at any time, and no place for user code.
#include <gtest/gtest.h>

#include "rubato/detail/hedge/call_copies.hpp"
#include "sched/core/pool_core.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/race.hpp>
#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::detail::call_clock;
using rubato::detail::call_copies;
using std::chrono::steady_clock;

namespace {

/// A call of that function whose copies never begin, with a clock of the test's own.
template<class F>
class clocked_call {
  using call = rubato::detail::typed_call_copies<F>;

  rubato::pool& pool_;
  rubato::detail::state_ref state_;

public:
  call_clock clock;

  clocked_call(rubato::pool& p, F f, void (*rings)(call_copies&) noexcept)
      : pool_(p)
      , state_(rubato::detail::make_in_slab<call>(*rubato::detail::core_of(p),
                                                  rubato::detail::call_kind::hedge,
                                                  rubato::race_options().pin(false), true, std::move(f)))
      , clock(copies(), rings) {}
  clocked_call(clocked_call const&) = delete;
  ~clocked_call() {
    if (state_) leave();
    EXPECT_TRUE(pool_.wait_idle(20s)); // the firer does not use the clock any more
  }
  [[nodiscard]] call_copies& copies() { return static_cast<call_copies&>(*state_.get()); }
  /// Gives up all references to the call but the clock's.
  void leave() {
    copies().stop_call();
    state_ = {};
  }
};

int one() { return 1; }

class clocks_of_calls : public on_workers {
protected:
  static inline std::atomic<int> rung{0};
  void SetUp() override { rung = 0; }
};
RUBATO_TEST_WITH_WORKERS(clocks_of_calls, all_counts);

TEST_P(clocks_of_calls, ring_once) {
  clocked_call call(pool, &one, [](call_copies&) noexcept { ++rung; });
  call.clock.begin(steady_clock::now() + 1ms);
  EXPECT_TRUE(pool.wait_idle(20s)); // a pool with an armed timer is not idle
  EXPECT_EQ(rung, 1);
  call.clock.stop();
}
TEST_P(clocks_of_calls, do_not_ring_when_stopped) {
  clocked_call call(pool, &one, [](call_copies&) noexcept { ++rung; });
  call.clock.begin(steady_clock::now() + 1h);
  call.clock.stop();
  EXPECT_TRUE(pool.wait_idle(20s));
  EXPECT_EQ(rung, 0);
}
TEST_P(clocks_of_calls, regression_stay_stopped) {
  clocked_call call(pool, &one, [](call_copies&) noexcept { ++rung; });
  auto const later = steady_clock::now() + 1h;
  call.clock.begin(later);
  call.clock.stop();
  for (int i = 0; i != 3; ++i) { // a copy and the firer may both come after the decider
    call.clock.begin(later);
    EXPECT_TRUE(pool.wait_idle(20s));
  }
  EXPECT_EQ(rung, 0);
}
TEST_P(clocks_of_calls, regression_stop_while_the_firer_arms_again) {
  static std::atomic<call_clock*> again{nullptr};
  for (std::size_t i = 0; i != scaled(1'000); ++i) {
    clocked_call call(pool, &one, [](call_copies&) noexcept {
      ++rung;
      again.load()->begin(steady_clock::now() + 1h);
    });
    again = &call.clock;
    int const before = rung;
    call.clock.begin(steady_clock::now());
    EXPECT_TRUE(
        rubato_test::computing_until([&] { return rung != before; })); // the firer begins it again now
    for (std::atomic<std::size_t> n{0}; n.load() < i % 20; ++n) {
    }
    call.clock.stop();
    EXPECT_TRUE(pool.wait_idle(20s)); // no timer is armed
  }
}

/// Tells where its destructor runs: in a task, or elsewhere.
class tells_where {
  milestone* destroyed_; // null: it was moved from
  std::atomic<bool>* in_task_;

public:
  tells_where(milestone& destroyed, std::atomic<bool>& in_task) noexcept
      : destroyed_(&destroyed)
      , in_task_(&in_task) {}
  tells_where(tells_where&& other) noexcept
      : destroyed_(std::exchange(other.destroyed_, nullptr))
      , in_task_(other.in_task_) {}
  tells_where& operator=(tells_where&&) = delete;
  ~tells_where() {
    if (destroyed_ == nullptr) return;
    auto& me = *rubato::detail::current; // a firer is no task, whatever thread it is
    *in_task_ = me.core != nullptr &&
                rubato::detail::pool_thread::is_in_task(rubato::detail::thread_of(me).boundaries.get());
    destroyed_->reach();
  }
};

TEST_P(clocks_of_calls, regression_leave_a_task_its_last_reference) {
  static std::optional<milestone> rings, rung_out; // of this repetition
  rings.emplace();
  rung_out.emplace();
  milestone destroyed;
  std::atomic<bool> in_task{false};
  auto f = [owned = tells_where(destroyed, in_task)] { return 1; };
  clocked_call call(pool, std::move(f), [](call_copies&) noexcept {
    rings->reach();
    EXPECT_TRUE(rung_out->wait());
  });
  call.clock.begin(steady_clock::now());
  EXPECT_TRUE(rings->wait());
  call.leave();
  rung_out->reach(); // now the firer has the last reference
  EXPECT_TRUE(destroyed.wait());
  EXPECT_TRUE(in_task);
}

} // namespace
