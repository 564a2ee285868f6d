// Results that are rvalue references, wherever the library keeps a result in a type of std.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/pools.hpp"

namespace {

using namespace rubato_test;

class rvalue_results : public on_workers {
protected:
  std::string text = "text";
  auto give() {
    return [this]() -> std::string&& { return std::move(text); };
  }
  rubato::task<std::string&&> task() { co_return std::move(text); }
};
RUBATO_TEST_WITH_WORKERS(rvalue_results, all_counts);

TEST_P(rvalue_results, regression_of_broadcast_and_submit) {
  std::vector<std::reference_wrapper<std::string>> const all = pool.broadcast(give());
  EXPECT_EQ(all.size(), pool.size());
  for (std::string const& s : all) EXPECT_EQ(&s, &text);
  std::future<std::string&> f = pool.submit(give());
  pool.wait_idle(); // which runs it, if there is no worker
  EXPECT_EQ(&f.get(), &text);
}

TEST_P(rvalue_results, regression_of_several_futures) {
  auto const any = rubato::when_any(pool.spawn(give()), pool.spawn(give())).get();
  EXPECT_EQ(std::visit([](auto r) { return &r.get(); }, any.value), &text);
  auto const first = rubato::when_first(pool.spawn(give()), pool.spawn(give())).get();
  EXPECT_EQ(std::visit([](auto r) { return &r.get(); }, first.value), &text);
  auto const two = [this] {
    std::vector<rubato::future<std::string&&>> made;
    for (int i = 0; i != 2; ++i) made.push_back(pool.spawn(give()));
    return made;
  };
  EXPECT_EQ(&rubato::when_any(two()).get().value.get(), &text);
  EXPECT_EQ(&rubato::when_first(two()).get().value.get(), &text);
  for (std::string const& s : rubato::when_all(two()).get()) EXPECT_EQ(&s, &text);
  auto [a, b] = rubato::when_all(pool.spawn(give()), pool.spawn(give())).get();
  static_assert(std::same_as<decltype(a), std::string&&>);
  EXPECT_EQ(&a, &text);
  EXPECT_EQ(&b, &text);
  std::vector<rubato::shared_future<std::string&&>> const shared(2, pool.spawn(give()).share());
  EXPECT_EQ(&rubato::when_any(shared).get().value.get(), &text);
  for (std::string const& s : rubato::when_all(shared).get()) EXPECT_EQ(&s, &text);
}

TEST_P(rvalue_results, regression_of_several_tasks) {
  auto f = pool.spawn([this]() -> rubato::task<std::size_t> {
    std::size_t same = 0;
    auto const count_same = [&](std::string const& s) { same += &s == &text ? 1U : 0U; };
    auto any = rubato::when_any(task(), task());
    auto const r = co_await std::move(any);
    std::visit(count_same, r.value);
    auto mixed = rubato::when_first(pool.spawn(give()), task());
    auto const m = co_await std::move(mixed);
    std::visit(count_same, m.value);
    std::vector<rubato::task<std::string&&>> tasks;
    tasks.push_back(task());
    tasks.push_back(task());
    auto const all = co_await rubato::when_all(std::move(tasks));
    for (std::string const& s : all) count_same(s);
    auto limited = rubato::with_deadline(task(), std::chrono::hours(1));
    auto const in_time = co_await std::move(limited);
    if (in_time) count_same(*in_time);
    auto both = rubato::when_all(pool.spawn(give()).share(), task());
    auto [a, b] = co_await std::move(both);
    count_same(a);
    count_same(b);
    co_return same;
  });
  EXPECT_EQ(f.get(), 7U);
}

} // namespace
