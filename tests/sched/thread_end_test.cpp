// The end of a thread: thread-local destructors that use pools, and threads that still leave a pool when it
// is destroyed.
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <semaphore>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

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

TEST(thread_end, regression_that_is_slow_does_not_hold_up_enqueues) {
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

TEST(thread_end, regression_that_makes_a_pool_spares_the_monitor) {
  hang_guard const guard;
  gate relieved;
  arrivals ending;
  std::atomic<std::size_t> made = 0;
  std::atomic<bool> in_time = true;
  {
    rubato::pool pool(ending_with([&] {
      ending.arrive();
      if (!relieved.wait()) in_time = false;
      rubato::pool const another(1); // registers with the monitor
      ++made;
    }));
    end_two(pool, ending);
    pool.enqueue([&] { computing_until([&] { return relieved.is_open(); }); });
    pool.enqueue([&] { relieved.open(); }); // on a thread that the monitor makes
  }
  EXPECT_TRUE(in_time);
  EXPECT_EQ(made, ending.count());
}

TEST(on_exit, regression_may_drive_its_pool_and_leaves_nothing) {
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
  std::this_thread::sleep_for(until_others_sleep); // so that the hook is called for the next task
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

TEST(leaving_a_pool, regression_by_a_task_delays_the_destructor) {
  // The producer may still be on its way out of enqueue() when its task has run and the pool is destroyed.
  rubato::pool* target = nullptr; // handed over by the semaphore
  std::binary_semaphore is_set(0);
  std::atomic<unsigned> ran = 0;
  std::jthread const producer([&] {
    for (is_set.acquire(); target != nullptr; is_set.acquire()) target->enqueue([&ran] { ++ran; });
  });
  for (unsigned round = 1, rounds = scaled(1'000); round <= rounds && !HasFailure(); ++round) {
    rubato::pool pool(1 + round % 3);
    target = &pool;
    is_set.release();
    EXPECT_TRUE(eventually([&] { return ran == round; }));
  }
  target = nullptr;
  is_set.release();
}

TEST(leaving_a_pool, regression_by_a_guest_delays_the_destructor) {
  unsigned const rounds = scaled(500);
  for (unsigned round = 0; round < rounds; ++round) {
    rubato::pool pool(1);
    std::atomic<bool> in = false;
    std::jthread guest([&] { pool.run([&] { in = true; }); });
    while (!in) std::this_thread::yield();
  }
}

TEST(leaving_a_pool, regression_in_a_thread_local_destructor_works) {
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

} // namespace
