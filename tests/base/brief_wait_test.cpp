// A wait for a step of another thread that takes an instant lets that thread run, whatever its priority.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "os/membarrier.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/sync/completion.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"
#include "support/hang_guard.hpp"
#include "support/real_time.hpp"
#include "sync/backlog.hpp"
#include "sync/injector.hpp"

namespace {

using namespace std::chrono_literals;
using rubato_test::hang_guard;
using rubato_test::waits_asleep;
using std_policy = rubato::detail::std_policy;

struct noting_policy {
  static inline std::vector<unsigned> rounds;
  static void back_off(unsigned round) { rounds.push_back(round); }
};

TEST(brief_wait, looks_before_it_waits_and_counts_its_rounds) {
  noting_policy::rounds.clear();
  rubato::detail::wait_briefly<noting_policy>([] { return true; });
  EXPECT_TRUE(noting_policy::rounds.empty());
  int looks = 0;
  rubato::detail::wait_briefly<noting_policy>([&] { return ++looks == 5; });
  EXPECT_EQ(looks, 5);
  EXPECT_EQ(noting_policy::rounds, (std::vector<unsigned>{0, 1, 2, 3}));
}

TEST(brief_wait, sleeps_from_some_round_on_and_never_for_long) {
  hang_guard const guard;
  auto const begin = std::chrono::steady_clock::now();
  auto const computed_before = rubato_test::cpu_time_of_this_thread();
  for (unsigned round = 200; round != 300; ++round) std_policy::back_off(round);
  std_policy::back_off(~0U);
  auto const computed = rubato_test::cpu_time_of_this_thread() - computed_before;
  auto const took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 100ms); // a millisecond each
  EXPECT_LT(computed, took / 2);
}

class real_time_wait : public rubato_test::on_one_cpu {
protected:
  /// An ordinary thread repeats `busy`. A real-time thread interrupts it at any point of that, and calls
  /// `wait`, which often has to wait for it.
  template<class Busy, class Wait>
  void interrupt(Busy busy, Wait wait) const {
    std::atomic<bool> over = false;
    std::thread interrupted = ordinary([&] {
      while (!over) busy();
    });
    run_in_real_time([&] {
      bool well = true;
      for (int i = 0; i != 2'000 && well; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(20 + i % 17));
        well = waits_asleep(wait);
      }
    });
    over = true;
    interrupted.join();
  }
};

TEST_F(real_time_wait, regression_lets_a_thread_of_its_cpu_go_on) {
  hang_guard const guard;
  run_in_real_time([&] {
    bool well = true;
    for (int i = 0; i != 200 && well; ++i) {
      std::atomic<bool> done = false;
      std::thread other = ordinary([&] { done = true; });
      well = waits_asleep([&] { rubato::detail::wait_briefly<std_policy>([&] { return done.load(); }); });
      other.join();
    }
  });
}

TEST_F(real_time_wait, regression_for_a_reader_of_a_pinned_ptr) {
  hang_guard const guard;
  int object = 0;
  rubato::detail::pinned_ptr<int> p;
  p.set(object);
  auto const computes = [] {
    for (int i = 0; i != 50; ++i) std_policy::pause();
  };
  auto const read = [&] { return p.use([&](int& x) { return computes(), &x; }); };
  interrupt([&] { static_cast<void>(read()), computes(); },
            [&] {
              EXPECT_EQ(p.clear(), &object);
              p.set(object);
              EXPECT_EQ(read(), &object);
            });
}

TEST_F(real_time_wait, regression_for_a_removal_from_a_completion) {
  hang_guard const guard;
  rubato::detail::completion all;
  std::vector<rubato::detail::completion::waiter> theirs(1'000);
  rubato::detail::completion::waiter own;
  interrupt(
      [&] {
        for (auto& w : theirs) EXPECT_TRUE(all.add(w));
        for (auto& w : theirs) EXPECT_TRUE(all.remove(w));
      },
      [&] {
        EXPECT_TRUE(all.add(own));
        EXPECT_TRUE(all.remove(own));
      });
}

TEST_F(real_time_wait, regression_for_a_push_to_an_injector) {
  hang_guard const guard;
  struct item : rubato::detail::injector::node {
    std::atomic<bool> is_queued{false};
  };
  rubato::detail::injector queue;
  std::vector<item> items(1'000);
  std::size_t next = 0;
  interrupt(
      [&] {
        item& i = items[next++ % items.size()];
        if (i.is_queued.exchange(true))
          std::this_thread::yield();
        else
          queue.push(&i);
      },
      [&] {
        rubato::detail::lock_guard const taking(queue);
        while (auto* const n = queue.pop()) static_cast<item&>(*n).is_queued = false;
      });
}

TEST_F(real_time_wait, regression_for_the_owner_of_a_backlog) {
  hang_guard const guard;
  rubato::detail::injector queue;
  rubato::detail::backlog own(rubato::os::membarrier_available());
  interrupt(
      [&] {
        for (int i = 0; i != 1'000; ++i) EXPECT_EQ(own.pop(), nullptr);
        rubato::detail::lock_guard const taking(queue);
        own.take_back();
      },
      [&] {
        rubato::detail::lock_guard const taking(queue);
        own.revoke();
      });
}

} // namespace
