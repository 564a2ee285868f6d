// A shutdown that takes long says for what it waits.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "support/outcome.hpp"
#include "support/own_words.hpp"
#include "support/process.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

[[noreturn]] void end_slowly() {
  kill_this_process_if_it_hangs();
  own_words words;
  std::string heard;
  {
    rubato::promise<int> late;
    gate open;
    rubato::pool pool(rubato::pool_options().workers(2).name("slow"));
    std::atomic<int> begun{0};
    auto waits = pool.spawn([&, f = late.get_future()]() mutable { return ++begun, f.get(); });
    auto blocks = pool.spawn([&] { return ++begun, open.wait(); });
    eventually([&] { return begun == 2; });
    std::jthread const listener([&] {
      heard = words.up_to("ends the waits of tasks"); // its last line
      open.open();
      late.set_value(1);
    });
    pool.shutdown();
    if (waits.get() + static_cast<int>(blocks.get()) != 2) leave(false, "lost");
  }
  leave(says(heard, "pool 'slow' has been ending for") && says(heard, "waits in get, for") &&
            says(heard, "runs a task"),
        "it said for what it waits");
}

/// A shutdown whose grace is long, or that discards: it does not advise the step that it takes itself.
template<class... How>
[[noreturn]] void end_by_itself(char const* last_line, How... how) {
  kill_this_process_if_it_hangs();
  own_words words;
  std::string heard;
  {
    gate open;
    rubato::pool pool(1);
    std::atomic<bool> begun{false};
    auto blocks = pool.spawn([&] { return begun = true, open.wait(); });
    eventually([&] { return begun.load(); }); // a discard would drop it
    std::jthread const listener([&] {
      heard = words.up_to(last_line);
      open.open();
    });
    pool.shutdown(how...);
  }
  leave(!says(heard, "request_shutdown"), "it does not advise a discard");
}

using shutdown_report = fresh_process;

TEST_F(shutdown_report, names_threads_that_run_and_wait) {
  EXPECT_EXIT(end_slowly(), testing::ExitedWithCode(0), "it said for what it waits");
}

TEST_F(shutdown_report, regression_advises_no_grace_that_it_has) {
  EXPECT_EXIT(end_by_itself("ends the waits of tasks", rubato::drain, std::chrono::hours(1)),
              testing::ExitedWithCode(0), "it does not advise a discard");
}
TEST_F(shutdown_report, regression_advises_no_discard_within_one) {
  EXPECT_EXIT(end_by_itself("waits for those that run", rubato::discard), testing::ExitedWithCode(0),
              "it does not advise a discard");
}

TEST(stalls, are_ended_by_a_discard_from_on_stall) {
  rubato::pool* ended = nullptr;
  rubato::pool pool(rubato::pool_options().workers(2).on_stall(
      [&](rubato::stall_report const&) { ended->request_shutdown(rubato::discard); }));
  ended = &pool;
  rubato::promise<rubato::shared_future<int>> itself;
  auto const self = pool.spawn([f = itself.get_future()]() mutable { return f.get().get(); }).share();
  itself.set_value(self);
  EXPECT_EQ(outcome_of_get(self), outcome::cancelled);
}

/// Circles of coroutines alone are not searched for; their pool's end destroys them.
TEST(stalls, of_coroutines_alone_end_with_their_pool) {
  rubato::shared_future<int> left;
  {
    rubato::promise<rubato::shared_future<int>> to_right;
    rubato::pool pool(1);
    auto const awaits = [](rubato::future<rubato::shared_future<int>> f) -> rubato::task<int> {
      auto const other = co_await std::move(f);
      co_return co_await other;
    };
    auto const forwards = [](rubato::shared_future<int> f) -> rubato::task<int> { co_return co_await f; };
    left = pool.spawn(awaits(to_right.get_future())).share();
    to_right.set_value(pool.spawn(forwards(left)).share());
    pool.wait_idle();
  }
  EXPECT_EQ(outcome_of_get(left), outcome::broken);
}

} // namespace
