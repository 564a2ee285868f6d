// Routines: run as often as they are posted, woken or signalled or their deadlines pass, on one thread at a
// time; deleted by their callbacks; moved between pools.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "routine/driven.hpp"
#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::routine;
using std::chrono::steady_clock;

class routines : public on_driven_workers {};
RUBATO_TEST_WITH_WORKERS(routines, all_counts);

TEST_P(routines, run_once_per_post) {
  std::atomic<int> runs{0};
  routine r([&](routine&) { ++runs; });
  for (int i = 1; i != 100; ++i) {
    r.post(pool);
    run_until([&] { return runs == i; });
    pool.wait_idle();
  }
  EXPECT_EQ(runs, 99);
}

TEST_P(routines, post_themselves_when_the_callback_returns) {
  struct object {
    rubato::pool& pool;
    int runs = 0;
    std::atomic<bool> inside{false}, twice{false}, done{false};
    routine r{[this](routine& self) {
      if (inside.exchange(true)) twice = true;
      if (++runs != 1'000)
        self.post(pool);
      else
        done = true;
      std::this_thread::yield(); // it must not run elsewhere already
      inside = false;
    }};
  } o{pool};
  o.r.post(pool);
  run_until([&] { return o.done.load(); });
  pool.wait_idle();
  EXPECT_EQ(o.runs, 1'000);
  EXPECT_FALSE(o.twice);
}

TEST_P(routines, wait_for_their_deadlines) {
  struct object {
    rubato::pool& pool;
    steady_clock::time_point due{};
    int runs = 0;
    std::atomic<int> wrong{0};
    std::atomic<bool> done{false};
    routine r{[this](routine& self) {
      if (runs != 0 && (!self.expired() || steady_clock::now() < due)) ++wrong;
      if (runs == 0 && self.expired()) ++wrong;
      if (++runs == 50) return done.store(true);
      due = steady_clock::now() + std::chrono::microseconds(runs % 7 * 50);
      self.post_at(pool, due);
    }};
  } o{pool};
  o.r.post(pool);
  EXPECT_TRUE(pool.wait_idle()); // it waits for what is armed
  EXPECT_TRUE(o.done);
  EXPECT_EQ(o.wrong, 0);
  EXPECT_GE(pool.stats().timers, 1U);
}

TEST_P(routines, run_at_once_if_the_deadline_has_passed) {
  std::atomic<int> expired{0};
  routine r([&](routine& self) { expired += self.expired() ? 1 : 100; });
  for (auto const t : {steady_clock::time_point(), steady_clock::now(), steady_clock::now() - 1h}) {
    r.post_at(pool, t);
    pool.wait_idle();
  }
  r.post_after(pool, -1h);
  pool.wait_idle();
  EXPECT_EQ(expired, 4);
}

TEST_P(routines, regression_the_least_time_point_is_a_deadline) {
  std::atomic<int> expired{0};
  routine r([&](routine& self) { expired += self.expired() ? 1 : 100; });
  r.post_at(pool, steady_clock::time_point::min());
  pool.wait_idle();
  r.set_wait();
  r.tighten_deadline(steady_clock::time_point::min());
  r.post(pool);
  pool.wait_idle();
  EXPECT_EQ(expired, 2);
}

TEST_P(routines, wait_to_be_woken) {
  std::atomic<int> runs{0};
  routine r([&](routine& self) { runs += self.expired() ? 100 : 1; });
  r.post_wait(pool);
  EXPECT_TRUE(pool.wait_idle()); // such a wait is no work
  EXPECT_EQ(runs, 0);
  r.wake();
  run_until([&] { return runs == 1; });
  pool.wait_idle();
  r.post_after(pool, 1h);
  r.wake();
  run_until([&] { return runs == 2; });
  EXPECT_TRUE(pool.wait_idle()); // its timer is not armed any more
}

TEST_P(routines, woken_before_the_post_do_not_wait) {
  std::atomic<int> runs{0};
  routine r([&](routine&) { ++runs; });
  r.wake();
  r.wake();
  r.post_wait(pool);
  run_until([&] { return runs == 1; });
  pool.wait_idle();
  r.post_wait(pool);
  pool.wait_idle();
  EXPECT_EQ(runs, 1);
  r.signal();
  run_until([&] { return runs == 2; });
  pool.wait_idle();
}

TEST_P(routines, signalled_run_until_they_receive_it) {
  std::atomic<int> runs{0};
  struct object {
    rubato::pool& pool;
    std::atomic<int>& runs;
    routine r{[this](routine& self) {
      if (++runs == 4) {
        EXPECT_TRUE(self.receive_signal());
        EXPECT_FALSE(self.receive_signal());
      }
      self.post_after(pool, 1h);
    }};
  } o{pool, runs};
  o.r.post(pool);
  run_until([&] { return runs == 1; });
  o.r.signal();
  run_until([&] { return runs == 4; });
  pool.shutdown(rubato::discard);
  EXPECT_EQ(runs, 4);
}

TEST_P(routines, are_deleted_by_their_callbacks) {
  std::atomic<int> deleted{0};
  struct object {
    rubato::pool& pool;
    std::atomic<int>& deleted;
    std::unique_ptr<int> alive = std::make_unique<int>(1);
    routine r{[this](routine& self) {
      if (self.receive_signal()) {
        ++deleted;
        delete this;
        return;
      }
      *alive = 2;
      self.post_wait(pool);
    }};
  };
  int const n = static_cast<int>(scaled(2'000));
  for (int i = 0; i != n; ++i) {
    auto* const o = new object{pool, deleted};
    if (i % 3 != 0) o->r.post_wait(pool);
    if (i % 3 == 1) o->r.wake();
    if (i % 3 == 0) o->r.post(pool);
    o->r.signal();
  }
  run_until([&] { return deleted == n; });
}

TEST_P(routines, take_the_next_callback_when_the_present_one_returns) {
  struct object {
    rubato::pool& pool;
    std::vector<int> steps{};
    std::atomic<bool> done{false};
    routine r{[this](routine& self) { first(self); }};
    void first(routine& self) {
      self.set_callback([this](routine& next) { second(next); });
      self.post(pool);
      steps.push_back(1);
    }
    void second(routine& self) {
      self.set_callback([kept = std::make_unique<int>(3), this](routine&) {
        r.set_callback(&nothing); // this closure stays until it returns
        steps.push_back(*kept);
        done = true;
      });
      steps.push_back(2);
      self.post_after(pool, 10us);
    }
    static void nothing(routine&) {}
  } o{pool};
  o.r.post(pool);
  run_until([&] { return o.done.load(); });
  pool.wait_idle();
  EXPECT_EQ(o.steps, (std::vector{1, 2, 3}));
}

TEST_P(routines, tighten_their_deadlines) {
  std::atomic<int> runs{0};
  struct object {
    rubato::pool& pool;
    std::atomic<int>& runs;
    routine r{[this](routine& self) {
      ++runs;
      switch (runs) {
      case 1:
        self.set_wait();
        self.tighten_deadline(steady_clock::now() + 1ms);
        self.tighten_deadline(steady_clock::now() + 1h);
        return self.post(pool);
      case 2:
        EXPECT_TRUE(self.expired());
        self.set_delay(1h);
        self.tighten_deadline(steady_clock::now());
        return self.post(pool);
      case 3:
        EXPECT_TRUE(self.expired());
        self.tighten_deadline(steady_clock::now() + 1h); // without a deadline it runs at once
        return self.post(pool);
      default:
        EXPECT_FALSE(self.expired());
      }
    }};
  } o{pool, runs};
  o.r.post(pool);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(runs, 4);
}

TEST_P(routines, move_between_pools) {
  rubato::pool other(1);
  struct object {
    rubato::pool* pools[2];
    int runs = 0;
    std::atomic<int> wrong{0};
    std::atomic<bool> done{false};
    routine r{[this](routine& self) {
      if (rubato::current_pool() != pools[runs % 2]) ++wrong;
      if (++runs == 200) return done.store(true);
      if (runs % 3 == 0)
        self.post_after(*pools[runs % 2], 10us);
      else
        self.post(*pools[runs % 2]);
    }};
  } o{{&pool, &other}};
  o.r.post(pool);
  run_until([&] { return o.done.load(); });
  EXPECT_EQ(o.wrong, 0);
}

TEST_P(routines, run_in_the_order_of_posts_on_one_worker) {
  if (GetParam() > 1) return;
  rubato::pool alone(rubato_test::with_workers(GetParam()).spares(0)); // no thread relieves the worker
  std::vector<int> order;
  struct item {
    std::vector<int>& order;
    int n;
    routine r{[this](routine&) { order.push_back(n); }};
  };
  std::deque<item> items;
  for (int i = 0; i != 1'000; ++i) items.emplace_back(order, i);
  for (bool const inside : {false, true}) {
    order.clear();
    auto const post_all = [&] {
      for (item& i : items) i.r.post(alone);
    };
    if (inside)
      alone.enqueue(post_all);
    else
      post_all();
    alone.wait_idle();
    ASSERT_EQ(order.size(), items.size());
    for (int i = 0; i != 1'000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST_P(routines, tell_their_exceptions_and_go_on) {
  std::atomic<int> told{0};
  rubato::pool strict(
      rubato_test::with_workers(GetParam()).on_unhandled([&](std::exception_ptr const&) { ++told; }));
  struct object {
    rubato::pool& pool;
    int runs = 0;
    routine r{[this](routine& self) {
      if (++runs == 1) self.post(pool);
      throw runs;
    }};
  } o{strict};
  o.r.post(strict);
  strict.wait_idle();
  EXPECT_EQ(o.runs, 2);
  EXPECT_EQ(told, 2);
}

TEST_P(routines, may_be_destroyed_when_the_callback_is_to_return) {
  if (pool.size() == 0) return;
  for (std::size_t i = 0; i != scaled(2'000); ++i) {
    std::atomic<bool> done{false};
    routine r([&](routine&) { done = true; });
    r.post(pool);
    ASSERT_TRUE(eventually([&] { return done.load(); }));
  }
}

/// Wakes and signals against deadlines, posts and waits: none is lost.
TEST_P(routines, meet_all_at_once) {
  if (pool.size() == 0) return;
  struct object {
    rubato::pool& pool;
    std::atomic<int>& deleted;
    unsigned seed;
    std::atomic<int> woken{0}, runs{0};
    std::atomic<bool> inside{false}, twice{false};
    routine r{[this](routine& self) {
      if (inside.exchange(true)) twice = true;
      seed = seed * 1'664'525U + 1'013'904'223U;
      runs.store(woken.load()); // what was woken before this run
      bool const end = self.receive_signal();
      inside = false;
      if (end) {
        EXPECT_FALSE(twice);
        ++deleted;
        delete this;
        return;
      }
      switch (seed >> 16 & 3) {
      case 0:
        return self.post_wait(pool);
      case 1:
        return self.post_after(pool, std::chrono::microseconds(seed >> 20 & 63));
      case 2:
        return self.post_after(pool, -1us);
      default:
        return self.post_after(pool, 1h);
      }
    }};
  };
  std::atomic<int> deleted{0};
  int const rounds = static_cast<int>(scaled(100)), each = 20;
  for (int round = 0; round != rounds; ++round) {
    std::vector<object*> all;
    for (int i = 0; i != each; ++i) {
      all.push_back(new object{pool, deleted, static_cast<unsigned>(round * each + i)});
      all.back()->r.post(pool);
    }
    auto const waker = [&](unsigned salt) {
      jitter random(salt);
      for (int k = 0; k != 200; ++k) {
        object& o = *all[random.below(each)];
        ++o.woken;
        o.r.wake();
      }
    };
    std::thread a(waker, 2U * static_cast<unsigned>(round)), b(waker, 2U * static_cast<unsigned>(round) + 1);
    a.join();
    b.join();
    // Every wake is followed by a run that sees it.
    for (object* o : all) ASSERT_TRUE(eventually([&] { return o->runs == o->woken; }));
    for (object* o : all) o->r.signal();
  }
  ASSERT_TRUE(eventually([&] { return deleted == rounds * each; }));
}

TEST_P(routines, end_with_a_draining_pool) {
  std::atomic<int> runs{0}, expired{0}, idle_runs{0};
  struct timed {
    rubato::pool& pool;
    std::atomic<int>&runs, &expired;
    routine r{[this](routine& self) {
      ++runs;
      if (self.expired()) ++expired;
      self.post_after(pool, 1h); // never comes in a pool that drains
    }};
  };
  auto mortal = std::make_unique<rubato::pool>(rubato_test::with_workers(GetParam()));
  std::deque<timed> waiting;
  for (int i = 0; i != 20; ++i) {
    waiting.emplace_back(*mortal, runs, expired);
    waiting.back().r.post_after(*mortal, 1h);
  }
  routine r([&](routine&) { ++idle_runs; });
  r.post_wait(*mortal);
  mortal->shutdown();
  EXPECT_EQ(runs, 20); // once more each
  EXPECT_EQ(expired, 0);
  EXPECT_EQ(idle_runs, 0);
  EXPECT_THROW(r.post_wait(*mortal), rubato::cancelled);
  EXPECT_THROW(r.post_after(*mortal, 1h), rubato::cancelled);
  r.wake(); // idle: it only marks
  r.post(pool);
  run_until([&] { return idle_runs == 1; });
  pool.wait_idle();
  mortal->resize(1);
  r.post_after(*mortal, 1us);
  mortal->wait_idle();
  EXPECT_EQ(idle_runs, 2);
  r.post_wait(*mortal);
  mortal.reset();
  EXPECT_EQ(idle_runs, 2);
}

TEST_P(routines, end_with_a_discarding_pool) {
  for (std::size_t round = 0; round != scaled(200); ++round) {
    std::atomic<int> runs{0};
    struct object {
      rubato::pool& pool;
      std::atomic<int>& runs;
      int kind;
      routine r{[this](routine& self) {
        ++runs;
        if (kind % 3 == 0)
          self.post(pool);
        else if (kind % 3 == 1)
          self.post_wait(pool);
        else
          self.post_after(pool, std::chrono::microseconds(kind * 20));
      }};
    };
    rubato::pool mortal(rubato_test::with_workers(GetParam() > 7 ? 7 : GetParam()));
    std::deque<object> all;
    for (int i = 0; i != 12; ++i) {
      all.emplace_back(mortal, runs, i);
      all.back().r.post(mortal);
    }
    std::thread waker([&] {
      for (int i = 0; i != 50; ++i) all[static_cast<std::size_t>(i % 12)].r.wake();
    });
    mortal.shutdown(rubato::discard);
    waker.join();
    int const then = runs;
    for (object& o : all) o.r.signal(); // idle: no run
    EXPECT_EQ(runs, then);
  }
}

/// Routines of all kinds are woken while their pool ends and begins again.
TEST_P(routines, are_woken_while_their_pool_ends_and_begins_again) {
  struct object {
    rubato::pool& pool;
    unsigned seed;
    std::atomic<bool> inside{false}, twice{false};
    std::atomic<int> runs{0};
    routine r{[this](routine& self) {
      if (inside.exchange(true)) twice = true;
      ++runs;
      seed = seed * 1'664'525U + 1'013'904'223U;
      switch (seed >> 16 & 3) {
      case 0:
        self.post_wait(pool);
        break;
      case 1:
        self.post_after(pool, std::chrono::microseconds(seed >> 20 & 63));
        break;
      case 2:
        self.post_after(pool, 1h);
        break;
      default:
        break; // idle
      }
      inside = false;
    }};
  };
  rubato::pool mortal(rubato_test::with_workers(GetParam() > 7 ? 7 : GetParam()));
  std::deque<object> all;
  for (unsigned i = 0; i != 16; ++i) all.emplace_back(mortal, i);
  std::atomic<bool> over{false};
  std::vector<std::thread> wakers;
  for (unsigned t = 0; t != 2; ++t)
    wakers.emplace_back([&, t] {
      jitter random(t);
      while (!over) all[random.below(16)].r.wake();
    });
  for (std::size_t round = 0; round != scaled(60); ++round) {
    std::vector<std::thread> posters;
    for (std::size_t half : {0U, 8U})
      posters.emplace_back([&, half, round] { // each routine once in a life of the pool
        for (std::size_t i = half; i != half + 8; ++i) {
          try {
            if ((i + round) % 3 == 0)
              all[i].r.post_wait(mortal);
            else if ((i + round) % 3 == 1)
              all[i].r.post_after(mortal, std::chrono::microseconds(i * 10));
            else
              all[i].r.post(mortal);
          } catch (rubato::cancelled const&) {
          }
        }
      });
    if (round % 4 == 0) mortal.request_shutdown(rubato::drain);
    for (auto& p : posters) p.join();
    if (round % 2 == 0)
      mortal.shutdown();
    else
      mortal.shutdown(rubato::discard);
    mortal.resize(1 + static_cast<unsigned>(round % 3));
    // What was queued in the closed pool runs now, and may wait: back to idle before the next round.
    mortal.shutdown(rubato::discard);
    mortal.resize(1 + static_cast<unsigned>(round % 3));
  }
  over = true;
  for (auto& w : wakers) w.join();
  mortal.shutdown(rubato::discard);
  for (object& o : all) EXPECT_FALSE(o.twice);
}

using routines_that_are_misused = rubato_test::fresh_process;

TEST_F(routines_that_are_misused, say_so) {
  auto const posts_twice = [] {
    rubato::pool pool(rubato::no_workers);
    routine r([](routine&) {});
    r.post_wait(pool);
    r.post(pool);
  };
  EXPECT_DEATH(posts_twice(), "post\\(\\) of a routine that is posted already");
  auto const posts_itself_twice = [] {
    rubato::pool pool(rubato::no_workers);
    routine r([&](routine& self) {
      self.post(pool);
      self.post(pool);
    });
    r.post(pool);
    pool.wait_idle();
  };
  EXPECT_DEATH(posts_itself_twice(), "post\\(\\) of a routine that is posted already");
  auto const destroys = [] {
    rubato::pool pool(rubato::no_workers);
    routine r([](routine&) {});
    r.post_wait(pool);
  };
  EXPECT_DEATH(destroys(), "destroyed while it was posted");
}

TEST(routines_and_fork, are_forgotten_in_the_child) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  rubato::pool pool(1);
  routine waiting([](routine&) {});
  waiting.post_wait(pool);
  int const child = ::fork();
  if (child == 0) {
    rubato_test::kill_this_process_if_it_hangs();
    waiting.~routine();
    std::atomic<int> runs{0};
    routine r([&](routine&) { ++runs; });
    r.post_after(pool, 1us);
    pool.wait_idle();
    rubato_test::leave(runs == 1, "");
  }
  EXPECT_EQ(rubato_test::wait_for_child(child), 0);
  waiting.wake();
  pool.wait_idle();
}

} // namespace
