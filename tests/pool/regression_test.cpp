// Defects that were found once, each with the shortest program that showed it: hooks and thread-local
// destructors that take their time, pools within pools, threads that cannot be had, drivers that do not
// sleep.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>

#include "os/thread.hpp"
#include "pool/process.hpp"
#include "pool/scale.hpp"
#include "pool/waiting.hpp"
#include "support/hang_guard.hpp"
#include "support/rendezvous.hpp"

namespace {

using namespace pool_test;
using rubato_test::arrivals;
using rubato_test::hang_guard;

// Long enough for idle workers, and for the watch, to fall asleep. Who has not is found awake, which was
// never a defect: no test fails because of it.
constexpr auto until_others_sleep = 25ms;

TEST(regression_membership, of_a_nested_guest_does_not_pass_to_the_next_thread_with_its_number) {
  rubato::pool other(1), pool(1);
  gate left, looked;
  other.enqueue([&] {
    pool.run([] {});
    left.open();
  });
  ASSERT_TRUE(left.wait());
  std::atomic<bool> allowed = false;
  pool.enqueue([&] { rubato::blocking([&] { looked.wait(); }); });
  pool.enqueue([&] { // on a spare, which has the number that the guest had
    try {
      allowed = other.wait_idle();
    } catch (std::system_error const&) {
      allowed = false; // taken for a task of the other pool
    }
    looked.open();
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(allowed);
}

TEST(regression_blocking, gives_a_token_outside_any_pool_too) {
  ASSERT_EQ(rubato::current_pool(), nullptr);
  EXPECT_FALSE(rubato::blocking([](std::stop_token const& token) { return token.stop_requested(); }));
}

TEST(regression_on_start, that_waits_for_a_task_does_not_keep_it_from_the_other_worker) {
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

TEST(regression_on_start, that_waits_for_a_busy_worker_is_no_stall) {
  hang_guard const guard;
  gate ready;
  std::atomic<bool> begun = false, done = false, stalled = false;
  rubato::pool pool(rubato::pool_options()
                        .workers(2)
                        .on_stall([&](rubato::stall_report const&) { stalled = true; })
                        .on_start([&](unsigned number) {
                          if (number != 0) return;
                          EXPECT_TRUE(ready.wait());
                          rubato::with_scope([&](rubato::scope& scope) {
                            scope.spawn([&] {
                              begun = true;
                              // Long enough for the watch to be sure of a stall, were there one.
                              auto const end = std::chrono::steady_clock::now() + 100ms;
                              computing_until(
                                  [&] { return stalled || std::chrono::steady_clock::now() > end; });
                            });
                            EXPECT_TRUE(eventually([&] { return begun.load(); })) << "nobody else took it";
                          });
                          done = true;
                        }));
  ready.open();
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  EXPECT_FALSE(stalled);
}

TEST(regression_broadcast, below_a_run_in_another_pool_runs_the_copy_of_its_own_seat) {
  hang_guard const guard;
  for (unsigned const workers : {1u, 2u}) {
    rubato::pool pool(workers), other(1);
    std::atomic<unsigned> ran = 0;
    pool.enqueue([&] { other.run([&] { pool.broadcast([&] { ++ran; }); }); });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(ran, workers);
  }
}

TEST(regression_driver, sleeps_above_a_latent_job_of_its_own) {
  gate spawned, taken, slept;
  std::atomic<rubato::os::thread_id> driver = 0;
  rubato::pool pool(rubato::no_workers);
  rubato::task_group group(pool);
  std::jthread const waiter([&] {
    driver = rubato::os::this_thread_id();
    pool.run([&] {
      rubato::join(
          [&] {
            group.spawn([&] {
              taken.open();
              slept.wait();
            });
            spawned.open();
            EXPECT_TRUE(taken.wait());
            group.wait();
          },
          [] {});
    });
  });
  std::jthread const helper([&] {
    EXPECT_TRUE(spawned.wait());
    pool.run([&] { group.wait(); });
  });
  ASSERT_TRUE(taken.wait());
  // One that spins may be found asleep now and then, where it waits for a lock, but not twenty times in a
  // row.
  EXPECT_TRUE(eventually([&] {
    for (int look = 0; look < 20; ++look) {
      if (!rubato::os::blocked_in_kernel(driver)) return false;
      std::this_thread::sleep_for(500us);
    }
    return true;
  }));
  slept.open();
}

/// Set on a thread, its destructor runs at the end of that thread.
struct last_act {
  std::function<void()> act;
  ~last_act() {
    if (act) act();
  }
};
thread_local last_act at_thread_end;

/// Three workers, whose threads, like all that take their place, end with `act`.
rubato::pool_options ending_with(std::function<void()> const& act) {
  return rubato::pool_options().workers(3).on_start([act](unsigned) { at_thread_end.act = act; });
}

/// Leaves one worker, and two threads or more that are in their last act.
void end_two(rubato::pool& pool, arrivals const& ending) {
  EXPECT_TRUE(eventually([&] {
    pool.resize(2); // again, because only threads that sleep already end at once
    pool.resize(1);
    std::this_thread::sleep_for(1ms);
    return ending.count() >= 2;
  }));
}

TEST(regression_thread_end, that_takes_its_time_does_not_hold_up_an_enqueue) {
  gate enqueued, opened;
  arrivals ending;
  std::atomic<bool> in_time = true, begun = false;
  {
    rubato::pool pool(ending_with([&] {
      ending.arrive();
      if (!enqueued.wait()) in_time = false;
    }));
    end_two(pool, ending);
    pool.enqueue([&] {
      rubato::blocking([&] {
        begun = true;
        opened.wait();
      });
    });
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
    pool.enqueue([] {}); // makes a spare
    enqueued.open();
    opened.open();
  }
  EXPECT_TRUE(in_time);
}

TEST(regression_thread_end, that_makes_a_pool_does_not_hold_up_the_watch) {
  hang_guard const guard;
  gate relieved;
  arrivals ending;
  std::atomic<std::size_t> made = 0;
  std::atomic<bool> in_time = true;
  {
    rubato::pool pool(ending_with([&] {
      ending.arrive();
      if (!relieved.wait()) in_time = false;
      rubato::pool const another(1); // registers with the watch
      ++made;
    }));
    end_two(pool, ending);
    pool.enqueue([&] { computing_until([&] { return relieved.is_open(); }); });
    pool.enqueue([&] { relieved.open(); }); // on a thread that the watch makes
  }
  EXPECT_TRUE(in_time);
  EXPECT_EQ(made, ending.count());
}

TEST(regression_fork, below_runs_in_two_pools_leaves_a_child_that_goes_on) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  rubato::pool outer(1), inner(1);
  int child = -1;
  outer.run([&] {
    inner.run([&] { child = ::fork(); }); // what it returns through is gone in the child
    if (child == 0) {
      kill_this_process_if_it_hangs();
      std::_Exit(7);
    }
  });
  EXPECT_EQ(wait_for_child(child), 7);
}

class regression_exit : public fresh_process {};

[[noreturn]] void exit_in_a_nested_run() {
  kill_this_process_if_it_hangs();
  look_for_no_leaks();
  static auto* const other = new rubato::pool(1); // never destroyed: its member is what calls exit()
  rubato::enqueue([] { other->run([] { std::exit(7); }); });
  gate never;
  never.wait();
  leave(false, "no exit");
}

TEST_F(regression_exit, below_a_run_in_another_pool_ends_the_process) {
  EXPECT_EXIT(exit_in_a_nested_run(), testing::ExitedWithCode(7), "");
}

// What no memory is left for once there is a limit; and memory for all the rest.
constexpr std::size_t huge_stack = std::size_t{512} << 20U;
constexpr std::size_t small_change = std::size_t{128} << 20U;

/// As long as it lives, no thread can be made with a stack of that size.
class no_memory_for_huge_stacks {
  rlimit before_{};

public:
  no_memory_for_huge_stacks() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    std::size_t const used = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = used + small_change;
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    EXPECT_THROW(rubato::pool(rubato::pool_options().workers(1).stack_size(huge_stack)), std::system_error);
  }
  no_memory_for_huge_stacks(no_memory_for_huge_stacks const&) = delete;
  no_memory_for_huge_stacks& operator=(no_memory_for_huge_stacks const&) = delete;
  ~no_memory_for_huge_stacks() { EXPECT_EQ(::setrlimit(RLIMIT_AS, &before_), 0); }
};

TEST(regression_without_threads, waiters_run_the_copies_of_a_broadcast) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(2).stack_size(huge_stack));
  no_memory_for_huge_stacks const no_spares;
  rendezvous both(2);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 2; ++i) {
    pool.enqueue([&] {
      EXPECT_TRUE(both.meet());
      pool.broadcast([&] { ++ran; });
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 4);
}

TEST(regression_without_threads, a_task_can_fill_its_own_pool) {
  hang_guard const guard;
  std::atomic<int> ran = 0;
  rubato::pool pool(rubato::pool_options().workers(1).max_queued(1).stack_size(huge_stack));
  no_memory_for_huge_stacks const no_spares;
  pool.enqueue([&] {
    for (int i = 0; i < 3; ++i) pool.enqueue([&] { ++ran; });
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 3);
}

TEST(regression_on_exit, that_waits_may_drive_its_pool_and_leaves_nothing_behind) {
  hang_guard const guard;
  gate spawned, taken, driven, gone;
  std::atomic<bool> armed = false, ended = false;
  std::optional<rubato::task_group> group;
  rubato::pool pool(rubato::pool_options().workers(1).on_exit([&](unsigned) {
    if (!armed.exchange(false)) return;
    at_thread_end.act = [&] { gone.open(); };
    group->spawn([&] {
      taken.open();
      driven.wait();
    });
    spawned.open();
    EXPECT_TRUE(taken.wait());
    group->wait();
    ended = true;
  }));
  group.emplace(pool);
  std::jthread helper([&] {
    EXPECT_TRUE(spawned.wait());
    pool.run([&] { group->wait(); }); // takes the child
  });
  armed = true;
  EXPECT_TRUE(eventually([&] {
    pool.resize(1); // again, because only a thread that sleeps already ends at once
    std::this_thread::sleep_for(until_others_sleep);
    pool.resize(0);
    std::this_thread::sleep_for(until_others_sleep);
    return spawned.is_open();
  }));
  EXPECT_TRUE(taken.wait());
  std::this_thread::sleep_for(until_others_sleep); // so that the hook is called to what is queued next
  pool.enqueue([&] { driven.open(); });            // the thread in the hook is the only one that waits
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  helper.join();
  group.reset();
  EXPECT_TRUE(gone.wait());
  pool.resize(1); // with the number of the thread that has gone
  std::this_thread::sleep_for(until_others_sleep);
  pool.resize(0);
  pool.shutdown(); // returns when no thread is left
}

TEST(regression_search, that_never_gives_up_ends_with_its_pool) {
  hang_guard const guard;
  for (bool const used : {false, true}) {
    std::atomic<int> ran = 0;
    {
      rubato::pool pool(rubato::pool_options().workers(2).search_time(std::chrono::nanoseconds::max()));
      if (used) {
        rubato::task_group group(pool);
        for (int i = 0; i < 10; ++i) {
          pool.enqueue([&] { ++ran; });
          group.spawn([&] { ++ran; });
        }
      }
    }
    EXPECT_EQ(ran, used ? 20 : 0);
  }
}

TEST(regression_visit, of_a_thread_whose_task_has_run_delays_the_destructor) {
  // The producer may still be on its way out of enqueue() when its task has run and the pool is destroyed.
  std::atomic<rubato::pool*> target = nullptr;
  std::atomic<unsigned> ran = 0;
  unsigned const rounds = scaled(2'000);
  std::jthread producer([&](std::stop_token const& stop) {
    while (!stop.stop_requested())
      if (rubato::pool* const p = target.exchange(nullptr)) p->enqueue([&ran] { ++ran; });
  });
  for (unsigned round = 1; round <= rounds; ++round) {
    rubato::pool pool(1 + round % 3);
    target = &pool;
    ASSERT_TRUE(eventually([&] { return ran == round; }));
  }
}

TEST(regression_visit, of_a_guest_whose_membership_ends_delays_the_destructor) {
  unsigned const rounds = scaled(500);
  for (unsigned round = 0; round < rounds; ++round) {
    rubato::pool pool(1);
    std::atomic<bool> in = false;
    std::jthread guest([&] { pool.run([&] { in = true; }); });
    while (!in) std::this_thread::yield();
  }
}

TEST(regression_visit, by_a_thread_local_destructor_is_possible) {
  rubato::pool pool(1);
  std::atomic<int> ran = 0;
  struct last_words {
    rubato::pool* pool = nullptr;
    std::atomic<int>* ran = nullptr;
    ~last_words() {
      if (pool != nullptr) pool->enqueue([r = ran] { ++*r; });
    }
  };
  for (bool const before : {false, true}) // whether the thread has been in a pool before
    std::thread([&] {
      static thread_local last_words mine;
      mine.pool = &pool;
      mine.ran = &ran;
      if (before) pool.enqueue([&] { ++ran; });
    }).join();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 3);
}

TEST(regression_watch, sees_what_a_thread_forks_that_was_made_while_it_slept) {
  rubato::pool pool(rubato::no_workers);
  pool.wait_idle(); // starts the pool and the watch
  std::this_thread::sleep_for(until_others_sleep);
  pool.resize(2);
  std::this_thread::sleep_for(until_others_sleep);
  std::atomic<bool> taken = false;
  std::atomic<bool> in_time = false;
  pool.enqueue([&] {
    rubato::join([&] { in_time = eventually([&] { return taken.load(); }); }, [&] { taken = true; });
  });
  pool.wait_idle();
  EXPECT_TRUE(in_time);
}

} // namespace
