// The lock under the explorer: it excludes, it wakes, and it may be destroyed by the next owner.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using mutex = rubato::detail::basic_mutex<policy>;

struct counter {
  mutex lock;
  policy::plain<int> count{0};
};

void count_up(counter& c) {
  std::lock_guard const guard(c.lock);
  c.count.set(c.count.get() + 1);
}

template<int Threads, int Rounds>
void counting(execution& e) {
  auto const c = std::make_shared<counter>();
  for (int t = 0; t != Threads; ++t)
    e.thread([c] {
      for (int i = 0; i != Rounds; ++i) count_up(*c);
    });
  e.finally([c] { EXPLORE_ASSERT(c->count.get() == Threads * Rounds); });
}

/// One thread waits for the lock, others only try.
void trying(execution& e) {
  struct state : counter {
    int tried = 0;
  };
  auto const s = std::make_shared<state>();
  e.thread([s] { count_up(*s); });
  for (int t = 0; t != 2; ++t)
    e.thread([s] {
      std::unique_lock const guard(s->lock, std::try_to_lock); // the analysis loses an adopted lock
      if (!guard) return;
      s->count.set(s->count.get() + 1);
      ++s->tried;
    });
  e.finally([s] { EXPLORE_ASSERT(s->count.get() == 1 + s->tried); });
}

/// The last thread destroys the lock, as soon as it has it: the other may still be about to wake a thread.
void dying(execution& e) {
  auto const shared = std::make_shared<std::unique_ptr<frame<counter>>>(std::make_unique<frame<counter>>());
  for (int t = 0; t != 2; ++t)
    e.thread([shared] {
      counter& c = ***shared;
      c.lock.lock();
      int const before = c.count.get();
      c.count.set(before + 1);
      c.lock.unlock();
      if (before == 1) shared->reset();
    });
}

TEST(mutex_protocol, excludes_and_wakes) {
  expect_all_pass({.max_executions = 100'000}, {counting<2, 2>, counting<3, 1>, trying, dying});
}
TEST(mutex_protocol, excludes_at_random) {
  result const r = run({.random = 20'000}, counting<4, 2>);
  EXPECT_TRUE(r.ok) << r.message;
}
TEST(mutex_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000}, {counting<2, 2>, counting<3, 1>, dying});
}

} // namespace
