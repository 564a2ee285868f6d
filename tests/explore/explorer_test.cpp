// The explorer checked against itself: it finds planted errors, counts right, and repeats a failure.
#include "explore/explore.hpp"
#include "explore/policy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// Schedules

/// Threads that do nothing but so many steps each, none of which can be done in more than one way.
std::uint64_t schedules(std::vector<unsigned> const& steps, unsigned preemptions) {
  result const r = run({.preemptions = preemptions}, [&](execution& e) {
    auto const x = std::make_shared<policy::atomic<int>>(0);
    for (unsigned const n : steps)
      e.thread([x, n] {
        for (unsigned i = 0; i != n; ++i) static_cast<void>(x->fetch_add(1));
      });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
  return r.executions;
}

TEST(schedules, are_counted_by_preemptions) {
  EXPECT_EQ(schedules({2, 2}, 0), 2U);
  EXPECT_EQ(schedules({2, 2}, 1), 4U); // and ABBA, BAAB
  EXPECT_EQ(schedules({2, 2}, 2), 6U); // and ABAB, BABA
  EXPECT_EQ(schedules({2, 2, 2}, 0), 6U);
}
TEST(schedules, are_all_interleavings_without_a_bound) {
  EXPECT_EQ(schedules({3, 3}, 99), 20U);      // 6! / (3! 3!)
  EXPECT_EQ(schedules({2, 2, 2}, 99), 90U);   // 6! / (2! 2! 2!)
  EXPECT_EQ(schedules({3, 4, 2}, 99), 1260U); // 9! / (3! 4! 2!)
}
TEST(schedules, end_at_the_bound_on_executions) {
  result const r = run({.max_executions = 10}, [](execution& e) {
    auto const x = std::make_shared<policy::atomic<int>>(0);
    for (int t = 0; t != 4; ++t) e.thread([x] { x->store(1); });
  });
  EXPECT_TRUE(r.ok);
  EXPECT_FALSE(r.exhausted);
  EXPECT_EQ(r.executions, 10U);
}

// A planted fault, found and repeated

/// Two threads add without a read-modify-write. Needs one preemption.
void lost_update(execution& e) {
  auto const x = std::make_shared<policy::atomic<int>>(0);
  for (int t = 0; t != 2; ++t) e.thread([x] { x->store(x->load(relaxed) + 1, relaxed); });
  e.finally([x] { EXPLORE_ASSERT(x->load(relaxed) == 2); });
}

TEST(fault, is_found_in_order) {
  EXPECT_TRUE(run({.preemptions = 0, .stale = 0}, lost_update).ok);
  result const r = run({.preemptions = 1, .stale = 0}, lost_update);
  EXPECT_EQ(r.what, verdict::assertion);
  EXPECT_THAT(r.message, HasSubstr("x->load(relaxed) == 2"));
}
TEST(fault, is_found_at_random) {
  result const r = run({.random = 1'000, .seed = 7}, lost_update);
  EXPECT_EQ(r.what, verdict::assertion);
  EXPECT_THAT(r.message, HasSubstr("seed 7"));
  // The same seed, the same execution.
  EXPECT_EQ(run({.random = 1'000, .seed = 7}, lost_update).executions, r.executions);
}
TEST(fault, is_repeated_by_its_schedule) {
  for (options const& o : {options{}, options{.random = 1'000}}) {
    result const found = run(o, lost_update);
    ASSERT_FALSE(found.ok);
    EXPECT_THAT(found.message, HasSubstr("EXPLORE_REPLAY=" + found.schedule));
    result const again = run({.preemptions = 0, .stale = 0, .replay = found.schedule}, lost_update);
    EXPECT_EQ(again.what, verdict::assertion);
    EXPECT_EQ(again.executions, 1U);
    EXPECT_EQ(again.schedule, found.schedule);
  }
}
TEST(fault, is_repeated_by_the_environment) {
  result const found = run({}, lost_update);
  ASSERT_EQ(setenv("EXPLORE_REPLAY", found.schedule.c_str(), 1), 0);
  result const again = run({}, lost_update);
  unsetenv("EXPLORE_REPLAY");
  EXPECT_EQ(again.what, verdict::assertion);
  EXPECT_EQ(again.executions, 1U);
}
TEST(fault, is_told_step_by_step) {
  result const r = run({.stale = 0}, lost_update);
  EXPECT_THAT(r.message, HasSubstr("T1  v0.load = 0 relaxed"));
  EXPECT_THAT(r.message, HasSubstr("T2  v0.store 1 relaxed"));
  EXPECT_THAT(r.message, HasSubstr("explorer_test.cpp:"));
}
TEST(fault, may_be_an_exception) {
  result const r = run({}, [](execution& e) { e.thread([] { throw std::runtime_error("thrown"); }); });
  EXPECT_EQ(r.what, verdict::assertion);
  EXPECT_THAT(r.message, HasSubstr("thrown"));
}
TEST(fault, may_be_the_test_that_is_not_deterministic) {
  int count = 0;
  result const r = run({}, [&](execution& e) {
    auto const x = std::make_shared<policy::atomic<int>>(0);
    ++count;
    for (int t = 0; t != 2; ++t)
      e.thread([x, n = count] {
        for (int i = 0; i != 5 - n; ++i) x->store(1);
      });
  });
  EXPECT_EQ(r.what, verdict::nondeterministic);
}

// Sleeping

/// A waiter for a condition. Rechecking, it announces itself and looks again before it sleeps.
template<bool Recheck>
void sleeper(execution& e) {
  struct state {
    policy::atomic<bool> work{false};
    policy::atomic<bool> sleeping{false};
    policy::atomic<std::uint32_t> word{0};
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    if (s->work.load()) return;
    s->sleeping.store(true);
    if (Recheck && s->work.load()) return;
    while (s->word.load() == 0) policy::futex_wait(s->word, 0);
  });
  e.thread([s] {
    s->work.store(true);
    if (!s->sleeping.load()) return;
    s->word.store(1);
    policy::futex_wake(s->word, 1);
  });
}

TEST(sleep, is_found_to_be_for_ever_without_a_recheck) {
  result const r = run({}, sleeper<false>);
  EXPECT_EQ(r.what, verdict::deadlock);
  EXPECT_THAT(r.message, HasSubstr("deadlock / lost wake-up"));
  EXPECT_THAT(r.message, HasSubstr("T1 sleeps on v2"));
}
TEST(sleep, ends_with_a_recheck) {
  result const r = run({.preemptions = 99}, sleeper<true>);
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}
TEST(sleep, does_not_begin_if_the_word_differs) {
  result const r = run({}, [](execution& e) {
    auto const word = std::make_shared<policy::atomic<std::uint32_t>>(0);
    e.thread([word] { policy::futex_wait(*word, 1); });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}
TEST(sleep, may_end_for_no_reason) {
  auto const once = [](execution& e) {
    struct state {
      policy::atomic<std::uint32_t> word{0};
      policy::atomic<bool> woken{false};
    };
    auto const s = std::make_shared<state>();
    e.thread([s] {
      policy::futex_wait(s->word, 0);
      EXPLORE_ASSERT(s->word.load() == 1);
    });
    e.thread([s] {
      s->word.store(1);
      policy::futex_wake(s->word, 1);
    });
  };
  EXPECT_EQ(run({}, once).what, verdict::assertion);
  EXPECT_TRUE(run({.spurious = 0}, once).ok);
}
TEST(sleep, is_ended_for_no_more_than_so_many_and_for_any) {
  std::vector<bool> first_woken(3, false);
  result const r = run({.preemptions = 1, .stale = 0, .spurious = 0}, [&](execution& e) {
    struct state {
      policy::atomic<std::uint32_t> word{0};
      policy::atomic<int> asleep{0}, up{0};
    };
    auto const s = std::make_shared<state>();
    for (std::size_t t = 0; t != 3; ++t)
      e.thread([s, t, &first_woken] {
        s->asleep.fetch_add(1);
        policy::futex_wait(s->word, 0);
        if (s->up.fetch_add(1) == 0) first_woken[t] = true;
      });
    e.thread([s] {
      while (s->asleep.load() != 3) policy::pause();
      s->word.store(1); // so that a late thread does not sleep
      policy::futex_wake(s->word, 1);
      policy::futex_wake(s->word, 2);
    });
    e.finally([s] { EXPLORE_ASSERT(s->up.load() == 3); });
  });
  EXPECT_TRUE(r.ok) << r.message;
  EXPECT_EQ(first_woken, std::vector<bool>(3, true));
}
TEST(sleep, uses_only_the_address_of_a_word_to_wake) {
  result const r = run({}, [](execution& e) {
    struct state {
      policy::atomic<bool> done{false};
    };
    auto const s = std::make_shared<state>();
    auto const word = std::make_shared<std::optional<policy::atomic<std::uint32_t>>>(std::in_place, 0U);
    e.thread([s, word] {
      while (!s->done.load(acquire)) policy::pause();
      word->reset();
    });
    e.thread([s, word] {
      policy::atomic<std::uint32_t>& w = **word;
      w.store(1, relaxed);
      s->done.store(true, release);
      policy::futex_wake(w, 1);
    });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}

// Spinning

TEST(spin, ends_although_old_writes_may_be_read) {
  result const r = run({.preemptions = 99, .stale = 99}, [](execution& e) {
    auto const flag = std::make_shared<policy::atomic<bool>>(false);
    auto const data = std::make_shared<policy::plain<int>>(0);
    e.thread([=] {
      data->set(1);
      flag->store(true, release);
    });
    e.thread([=] {
      while (!flag->load(acquire)) policy::pause();
      EXPLORE_ASSERT(data->get() == 1);
    });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}
TEST(spin, for_ever_is_a_deadlock) {
  result const r = run({}, [](execution& e) {
    auto const flag = std::make_shared<policy::atomic<bool>>(false);
    e.thread([=] {
      while (!flag->load()) policy::pause();
    });
    e.thread([=] { flag->store(false); });
  });
  EXPECT_EQ(r.what, verdict::deadlock);
  EXPECT_THAT(r.message, HasSubstr("T1 spins at"));
}
TEST(spin, without_a_pause_is_a_livelock) {
  result const r = run({.max_steps = 100}, [](execution& e) {
    auto const flag = std::make_shared<policy::atomic<bool>>(false);
    e.thread([=] {
      while (!flag->load()) continue;
    });
  });
  EXPECT_EQ(r.what, verdict::livelock);
}

// Lifetimes

template<std::memory_order Store>
void handed_over_data(execution& e) {
  struct state {
    policy::plain<int> data;
    policy::atomic<bool> ready{false};
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    s->data.set(1);
    s->ready.store(true, Store);
  });
  e.thread([s] {
    if (s->ready.load(acquire)) EXPLORE_ASSERT(s->data.get() == 1);
  });
}

TEST(race, is_found) {
  EXPECT_EQ(run({}, handed_over_data<relaxed>).what, verdict::race);
  EXPECT_TRUE(run({}, handed_over_data<release>).ok);
}
TEST(race, between_a_read_and_a_later_write_is_found) {
  result const r = run({.preemptions = 0}, [](execution& e) {
    auto const data = std::make_shared<policy::plain<int>>(0);
    e.thread([=] { static_cast<void>(data->get()); });
    e.thread([=] { data->set(1); });
  });
  EXPECT_EQ(r.what, verdict::race);
  EXPECT_THAT(r.message, HasSubstr("data->set(1)"));
}
TEST(race, with_the_birth_of_an_atomic_is_found) {
  result const r = run({}, [](execution& e) {
    struct state {
      policy::atomic<policy::atomic<int>*> published{nullptr};
      std::optional<policy::atomic<int>> object;
    };
    auto const s = std::make_shared<state>();
    e.thread([s] { s->published.store(&s->object.emplace(1), relaxed); });
    e.thread([s] {
      if (policy::atomic<int>* const p = s->published.load(acquire)) static_cast<void>(p->load());
    });
  });
  EXPECT_EQ(r.what, verdict::race);
}

/// One thread lends its frame to another, which is to say when it needs it no more.
template<bool Waits, std::memory_order Last>
void lent_frame(execution& e) {
  struct lent {
    policy::atomic<int> x{0};
    policy::atomic<bool> finished{false};
  };
  auto const where = std::make_shared<policy::atomic<lent*>>(nullptr);
  e.thread([=] {
    frame<lent> f;
    where->store(f.get(), release);
    while (Waits && !f->finished.load(acquire)) policy::pause();
  });
  e.thread([=] {
    lent* f = nullptr;
    while ((f = where->load(acquire)) == nullptr) policy::pause();
    f->x.store(1, relaxed);
    f->finished.store(true, Last);
  });
}

TEST(frames, regression_have_the_same_order_in_each_execution) {
  std::vector<bool> ascending;
  result const r = run({.max_executions = 100}, [&](execution& e) {
    auto const x = std::make_shared<policy::atomic<int>>(0);
    e.thread([&ascending, x] {
      frame<std::array<long, 50>> const one; // of a size that nothing else has
      frame<std::array<long, 50>> const two;
      ascending.push_back(std::less<>()(one.get(), two.get()));
      x->store(1);
    });
    e.thread([x] { x->store(2); });
  });
  EXPECT_TRUE(r.ok) << r.message;
  EXPECT_THAT(ascending, AllOf(SizeIs(testing::Gt(1U)), Each(true)));
}
TEST(dead_frame, is_found) {
  EXPECT_TRUE(run({}, lent_frame<true, release>).ok);
  result const r = run({}, lent_frame<false, release>);
  EXPECT_EQ(r.what, verdict::dead_frame);
  EXPECT_THAT(r.message, HasSubstr("touches a dead frame"));
}
TEST(dead_frame, is_found_if_only_the_order_is_too_weak) {
  EXPECT_EQ(run({}, lent_frame<true, relaxed>).what, verdict::race);
}
TEST(dead_frame, may_be_followed_by_another_at_its_address) {
  result const r = run({}, [](execution& e) {
    e.thread([] {
      std::optional<policy::atomic<int>> x(1);
      x.emplace(2);
      EXPLORE_ASSERT(x->load() == 2);
    });
  });
  EXPECT_TRUE(r.ok) << r.message;
}
TEST(dead_frame, ends_what_has_no_destructor) {
  union storage {
    policy::atomic<int> x;
    storage() {}
    ~storage() {}
  };
  result const r = run({}, [](execution& e) {
    storage* left = nullptr;
    {
      frame<storage> f;
      std::construct_at(&f->x, 1);
      left = f.get();
    }
    e.thread([left] { static_cast<void>(left->x.load()); });
  });
  EXPECT_EQ(r.what, verdict::dead_frame);
}

// Weakening

void message_passing(execution& e) {
  struct state {
    policy::atomic<int> data{0};
    policy::atomic<bool> ready{false};
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    s->data.store(1, relaxed);
    s->ready.store(true, release);
  });
  e.thread([s] {
    if (s->ready.load(acquire)) EXPLORE_ASSERT(s->data.load(relaxed) == 1);
  });
}

void needlessly_ordered(execution& e) {
  auto const x = std::make_shared<policy::atomic<int>>(0);
  e.thread([x] { x->store(1, release); });
}

/// Asymmetric Dekker: at least one sees the other.
void asymmetric(execution& e) {
  struct state {
    policy::atomic<int> x{0}, y{0};
    bool saw_x = false, saw_y = false;
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    s->x.store(1, relaxed);
    policy::light_barrier();
    s->saw_y = s->y.load(relaxed) == 1;
  });
  e.thread([s] {
    s->y.store(1, relaxed);
    policy::heavy_barrier();
    s->saw_x = s->x.load(relaxed) == 1;
  });
  e.finally([s] { EXPLORE_ASSERT(s->saw_x || s->saw_y); });
}

TEST(weakening, is_noticed_where_the_order_matters) {
  EXPECT_THAT(unnoticed_weakenings({}, {message_passing}), IsEmpty());
  EXPECT_THAT(unnoticed_weakenings({}, {asymmetric}), IsEmpty());
  EXPECT_THAT(
      unnoticed_weakenings({}, {sleeper<true>}, 0),
      // The first look is a hint, the word tells itself, and so is the wake ordered by the word alone.
      testing::Not(IsEmpty()));
}
TEST(weakening, is_unnoticed_where_it_does_not) {
  EXPECT_THAT(unnoticed_weakenings({}, {needlessly_ordered}), ElementsAre(HasSubstr("[release -> relaxed]")));
  // Tests complete one another.
  EXPECT_THAT(unnoticed_weakenings({}, {needlessly_ordered, message_passing}),
              ElementsAre(HasSubstr("x->store(1, release)")));
  expect_every_weakening_fails({}, {needlessly_ordered, message_passing}, {"x->store(1, release)"});
}
TEST(weakening, goes_one_step_at_a_time) {
  auto const steps = [](operation what, std::memory_order o) {
    std::vector<std::string> orders;
    for (weakening const& w : weakenings({{}, what, o, o})) orders.push_back(name_of(w.to));
    return orders;
  };
  EXPECT_THAT(steps(operation::load, std::memory_order_seq_cst), ElementsAre("acquire"));
  EXPECT_THAT(steps(operation::store, std::memory_order_seq_cst), ElementsAre("release"));
  EXPECT_THAT(steps(operation::modify, std::memory_order_seq_cst), ElementsAre("acq_rel"));
  EXPECT_THAT(steps(operation::modify, std::memory_order_acq_rel), ElementsAre("acquire", "release"));
  EXPECT_THAT(steps(operation::compare, std::memory_order_acquire), ElementsAre("relaxed", "relaxed"));
  EXPECT_THAT(steps(operation::load, relaxed), IsEmpty());
}

// Expectations

TEST(expectations, tell_what_passes_from_what_fails) {
  expect_all_pass({.random = 100}, {sleeper<true>, {"message passing", message_passing}});
  expect_all_fail({sleeper<false>, {"no recheck", sleeper<false>}}, verdict::deadlock);
  expect_all_fail({sleeper<false>}, verdict::deadlock, {.random = 0}); // in order
}
void expect_a_deadlock_to_pass() { expect_all_pass({}, {{"no recheck", sleeper<false>}}); }
void expect_what_passes_to_fail() { expect_all_fail({message_passing}); }
void expect_a_deadlock_to_be_a_race() { expect_all_fail({sleeper<false>}, verdict::race); }
TEST(expectations, fail_where_they_are_wrong) {
  EXPECT_NONFATAL_FAILURE(expect_a_deadlock_to_pass(), "no recheck");
  EXPECT_NONFATAL_FAILURE(expect_what_passes_to_fail(), "r.ok");
  EXPECT_NONFATAL_FAILURE(expect_a_deadlock_to_be_a_race(), "r.what");
}

// The policy

TEST(policy_atomic, computes_as_std_atomic) {
  result const r = run({}, [](execution&) {
    policy::atomic<std::uint8_t> small{250};
    EXPECT_EQ(small.fetch_add(10), 250);
    EXPECT_EQ(small.fetch_sub(5), 4);
    EXPECT_EQ(small.fetch_or(0x0f), 255);
    EXPECT_EQ(small.fetch_and(0x0f), 255);
    EXPECT_EQ(small.load(), 0x0f);
    policy::atomic<int> negative{-1};
    EXPECT_EQ(negative.fetch_sub(1), -1);
    EXPECT_EQ(negative.exchange(3), -2);
    int array[4]{};
    policy::atomic<int*> pointer{array};
    EXPECT_EQ(pointer.fetch_add(3), array);
    EXPECT_EQ(pointer.fetch_sub(1), array + 3);
    EXPECT_EQ(pointer.load(), array + 2);
    enum class kind : char { a, b };
    policy::atomic<kind> k{kind::b};
    kind expected = kind::a;
    EXPECT_FALSE(k.compare_exchange_strong(expected, kind::a));
    EXPECT_EQ(expected, kind::b);
    EXPECT_TRUE(k.compare_exchange_strong(expected, kind::a));
  });
  EXPECT_TRUE(r.ok) << r.message;
}
static_assert(sizeof(policy::atomic<std::uint32_t>) == 4 && alignof(policy::atomic<void*>) == alignof(void*));

} // namespace
