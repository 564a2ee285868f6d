// blocking: a task that waits in the kernel gives its seat to another thread meanwhile.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>

#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

TEST(blocking, lets_more_tasks_wait_at_once_than_there_are_workers) {
  for (unsigned workers : {1u, 2u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    rendezvous all(24);
    std::atomic<int> met = 0;
    for (int i = 0; i < 24; ++i) pool.enqueue([&] { met += rubato::blocking([&] { return all.meet(); }); });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(met, 24);
  }
}

TEST(blocking, in_all_workers_leaves_the_pool_open_to_others) {
  rubato::pool pool(2);
  gate opened;
  std::atomic<int> waiting = 0, passed = 0, others = 0;
  for (int i = 0; i < 2; ++i) {
    pool.enqueue([&] {
      ++waiting;
      passed += rubato::blocking([&] { return opened.wait(); });
    });
  }
  ASSERT_TRUE(eventually([&] { return waiting == 2; }));
  for (int i = 0; i < 1'000; ++i) pool.enqueue([&] { ++others; });
  EXPECT_TRUE(eventually([&] { return others == 1'000; })) << "no seat was vacated";
  EXPECT_EQ(passed, 0);
  opened.open();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(passed, 2);
}

TEST(blocking, goes_on_at_once_when_its_seat_has_been_taken) {
  // The task on the seat computes until the one that came back has ended: with no further thread that would
  // be never.
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> waiting = false, back = false, saw = false;
  pool.enqueue([&] {
    waiting = true;
    rubato::blocking([&] { opened.wait(); });
    back = true;
  });
  ASSERT_TRUE(eventually([&] { return waiting.load(); }));
  pool.enqueue([&] {
    opened.open();
    saw = computing_until([&] { return back.load(); });
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(saw);
}

TEST(blocking, keeps_the_number_of_its_thread) {
  rubato::pool pool(1);
  std::atomic<int> same = 0;
  for (int i = 0; i < 8; ++i) {
    pool.enqueue([&] {
      auto const before = rubato::current_worker();
      auto const inside = rubato::blocking([] {
        std::this_thread::sleep_for(1ms);
        return rubato::current_worker();
      });
      same += before.has_value() && before == inside && before == rubato::current_worker();
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(same, 8);
}

TEST(blocking, passes_results_references_and_exceptions_on) {
  rubato::pool pool(1);
  int object = 0;
  auto use = [&] {
    EXPECT_EQ(rubato::blocking([] { return 5; }), 5);
    EXPECT_EQ(*rubato::blocking([p = std::make_unique<int>(6)] { return std::make_unique<int>(*p); }), 6);
    static_assert(std::is_same_v<decltype(rubato::blocking([&]() -> int& { return object; })), int&>);
    EXPECT_EQ(&rubato::blocking([&]() -> int& { return object; }), &object);
    static_assert(std::is_void_v<decltype(rubato::blocking([] {}))>);
    EXPECT_THROW(rubato::blocking([] { throw std::runtime_error("no answer"); }), std::runtime_error);
  };
  use(); // outside of any pool
  pool.run(use);
  std::atomic<bool> done = false;
  pool.enqueue([&] {
    use();
    done = true;
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(done);
}

TEST(blocking, outside_of_any_pool_just_calls) {
  auto const me = std::this_thread::get_id();
  EXPECT_EQ(rubato::blocking([] { return std::this_thread::get_id(); }), me);
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

TEST(blocking, can_be_nested_and_hold_joins) {
  rubato::pool pool(2);
  std::atomic<int> right = 0;
  for (int i = 0; i < 50; ++i) {
    pool.enqueue([&] {
      right += rubato::blocking([] {
                 return rubato::blocking([] { return forked_sum(0, 100); }) + forked_sum(0, 10);
               }) == sum_below(100) + sum_below(10);
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(right, 50);
}

TEST(blocking, in_both_halves_of_a_join) {
  rubato::pool pool(2);
  std::atomic<int> met = 0;
  for (int i = 0; i < 20; ++i) {
    auto meet = [] {
      std::this_thread::sleep_for(100us);
      return 1;
    };
    pool.enqueue([&met, meet] {
      auto const [a, b] =
          rubato::join([&] { return rubato::blocking(meet); }, [&] { return rubato::blocking(meet); });
      met += a + b;
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(met, 40);
}

TEST(blocking, inside_run_gives_the_seat_of_the_caller_away) {
  rubato::pool pool(1);
  gate opened;
  pool.run([&] {
    pool.enqueue([&] { opened.open(); });
    EXPECT_TRUE(rubato::blocking([&] { return opened.wait(); }));
  });
  EXPECT_TRUE(pool.wait_idle());
}

TEST(blocking, without_spares_still_works) {
  rubato::pool pool(rubato::pool_options().workers(2).spares(0));
  std::atomic<int> done = 0;
  for (int i = 0; i < 200; ++i) {
    pool.enqueue([&] {
      rubato::blocking([] { std::this_thread::sleep_for(10us); });
      ++done;
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(done, 200);
}

TEST(blocking, in_a_pool_without_workers_works_for_its_driver) {
  rubato::pool pool(rubato::no_workers);
  int done = 0;
  for (int i = 0; i < 10; ++i) {
    pool.enqueue([&] { done += rubato::blocking([] { return 1; }); });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(done, 10);
}

TEST(blocking, while_the_pool_is_resized_ends_well) {
  rubato::pool pool(2);
  std::atomic<int> done = 0;
  for (int i = 0; i < 300; ++i) {
    pool.enqueue([&] {
      rubato::blocking([] { std::this_thread::sleep_for(20us); });
      ++done;
    });
    if (i % 5 == 0) pool.resize(static_cast<unsigned>(i / 5) % 4);
  }
  pool.resize(2);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(done, 300);
}

/// Calls that have been brief keep their seat; when they are brief no more, relief comes.
TEST(blocking, that_was_brief_and_is_not_any_more_hides_nothing) {
  for (unsigned const workers : {0U, 1U, 2U}) {
    rubato::pool pool(rubato_test::with_workers(workers));
    constexpr int together = 6;
    rendezvous meet(together);
    std::atomic<int> met = 0;
    auto const call = [&](bool waits) {
      pool.enqueue([&, waits] {
        if (rubato::blocking([&] { return waits ? meet.meet() : true; })) ++met;
      });
    };
    for (int i = 0; i < 100; ++i) call(false);
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(met, 100);
    if (workers == 0) continue; // no thread would take the driver's seat
    for (int i = 0; i < together; ++i) call(true);
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(met, 100 + together);
  }
}

/// The calls of one callable that waits for a gate, or returns at once.
bool wait_in_kernel(gate const* g) {
  return rubato::blocking([g] { return g == nullptr || g->wait(); });
}

/// The same, for work that the callable itself spawns.
bool spawn_in_kernel(std::function<void()> const& spawns, gate const& g) {
  auto const call = [](std::function<void()> const* f, gate const* opened) {
    return rubato::blocking([f, opened] {
      if (f == nullptr) return true;
      (*f)();
      return opened->wait();
    });
  };
  for (int i = 0; i != 100; ++i) call(nullptr, nullptr);
  return call(&spawns, &g);
}

/// Runs `f` as a task after calls that were so brief that the next one keeps its seat.
template<class F>
void run_after_brief_calls(rubato::pool& pool, F f) {
  pool.enqueue([f] {
    for (int i = 0; i != 100; ++i) wait_in_kernel(nullptr);
    f();
  });
}

TEST(blocking, regression_that_was_brief_hides_no_work_of_its_seat) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> begun = false, passed = false;
  run_after_brief_calls(pool, [&] {
    begun = true;
    passed = wait_in_kernel(&opened);
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  pool.broadcast([&] { opened.open(); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(passed);
}

TEST(blocking, that_was_brief_hides_no_work_bound_to_it_before) {
  rubato::pool pool(2); // the other seat is vacant
  for (int round = 0; round != 2; ++round) {
    gate opened;
    std::atomic<bool> passed = false;
    run_after_brief_calls(pool, [&] {
      for (unsigned i = 0; i != 2; ++i) pool.spawn_on(i, [&] { opened.open(); }).detach();
      passed = wait_in_kernel(&opened);
    });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_TRUE(passed);
  }
}

TEST(blocking, regression_that_was_brief_hides_no_child_of_a_scope) {
  rubato::pool pool(1);
  for (bool const inside : {false, true}) {
    gate opened;
    std::atomic<bool> passed = false;
    run_after_brief_calls(pool, [&] {
      rubato::with_scope([&](rubato::scope& s) {
        auto const spawns = [&] { s.spawn([&] { opened.open(); }); };
        if (!inside) spawns();
        passed = inside ? spawn_in_kernel(spawns, opened) : wait_in_kernel(&opened);
      });
    });
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_TRUE(passed);
  }
}

TEST(blocking, regression_that_was_brief_hides_no_half_of_a_join) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> passed = false;
  run_after_brief_calls(
      pool, [&] { rubato::join([&] { passed = wait_in_kernel(&opened); }, [&] { opened.open(); }); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(passed);
}

TEST(blocking, regression_gives_a_token_outside_any_pool_too) {
  ASSERT_EQ(rubato::current_pool(), nullptr);
  EXPECT_FALSE(rubato::blocking([](std::stop_token const& token) { return token.stop_requested(); }));
}

} // namespace
