// The callbacks of a pool: threads that start and end, exceptions that no caller waits for, stalls.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/counting.hpp"
#include "support/hang_guard.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

/// Notes which threads said that they started and that they ended.
class roll_call {
  std::mutex mutex_;
  std::map<std::thread::id, unsigned> present_;
  unsigned started_ = 0;
  unsigned errors_ = 0;

public:
  void start(unsigned number) {
    std::lock_guard const lock(mutex_);
    ++started_;
    if (!present_.emplace(std::this_thread::get_id(), number).second) ++errors_;
  }
  void exit(unsigned number) {
    std::lock_guard const lock(mutex_);
    auto const it = present_.find(std::this_thread::get_id());
    if (it == present_.end() || it->second != number) {
      ++errors_;
    } else {
      present_.erase(it);
    }
  }
  bool is_present() {
    std::lock_guard const lock(mutex_);
    return present_.contains(std::this_thread::get_id());
  }
  unsigned started() {
    std::lock_guard const lock(mutex_);
    return started_;
  }
  unsigned errors() {
    std::lock_guard const lock(mutex_);
    return errors_ + static_cast<unsigned>(present_.size());
  }
};

rubato::pool_options with(roll_call& roll, unsigned workers) {
  rubato::pool_options options = rubato_test::with_workers(workers);
  options.on_start([&roll](unsigned n) { roll.start(n); }).on_exit([&roll](unsigned n) { roll.exit(n); });
  return options;
}

TEST(thread_callbacks, are_called_once_by_each_thread_of_the_pool) {
  roll_call roll;
  {
    rubato::pool pool(with(roll, 4));
    pool.broadcast([] {});
    EXPECT_GE(roll.started(), 4u);
  }
  EXPECT_EQ(roll.errors(), 0u) << "started without an end, ended without a start, or with another number";
}

TEST(thread_callbacks, frame_all_tasks_of_every_kind_of_thread) {
  roll_call roll;
  std::atomic<int> strangers = 0;
  {
    rubato::pool pool(with(roll, 2));
    rendezvous all(10);
    for (int i = 0; i < 10; ++i) {
      pool.enqueue([&] {
        strangers += !roll.is_present();
        rubato::blocking([&] { EXPECT_TRUE(all.meet()); });
        strangers += !roll.is_present();
      });
    }
    ASSERT_TRUE(pool.wait_idle());
    EXPECT_GE(roll.started(), 10u);
  }
  EXPECT_EQ(strangers, 0);
  EXPECT_EQ(roll.errors(), 0u);
}

TEST(thread_callbacks, get_the_number_that_the_tasks_see) {
  static thread_local unsigned number = 0;
  std::atomic<int> wrong = 0;
  rubato::pool_options options;
  options.workers(3).on_start([](unsigned n) { number = n; });
  rubato::pool pool(std::move(options));
  for (int i = 0; i < 500; ++i) pool.enqueue([&] { wrong += rubato::current_worker() != number; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(wrong, 0);
}

TEST(thread_callbacks, balance_through_resizes_and_restarts) {
  roll_call roll;
  {
    rubato::pool pool(with(roll, 1));
    for (unsigned i = 0; i < scaled(100); ++i) {
      pool.enqueue([] {});
      pool.resize(i % 5);
      if (i % 10 == 0) {
        pool.shutdown();
        pool.resize(2);
      }
    }
    pool.resize(1);
    EXPECT_TRUE(pool.wait_idle());
  }
  EXPECT_EQ(roll.errors(), 0u);
}

TEST(thread_callbacks, are_not_called_for_outside_threads) {
  roll_call roll;
  rubato::pool pool(with(roll, 0));
  pool.enqueue([] {});
  EXPECT_TRUE(pool.wait_idle());
  pool.run([] {});
  EXPECT_EQ(roll.started(), 0u);
}

TEST(on_unhandled, gets_every_exception_of_an_enqueued_task_once) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    constexpr std::size_t n = 1'000;
    tally seen(3 * n);
    std::atomic<int> strange = 0;
    rubato::pool_options options = rubato_test::with_workers(workers);
    options.on_unhandled([&](std::exception_ptr error) {
      try {
        std::rethrow_exception(std::move(error));
      } catch (std::size_t number) {
        seen.hit(number);
      } catch (...) {
        ++strange;
      }
    });
    rubato::pool pool(std::move(options));
    for (std::size_t i = 0; i < n; ++i) {
      pool.enqueue([i] { throw i; });
      EXPECT_TRUE(pool.try_enqueue([i] { throw n + i; }));
    }
    pool.enqueue_bulk(n, [](std::size_t i) { throw 2 * n + i; });
    EXPECT_TRUE(pool.wait_idle());
    seen.expect_each_once();
    EXPECT_EQ(strange, 0);
  }
}

TEST(on_unhandled, may_be_move_only_and_use_the_pool) {
  std::atomic<int> followed = 0;
  std::atomic<rubato::pool*> seen = nullptr;
  rubato::pool_options options;
  options.workers(1).on_unhandled([&, p = std::make_unique<int>(1)](std::exception_ptr) {
    seen = rubato::current_pool();
    rubato::enqueue([&followed, add = *p] { followed += add; });
  });
  rubato::pool pool(std::move(options));
  for (int i = 0; i < 10; ++i) pool.enqueue([] { throw std::runtime_error("again"); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(followed, 10);
  EXPECT_EQ(seen, &pool);
}

TEST(on_unhandled, is_not_called_for_exceptions_that_a_waiter_gets) {
  std::atomic<int> calls = 0;
  rubato::pool_options options;
  options.workers(2).on_unhandled([&](std::exception_ptr) { ++calls; });
  rubato::pool pool(std::move(options));
  EXPECT_THROW(pool.run([] { throw std::runtime_error("to the caller"); }), std::runtime_error);
  EXPECT_THROW(pool.broadcast([] { throw std::runtime_error("to the caller"); }), std::runtime_error);
  pool.enqueue([&] {
    for (int i = 0; i < 100; ++i) {
      try {
        rubato::join([] { throw 1; }, [] { throw 2; });
      } catch (int) {
      }
    }
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(calls, 0);
}

TEST(on_unhandled, is_called_for_what_a_drain_runs) {
  std::atomic<int> calls = 0;
  {
    rubato::pool_options options;
    options.workers(2).on_unhandled([&](std::exception_ptr) { ++calls; });
    rubato::pool pool(std::move(options));
    for (int i = 0; i < 200; ++i) pool.enqueue([] { throw 0; });
  }
  EXPECT_EQ(calls, 200);
}

[[noreturn]] void throw_in_a_task_of_a_plain_pool(bool standard) {
  kill_this_process_if_it_hangs();
  rubato::pool pool(1);
  if (standard) {
    pool.enqueue([] { throw std::runtime_error("the answer is missing"); });
  } else {
    pool.enqueue([] { throw 42; });
  }
  pool.wait_idle();
  leave(false, "the exception was lost");
}

using without_on_unhandled = fresh_process;

TEST_F(without_on_unhandled, an_exception_terminates_with_its_text) {
  EXPECT_EXIT(throw_in_a_task_of_a_plain_pool(true), testing::KilledBySignal(SIGABRT),
              "rubato: .*the answer is missing");
}

TEST_F(without_on_unhandled, any_exception_terminates_with_a_message) {
  EXPECT_EXIT(throw_in_a_task_of_a_plain_pool(false), testing::KilledBySignal(SIGABRT),
              "rubato: .*exception");
}

[[noreturn]] void wait_in_a_circle() {
  kill_this_process_if_it_hangs();
  rubato::pool pool(
      rubato::pool_options().workers(2).name("ring").on_stall([](rubato::stall_report const& report) {
        leave(report.pool == "ring" && report.waiters.size() == 2,
              "two threads of the pool wait for each other");
      }));
  rubato::task_group a(pool), b(pool);
  rendezvous both(2);
  auto wait_for = [&](rubato::task_group& other) {
    EXPECT_TRUE(both.meet());
    other.wait();
  };
  a.spawn([&] { wait_for(b); });
  b.spawn([&] { wait_for(a); });
  gate never;
  never.wait();
  leave(false, "on_stall was not called");
}

using on_stall_of_a_cycle = fresh_process;

TEST_F(on_stall_of_a_cycle, is_called_when_tasks_wait_for_each_other) {
  EXPECT_EXIT(wait_in_a_circle(), testing::ExitedWithCode(0), "two threads of the pool wait for each other");
}

TEST(on_stall, is_not_called_while_there_are_spares) {
  std::atomic<int> stalls = 0;
  rubato::pool_options options;
  options.workers(2).spares(64).on_stall([&](rubato::stall_report const&) { ++stalls; });
  rubato::pool pool(std::move(options));
  rendezvous all(20);
  std::atomic<int> met = 0;
  for (int i = 0; i < 20; ++i) pool.enqueue([&] { met += rubato::blocking([&] { return all.meet(); }); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(met, 20);
  EXPECT_EQ(stalls, 0);
}

TEST(on_start, regression_may_wait_for_a_task_of_another_worker) {
  gate ran;
  std::atomic<bool> begun = false, in_time = false;
  rubato::pool pool(rubato::pool_options().workers(2).on_start([&](unsigned number) {
    if (number != 1) return;
    begun = true;
    in_time = ran.wait();
  }));
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  std::this_thread::sleep_for(until_others_sleep);
  pool.enqueue([&] { ran.open(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(in_time);
}

TEST(on_start, regression_that_waits_for_a_busy_worker_is_no_stall) {
  rubato_test::hang_guard const guard;
  gate ready;
  std::atomic<bool> begun = false, done = false, stalled = false;
  rubato::pool pool(
      rubato::pool_options()
          .workers(2)
          .on_stall([&](rubato::stall_report const&) { stalled = true; })
          .on_start([&](unsigned number) {
            if (number != 0) return;
            EXPECT_TRUE(ready.wait());
            rubato::with_scope([&](rubato::scope& scope) {
              scope.spawn([&] {
                begun = true;
                // Long enough for the monitor to be sure of a stall, were there one.
                auto const end = std::chrono::steady_clock::now() + 100ms;
                computing_until([&] { return stalled || std::chrono::steady_clock::now() > end; });
              });
              EXPECT_TRUE(eventually([&] { return begun.load(); })) << "no other thread took it";
            });
            done = true;
          }));
  ready.open();
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  EXPECT_FALSE(stalled);
}

} // namespace
