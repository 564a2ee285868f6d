// What can never finish is reported: which thread waits for which.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/process.hpp"
#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

[[noreturn]] void wait_for_oneself() {
  kill_this_process_if_it_hangs();
  rubato::pool pool(rubato::pool_options().workers(2).on_stall([](rubato::stall_report const& report) {
    auto const& all = report.waiters;
    leave(all.size() == 1 && std::string(all[0].waits_in) == "get" && all[0].waits_for == all[0].thread,
          "a thread waits for itself");
  }));
  rubato::shared_future<int> self;
  std::atomic<bool> known{false};
  self = pool.spawn([&] {
               while (!known) std::this_thread::yield();
               return self.get();
             })
             .share();
  known = true;
  gate never;
  never.wait();
  leave(false, "on_stall was not called");
}

/// The monitor has gone to sleep by the time the other worker does.
[[noreturn]] void wait_while_the_other_worker_is_busy() {
  kill_this_process_if_it_hangs();
  auto others = threads_that_are_not_the_pools();
  rubato::pool pool(rubato::pool_options().workers(2).on_stall(
      [](rubato::stall_report const&) { leave(true, "told of a stall that began later"); }));
  std::atomic<bool> end{false};
  std::atomic<int> busy{0};
  pool.enqueue([&] {
    busy = gettid();
    while (!end.load(std::memory_order_relaxed)) {
    }
  });
  eventually([&] { return busy != 0; });
  others.insert(busy);
  rubato::promise<rubato::shared_future<int>> itself;
  auto const self = pool.spawn([f = itself.get_future()]() mutable { return f.get().get(); }).share();
  itself.set_value(self);
  if (!become_quiet(others)) leave(false, "a thread wakes up");
  end = true;
  gate never;
  never.wait();
  leave(false, "on_stall was not called");
}

[[noreturn]] void wait_for_a_thread_outside() {
  kill_this_process_if_it_hangs();
  auto const others = threads_that_are_not_the_pools();
  rubato::pool pool(rubato::pool_options().workers(2).on_stall(
      [](rubato::stall_report const&) { leave(false, "that is no stall"); }));
  rubato::promise<int> from_outside;
  auto value = pool.spawn([f = from_outside.get_future()]() mutable { return f.get(); });
  bool const quiet = become_quiet(others);
  from_outside.set_value(1);
  leave(quiet && value.get() == 1, "no thread wakes up while every thread waits for a thread outside");
}

[[noreturn]] void wait_for_each_other_for_a_while() {
  kill_this_process_if_it_hangs();
  std::atomic<int> told{0};
  rubato::pool pool(rubato::pool_options().workers(2).on_stall([&](rubato::stall_report const&) { ++told; }));
  rubato::promise<rubato::shared_future<int>> other;
  auto const one = pool.spawn([f = other.get_future()]() mutable {
                         auto const two = f.get();
                         static_cast<void>(two.wait_for(std::chrono::milliseconds(200)));
                         return 1;
                       })
                       .share();
  auto const two = pool.spawn([one] {
                         static_cast<void>(one.wait_for(std::chrono::milliseconds(200)));
                         return 2;
                       })
                       .share();
  other.set_value(two);
  leave(one.get() + two.get() == 3 && told == 0, "the clock ends it");
}

rubato::task<bool> never_set(rubato::event& e) { co_return co_await rubato::with_deadline(e.wait(), 1ms); }

/// Every thread that the pool may have waits for a coroutine, which needs another one. They begin to wait
/// when all of them are in a task, so none is left that could go on with a coroutine.
void use_up_all_spares(rubato::pool_options options, unsigned workers) {
  kill_this_process_if_it_hangs();
  rubato::event e;
  rubato::pool pool(std::move(options).workers(workers).spares(2));
  std::latch all_here(workers + 2);
  for (unsigned i = 0; i != workers + 2; ++i)
    pool.enqueue([&] {
      all_here.arrive_and_wait();
      pool.spawn(never_set(e)).get();
    });
  gate never;
  never.wait();
  leave(false, "nothing was said");
}

[[noreturn]] void use_up_all_spares_with_a_handler(unsigned workers) {
  use_up_all_spares(rubato::pool_options().on_stall([&](rubato::stall_report const& report) {
    leave(report.spares_used_up && report.ready != 0 && report.waiters.size() == workers + 2,
          "all spares are used up, said the report");
  }),
                    workers);
  std::abort();
}

/// The tasks wait for room in the queue behind threads outside, which have been woken for it and have not
/// run.
[[noreturn]] void wait_for_room_behind_threads_outside(unsigned workers) {
  kill_this_process_if_it_hangs();
  std::atomic<int> told = 0, done = 0;
  for (int round = 0; round != 6; ++round) {
    rubato::pool pool(rubato::pool_options().workers(workers).max_queued(1).on_stall(
        [&](rubato::stall_report const&) { ++told; }));
    std::vector<std::jthread> outside;
    for (int k = 0; k != 4; ++k)
      outside.emplace_back([&] {
        for (int i = 0; i != 100; ++i) pool.enqueue([&] { pool.enqueue([&] { ++done; }); });
      });
    outside.clear();
    pool.wait_idle();
  }
  leave(told == 0 && done == 2'400, "that was no stall");
}

using on_stall_of_a_future = fresh_process;
using stalled_waits = fresh_process;

TEST_F(stalled_waits, regression_tell_when_the_last_busy_one_idles) {
  EXPECT_EXIT(wait_while_the_other_worker_is_busy(), testing::ExitedWithCode(0),
              "told of a stall that began later");
}

TEST_F(stalled_waits, regression_do_not_tell_of_clocked_waits) {
  EXPECT_EXIT(wait_for_each_other_for_a_while(), testing::ExitedWithCode(0), "the clock ends it");
}

TEST_F(stalled_waits, regression_need_no_polling_for_outside_threads) {
  EXPECT_EXIT(wait_for_a_thread_outside(), testing::ExitedWithCode(0), "no thread wakes up");
}

TEST_F(on_stall_of_a_future, tells_that_a_task_waits_for_itself) {
  EXPECT_EXIT(wait_for_oneself(), testing::ExitedWithCode(0), "a thread waits for itself");
}

TEST_F(stalled_waits, regression_is_told_when_all_spares_are_used_up) {
  for (unsigned const workers : {1U, 2U, 33U})
    EXPECT_EXIT(use_up_all_spares_with_a_handler(workers), testing::ExitedWithCode(0),
                "all spares are used up, said the report");
}

[[noreturn]] void use_up_all_spares_without_a_handler() {
  std::thread([] { use_up_all_spares({}, 2); }).detach();
  kill_this_process_if_it_hangs();
  // The message is the library's: this process ends when it has been printed.
  int ends[2];
  if (::pipe(ends) != 0) leave(false, "pipe");
  int const error = ::dup(2);
  ::dup2(ends[1], 2);
  std::string said;
  char byte = 0;
  while (said.find("spares are used up") == std::string::npos && ::read(ends[0], &byte, 1) == 1) said += byte;
  ::dup2(error, 2);
  leave(true, said.c_str());
}

TEST_F(stalled_waits, regression_tell_without_spares_or_a_handler) {
  EXPECT_EXIT(use_up_all_spares_without_a_handler(), testing::ExitedWithCode(0), "all spares are used up");
}

TEST_F(stalled_waits, regression_do_not_tell_of_waits_for_room) {
  for (unsigned const workers : {1U, 2U})
    EXPECT_EXIT(wait_for_room_behind_threads_outside(workers), testing::ExitedWithCode(0),
                "that was no stall");
}

} // namespace
