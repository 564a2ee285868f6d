// The options of the global pool: each test is a process of its own, because that pool starts once.
#include <rubato/algorithm.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/threads.hpp"
#include "support/trees.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

template<class Exception, class F>
bool throws(F f) {
  try {
    f();
  } catch (Exception const&) {
    return true;
  }
  return false;
}

bool works(rubato::pool& pool) {
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++ran; });
  return pool.wait_idle() && ran == 100 && pool.run([] { return forked_sum(0, 300); }) == sum_below(300);
}

/// What runs outside any pool, and the threads that it has used.
bool loops_and_joins_run() {
  std::atomic<unsigned> sum = 0;
  rubato::for_index(0U, 1'000U, [&](unsigned i) { sum += i; });
  rubato::with_scope([&](rubato::scope& s) {
    for (unsigned i = 0; i != 10; ++i) s.spawn([&] { ++sum; });
  });
  return sum == 499'510 && forked_sum(0, 300) == sum_below(300);
}

class regression_configure : public fresh_process, public testing::WithParamInterface<unsigned> {
protected:
  rubato_test::hang_guard guard;
};
INSTANTIATE_TEST_SUITE_P(workers, regression_configure, testing::Values(0U, 1U, 2U, 33U),
                         testing::PrintToStringParamName());

TEST_P(regression_configure, decides_before_the_first_use) {
  auto const child = [] {
    kill_this_process_if_it_hangs();
    std::atomic<unsigned> told = 0;
    rubato::pool& pool = rubato::pool::global(); // is no use
    rubato::pool::configure_global(
        with_workers(GetParam()).name("mine").on_unhandled([&](std::exception_ptr) { ++told; }));
    if (pool.size() != GetParam() || !works(pool) || !loops_and_joins_run()) leave(false, "it does not work");
    pool.enqueue([] { throw 1; });
    pool.wait_idle();
    if (told != 1) leave(false, "the other options do not hold");
    if (!throws<std::logic_error>([] { rubato::pool::configure_global(with_workers(2)); }))
      leave(false, "a used pool was configured");
    leave(pool.size() == GetParam(), "configured");
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "configured");
}

TEST_P(regression_configure, of_no_workers_starts_none_for_a_loop) {
  auto const child = [] {
    kill_this_process_if_it_hangs();
    rubato::pool::configure_global(with_workers(0));
    rubato::pool own(with_workers(GetParam()));
    auto const before = thread_ids().size();
    if (!loops_and_joins_run()) leave(false, "it does not work");
    auto const me = std::this_thread::get_id();
    std::atomic<unsigned> elsewhere = 0;
    rubato::for_index(0, 1'000, [&](int) { elsewhere += std::this_thread::get_id() != me ? 1U : 0U; });
    leave(elsewhere == 0 && thread_ids().size() <= before, "no thread was added");
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "no thread was added");
}

TEST_P(regression_configure, beside_the_first_use_decides_or_throws) {
  auto const child = [] {
    kill_this_process_if_it_hangs();
    unsigned const mine = GetParam() == 33 ? 5 : GetParam() + 40;
    std::atomic<bool> go{false}, well{true};
    std::atomic<unsigned> decided{0};
    {
      std::vector<std::jthread> users;
      for (int i = 0; i != 3; ++i)
        users.emplace_back([&] {
          while (!go) std::this_thread::yield();
          if (!works(rubato::pool::global())) well = false;
        });
      for (int i = 0; i != 3; ++i)
        users.emplace_back([&] {
          while (!go) std::this_thread::yield();
          if (!throws<std::logic_error>([&] { rubato::pool::configure_global(with_workers(mine)); }))
            ++decided;
        });
      go = true;
    }
    unsigned const expected = decided != 0 ? mine : rubato::usable_cpus();
    leave(well && rubato::pool::global().size() == expected, "one of both");
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "one of both");
}

TEST_P(regression_configure, holds_in_the_child_after_fork) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  auto const child = [] {
    kill_this_process_if_it_hangs();
    rubato::pool& pool = rubato::pool::global();
    rubato::pool::configure_global(with_workers(GetParam()));
    if (!works(pool)) leave(false, "it does not work");
    if (int const of_this = ::fork(); of_this != 0)
      leave(wait_for_child(of_this) == 0 && works(pool), "both work");
    bool const keeps = pool.size() == GetParam() && works(pool);
    std::_Exit(
        keeps && throws<std::logic_error>([] { rubato::pool::configure_global(with_workers(1)); }) ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "both work");
}

TEST_P(regression_configure, works_in_a_child_before_its_first_use) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  auto const child = [] {
    kill_this_process_if_it_hangs();
    rubato::pool& pool = rubato::pool::global();
    if (!works(pool)) leave(false, "it does not work");
    if (int const of_this = ::fork(); of_this != 0)
      leave(wait_for_child(of_this) == 0 && works(pool), "both work");
    rubato::pool::configure_global(with_workers(GetParam()));
    std::_Exit(pool.size() == GetParam() && works(pool) ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "both work");
}

TEST_P(regression_configure, lets_the_exit_drain_what_is_queued) {
  auto const child = [] {
    kill_this_process_if_it_hangs();
    static std::atomic<int> ran{0};
    static struct last_words {
      ~last_words() { leave(ran == 100, "drained"); }
    } const words; // made before the first use of the pool: destroyed after its exit handler
    rubato::pool::configure_global(with_workers(GetParam()));
    for (int i = 0; i != 100; ++i) rubato::enqueue([] { ++ran; });
    std::exit(0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "drained");
}

using regression_configure_once = fresh_process;

TEST_F(regression_configure_once, a_later_call_replaces_the_options) {
  auto const child = [] {
    kill_this_process_if_it_hangs();
    auto const kept = std::make_shared<int>(1);
    rubato::pool::configure_global(rubato::pool_options().workers(5).on_start([kept](unsigned) {}));
    rubato::pool::configure_global(rubato::pool_options().workers(3));
    if (kept.use_count() != 1) leave(false, "the first options are kept");
    leave(rubato::pool::global().size() == 3 && works(rubato::pool::global()), "replaced");
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "replaced");
}

TEST_F(regression_configure_once, refuses_bad_options_without_change) {
  auto const child = [] {
    kill_this_process_if_it_hangs();
    auto const refused = [](rubato::pool_options options) {
      return throws<std::invalid_argument>([&] { rubato::pool::configure_global(std::move(options)); });
    };
    bool const all =
        refused(rubato::pool_options().workers(1'025)) && refused(rubato::pool_options().workers(~0U)) &&
        refused(rubato::pool_options().max_queued(0)) && refused(rubato::pool_options().spares(1'000'001)) &&
        refused(rubato::pool_options().cpus({1'000'000}));
    if (!all) leave(false, "not refused");
    leave(rubato::pool::global().size() == rubato::usable_cpus() && works(rubato::pool::global()), "refused");
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "refused");
}

} // namespace
