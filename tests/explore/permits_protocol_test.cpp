// Permits under the explorer: never more than there are, none lost, no waiter forgotten, and none overtaken
// for ever.
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

constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

/// A waiter, as a coroutine is: taken off the list, then told.
struct waiter : wait_node, rubato::detail::permit_demand {
  policy::atomic<int> told{0};
  using permit_demand::permit_demand;
};
using permits = rubato::detail::basic_permits<policy, waiter>;

void tell(wait_chain& chain) {
  while (wait_node* const n = chain.pop()) static_cast<waiter&>(*n).told.store(1, release);
}

struct shared {
  permits free;
  policy::plain<int> count{0}; // what one permit protects
  explicit shared(std::uint64_t n)
      : free(n) {}

  /// It is in the list, or has been taken off: goes on when it has got a permit.
  void await(waiter& w) {
    for (;;) {
      while (w.told.load(acquire) == 0) policy::pause();
      w.told.store(0, std::memory_order_relaxed);
      if (!w.was_called()) return;
      wait_chain next;
      bool const got = free.retry(w, next);
      tell(next);
      if (got) return;
    }
  }
  void take(std::uint64_t n = 1) {
    if (free.try_take(n)) return;
    frame<waiter> const w(n);
    if (free.add(*w)) await(*w);
  }
  /// The same, but it may be stopped: false.
  template<std::uint64_t N = 1>
  bool take_or_leave() {
    frame<waiter> const w(N);
    if (!free.add(*w)) return true;
    wait_chain next;
    bool const left = free.remove(*w, next);
    tell(next);
    if (left) return false;
    await(*w);
    return true;
  }
  /// The same, but when it is called it is gone.
  bool take_or_abandon() {
    frame<waiter> const w;
    if (!free.add(*w)) return true;
    while (w->told.load(acquire) == 0) policy::pause();
    if (!w->was_called()) return true;
    wait_chain next;
    free.abandon(next);
    tell(next);
    return false;
  }
  void give(std::uint64_t n = 1) {
    if (free.try_give(n, permits::most)) return;
    wait_chain taken;
    EXPLORE_ASSERT(free.give(n, permits::most, taken));
    tell(taken);
  }
  void count_up() { count.set(count.get() + 1); }
  void expect_free(int n) {
    for (; n != 0; --n) EXPLORE_ASSERT(free.try_take());
    EXPLORE_ASSERT(!free.try_take());
  }
};

template<int Threads, int Rounds>
void excluding(execution& e) {
  auto const s = std::make_shared<shared>(1);
  for (int t = 0; t != Threads; ++t)
    e.thread([s] {
      for (int i = 0; i != Rounds; ++i) {
        s->take();
        s->count_up();
        s->give();
      }
    });
  e.finally([s] {
    EXPLORE_ASSERT(s->count.get() == Threads * Rounds);
    s->expect_free(1);
  });
}

/// Two wait, one only tries, and may overtake them.
void trying(execution& e) {
  auto const s = std::make_shared<shared>(1);
  auto const tried = std::make_shared<int>(0);
  for (int t = 0; t != 2; ++t)
    e.thread([s] {
      s->take();
      s->count_up();
      s->give();
    });
  e.thread([s, tried] {
    for (int i = 0; i != 2; ++i) {
      if (!s->free.try_take()) continue;
      s->count_up();
      ++*tried;
      s->give();
    }
  });
  e.finally([s, tried] {
    EXPLORE_ASSERT(s->count.get() == 2 + *tried);
    s->expect_free(1);
  });
}

/// Several at once, and one by one: a called waiter calls the next.
template<int Together>
void giving(execution& e) {
  auto const s = std::make_shared<shared>(0);
  for (int t = 0; t != 2; ++t) e.thread([s] { s->take(); });
  if (Together != 0) {
    e.thread([s] { s->give(3); });
  } else {
    e.thread([s] { s->give(); });
    e.thread([s] { s->give(2); });
  }
  e.finally([s] { s->expect_free(1); });
}

/// One leaves the list while another waits and permits are given; or it is called and does not come, and the
/// permit is for the other, which must be called.
template<bool (shared::*Take)()>
void leaving(execution& e) {
  auto const s = std::make_shared<shared>(0);
  auto const kept = std::make_shared<int>(0);
  e.thread([s, kept] { *kept += (s.get()->*Take)() ? 1 : 0; });
  e.thread([s] { s->take(); });
  e.thread([s] {
    s->give();
    s->give();
  });
  e.finally([s, kept] { s->expect_free(1 - *kept); });
}

/// Waiters that need different numbers, and permits that come one by one and together.
template<std::uint64_t First, std::uint64_t Second>
void needing(execution& e) {
  auto const s = std::make_shared<shared>(0);
  e.thread([s] { s->take(First); });
  e.thread([s] { s->take(Second); });
  e.thread([s] {
    s->give();
    s->give(First + Second - 1);
  });
  e.finally([s] { s->expect_free(0); });
}

/// The first one of the list leaves with what it has been handed: the permits are for those behind it.
template<std::uint64_t Behind>
void leaving_some(execution& e) {
  auto const s = std::make_shared<shared>(0);
  auto const kept = std::make_shared<std::uint64_t>(0);
  e.thread([s, kept] { *kept = s->take_or_leave<2>() ? 2 : 0; });
  e.thread([s] { s->take(Behind); });
  e.thread([s] {
    s->give();
    s->give(Behind + 1);
  });
  e.finally([s, kept] { s->expect_free(static_cast<int>(2 - *kept)); });
}

/// A waiter for two permits, a called one before it, and a thread that only tries.
void needing_beside_a_trier(execution& e) {
  auto const s = std::make_shared<shared>(0);
  e.thread([s] { s->take(); });
  e.thread([s] { s->take(2); });
  e.thread([s] {
    s->give(2);
    if (s->free.try_take()) s->give();
    s->give();
  });
  e.finally([s] { s->expect_free(0); });
}

/// A waiter for two is served before a later one that needs one, and no thread takes what it holds.
void serving_in_order(execution& e) {
  auto const s = std::make_shared<shared>(1);
  auto const first = std::make_shared<waiter>(std::uint64_t{3});
  auto const later = std::make_shared<waiter>();
  e.thread([s, first, later] {
    wait_chain next;
    EXPLORE_ASSERT(s->free.add(*first) && s->free.add(*later));
    s->give();
    EXPLORE_ASSERT(!s->free.try_take() && !first->was_taken() && !later->was_called());
    EXPLORE_ASSERT(s->free.try_take(0));
    s->give();
    EXPLORE_ASSERT(first->was_taken() && !later->was_called());
    s->give();
    EXPLORE_ASSERT(later->was_called() && s->free.retry(*later, next) && next.pop() == nullptr);
    s->expect_free(0);
    first->settle();
    later->settle();
  });
}

/// The thread that gets the last permit destroys them: its giver must be out.
template<bool AtOnce>
void dying(execution& e) {
  struct object {
    std::unique_ptr<frame<shared>> all = std::make_unique<frame<shared>>(std::uint64_t{0});
  };
  auto const o = std::make_shared<object>();
  shared* const s = o->all->get();
  for (int t = 0; t != 2; ++t) e.thread([s] { s->give(); });
  e.thread([o, s] {
    if (AtOnce) {
      s->take(2);
    } else {
      s->take();
      s->take();
    }
    o->all.reset();
  });
}

/// What was done before a permit was given is seen by its receiver, by each of the ways.
template<bool Waits>
void handing_on(execution& e) {
  auto const s = std::make_shared<shared>(0);
  e.thread([s] {
    s->count.set(7);
    s->give();
  });
  e.thread([s] {
    if (Waits)
      s->take();
    else if (!s->free.try_take())
      return;
    EXPLORE_ASSERT(s->count.get() == 7);
  });
}

/// The same for each of several permits.
void handing_on_several(execution& e) {
  auto const s = std::make_shared<shared>(0);
  auto const other = std::make_shared<policy::plain<int>>(0);
  e.thread([s] {
    s->count.set(7);
    s->give();
  });
  e.thread([s, other] {
    other->set(8);
    s->give();
  });
  e.thread([s, other] {
    s->take(2);
    EXPLORE_ASSERT(s->count.get() == 7 && other->get() == 8);
  });
}

/// A waiter that was called in vain is handed the next: threads that run all the time overtake it once.
void overtaking(execution& e) {
  auto const s = std::make_shared<shared>(0);
  auto const w = std::make_shared<waiter>();
  EXPLORE_ASSERT(s->free.add(*w));
  e.thread([s, w] {
    s->give();
    bool const overtook = s->free.try_take();
    if (!overtook) return; // it was faster
    while (w->told.load(acquire) == 0) policy::pause();
    wait_chain next;
    EXPLORE_ASSERT(w->was_called() && !s->free.retry(*w, next) && next.pop() == nullptr);
    s->give();
    EXPLORE_ASSERT(!s->free.try_take());
    EXPLORE_ASSERT(w->was_taken());
    w->settle();
  });
}

tests const all{excluding<2, 2>,
                excluding<3, 1>,
                trying,
                giving<0>,
                giving<1>,
                leaving<&shared::take_or_abandon>,
                leaving<&shared::take_or_leave<>>,
                leaving_some<1>,
                leaving_some<2>,
                needing<2, 1>,
                needing<3, 2>,
                needing_beside_a_trier,
                serving_in_order,
                dying<false>,
                dying<true>,
                handing_on<true>,
                handing_on<false>,
                handing_on_several,
                overtaking};

TEST(permits_protocol, gives_each_to_one) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
  result const r = run({.random = 20'000}, excluding<3, 2>);
  EXPECT_TRUE(r.ok) << r.message;
}
TEST(permits_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "permits.hpp"}, all);
}

} // namespace
