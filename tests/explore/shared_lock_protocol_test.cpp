// Permits that are served by turn under the explorer: a lock that readers share, of which a writer takes all
// permits. A writer is alone, no waiter is overtaken or forgotten, and none is called.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/permits.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;
using wait_chain = rubato::detail::basic_wait_chain<policy>;
using wait_node = rubato::detail::basic_wait_node<policy>;
using rubato::detail::permit_order;

constexpr std::uint64_t all_permits = 3, one = 1; // as many as threads

struct waiter : wait_node, rubato::detail::permit_demand {
  policy::atomic<int> told{0};
  explicit waiter(std::uint64_t n)
      : permit_demand(n, permit_order::by_turn) {}
};
using permits = rubato::detail::basic_permits<policy, waiter>;

struct shared_lock {
  permits free{all_permits};
  policy::plain<int> value{0}; // readers read it, writers write it

  static void tell(wait_chain& chain) {
    while (wait_node* const n = chain.pop())
      static_cast<waiter&>(*n).told.store(1, std::memory_order_release);
  }
  void lock(std::uint64_t n) {
    if (free.try_take(n)) return;
    frame<waiter> const w(n);
    if (!free.add(*w)) return;
    while (w->told.load(std::memory_order_acquire) == 0) policy::pause();
    EXPLORE_ASSERT(w->was_taken());
  }
  /// False: it has left before its turn.
  bool lock_or_leave(std::uint64_t n) {
    frame<waiter> const w(n);
    if (!free.add(*w)) return true;
    wait_chain next;
    bool const left = free.remove(*w, next);
    tell(next);
    if (left) return false;
    while (w->told.load(std::memory_order_acquire) == 0) policy::pause();
    return true;
  }
  void unlock(std::uint64_t n) {
    if (free.try_give(n, all_permits)) return;
    wait_chain taken;
    EXPLORE_ASSERT(free.give(n, all_permits, taken));
    tell(taken);
  }
  void read() {
    lock(one);
    static_cast<void>(value.get());
    unlock(one);
  }
  void write() {
    lock(all_permits);
    value.set(value.get() + 1);
    unlock(all_permits);
  }
  void expect_free() {
    EXPLORE_ASSERT(free.try_take(all_permits));
    EXPLORE_ASSERT(!free.try_take());
  }
};

template<int Writers, int Readers>
void excluding(execution& e) {
  auto const s = std::make_shared<shared_lock>();
  for (int i = 0; i != Writers; ++i) e.thread([s] { s->write(); });
  for (int i = 0; i != Readers; ++i) e.thread([s] { s->read(); });
  e.finally([s] {
    EXPLORE_ASSERT(s->value.get() == Writers);
    s->expect_free();
  });
}

/// One leaves, perhaps with permits that it held; those behind it are served.
template<std::uint64_t First>
void leaving(execution& e) {
  auto const s = std::make_shared<shared_lock>();
  e.thread([s] {
    if (s->lock_or_leave(First)) s->unlock(First);
  });
  e.thread([s] { s->read(); });
  e.thread([s] { s->write(); });
  e.finally([s] { s->expect_free(); });
}

/// A reader that comes behind a waiting writer waits, though a reader holds the lock; then all readers that
/// are next come in together.
void serving_in_order(execution& e) {
  auto const s = std::make_shared<shared_lock>();
  auto const writer = std::make_shared<waiter>(all_permits);
  auto const second = std::make_shared<waiter>(one), third = std::make_shared<waiter>(one);
  e.thread([s, writer, second, third] {
    s->lock(one);
    EXPLORE_ASSERT(s->free.add(*writer) && !s->free.try_take());
    EXPLORE_ASSERT(s->free.add(*second) && s->free.add(*third));
    s->unlock(one);
    EXPLORE_ASSERT(writer->was_taken() && !second->was_taken() && !s->free.try_take());
    s->unlock(all_permits);
    EXPLORE_ASSERT(second->was_taken() && third->was_taken() && s->free.try_take());
    for (waiter* const w : {writer.get(), second.get(), third.get()}) w->settle();
    s->unlock(all_permits);
    s->expect_free();
  });
}

tests const all{excluding<2, 1>, excluding<1, 2>,      excluding<3, 0>,
                leaving<one>,    leaving<all_permits>, serving_in_order};

TEST(shared_lock_protocol, excludes_writers_and_forgets_no_waiter) {
  expect_all_pass({.max_executions = 50'000, .random = 10'000}, all);
}
/// One permit less for a writer, and it may be beside a reader.
void sharing_too_much(execution& e) {
  auto const s = std::make_shared<shared_lock>();
  e.thread([s] {
    s->lock(all_permits - 1);
    s->value.set(1);
    s->unlock(all_permits - 1);
  });
  e.thread([s] { s->read(); });
}
TEST(shared_lock_protocol, needs_all_permits_for_a_writer) { expect_all_fail({sharing_too_much}); }

} // namespace
