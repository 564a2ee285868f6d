// Hedged calls without memory: they throw std::bad_alloc or go on, and never throw another thing for it.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include "memory/failing.hpp"
#include "rubato/detail/hedge/run_copies.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "support/hang_guard.hpp"
#include "support/waiting.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace {

using rubato::race_options;
using rubato::race_report;
using rubato::detail::call_kind;
using rubato_test::failing_allocations;
using rubato_test::hang_guard;

race_options unpinned(unsigned n) { return race_options().runners(n).pin(false); }

/// Calls f() without any memory, neither from the system nor from the slabs. On a thread of its own: its
/// slabs have not grown so far that they take their memory elsewhere.
template<class F>
void call_without_memory(F f) {
  struct block {
    void* memory;
    std::size_t bytes;
  };
  std::thread([&] {
    constexpr std::size_t largest = 4096, step = 16;
    std::vector<block> taken;
    taken.reserve(1'000'000);
    bool exhausted = true;
    rubato::detail::deallocate(rubato::detail::allocate(step), step); // the thread has a cache from now on
    {
      failing_allocations const all(100);
      for (std::size_t bytes = step; bytes <= largest; bytes += step) try {
          while (taken.size() != taken.capacity()) taken.push_back({rubato::detail::allocate(bytes), bytes});
          exhausted = false;
        } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): so it is meant
        }
      if (exhausted) f();
    }
    EXPECT_TRUE(exhausted);
    for (block const& b : taken) rubato::detail::deallocate(b.memory, b.bytes);
  }).join();
}

TEST(failing_hedge, regression_a_report_needs_no_memory_at_the_end) {
  hang_guard const guard;
  rubato::pool pool(1);
  auto const calls = [&](auto const& call) {
    race_report report;
    std::optional<failing_allocations> all;
    int got = 0;
    try {
      got = call(pool, unpinned(1).report(&report), [&] {
        all.emplace(100U);
        return 7;
      });
    } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): `got` tells
    }
    all.reset();
    EXPECT_EQ(got, 7);
    EXPECT_EQ(report.copies.size(), 1U);
    EXPECT_EQ(report.winner, 0U);
  };
  calls(rubato::race);
  calls(rubato::hedge);
}

TEST(failing_hedge, regression_a_coroutine_fails_with_bad_alloc) {
  hang_guard const guard;
  for (call_kind const kind : {call_kind::async_race, call_kind::async_hedge}) {
    rubato::pool pool(1);
    auto calls = std::make_shared<std::atomic<int>>(0); // not constant, so that `f` moves it
    auto f = [calls]() -> rubato::task<int> { co_return ++*calls; };
    using call = rubato::detail::coroutine_call_copies<decltype(f)>;
    auto* const made = rubato::detail::make_in_slab<call>(*rubato::detail::core_of(pool), kind, unpinned(2),
                                                          false, std::move(f));
    {
      rubato::detail::state_ref const mine(made);
      call_without_memory([&] { static_cast<void>(made->start()); });
      EXPECT_TRUE(rubato_test::eventually([&] { return made->done(); }));
      EXPECT_THROW(static_cast<void>(made->take()), std::bad_alloc);
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(*calls, 0);
    EXPECT_EQ(calls.use_count(), 1); // nothing is left of the call
  }
}

TEST(failing_hedge, calls_without_memory_throw_bad_alloc) {
  hang_guard const guard;
  rubato::pool pool(1);
  int thrown = 0, begun = 0;
  call_without_memory([&] {
    auto const expect_bad_alloc = [&](auto const& call) {
      try {
        call(pool, unpinned(2), [&] { ++begun; });
      } catch (std::bad_alloc const&) {
        ++thrown;
      }
    };
    expect_bad_alloc(rubato::race);
    expect_bad_alloc(rubato::hedge);
  });
  EXPECT_EQ(thrown, 2);
  EXPECT_EQ(begun, 0);
  EXPECT_TRUE(pool.wait_idle());
}

} // namespace
