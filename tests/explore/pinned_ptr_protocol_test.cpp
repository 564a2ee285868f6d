// The pinned pointer under the explorer: its target stays as long as a reader looks at it, and a thread that
// looks sees it whole.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace rubato_test;

/// In the owner's frame. Every reader leaves a trace.
struct wait {
  policy::plain<int> value{0};
  policy::plain<int> looks{0};
};

/// Lets go of it while a reader looks.
template<class Policy, class T>
class does_not_wait {
  typename Policy::template atomic<T*> word_{nullptr};

public:
  void set(T& t) { word_.store(&t); }
  void clear() { word_.store(nullptr); }
  template<class F>
  int use(F f) {
    T* const t = word_.load();
    return t != nullptr ? f(*t) : 0;
  }
};

template<template<class, class> class Watched, int Waits, int Lookers>
void owner_and_lookers(execution& e) {
  auto const word = std::make_shared<Watched<policy, wait>>();
  e.thread([word] {
    for (int i = 1; i <= Waits; ++i) {
      frame<wait> w;
      (*w).value.set(i);
      word->set(*w);
      static_cast<void>(word->clear());
      int const looks = (*w).looks.get();
      EXPLORE_ASSERT(looks >= 0 && looks <= Lookers);
    }
  });
  for (int i = 0; i != Lookers; ++i)
    e.thread([word] {
      int const seen = word->use([](wait& w) {
        w.looks.set(w.looks.get() + 1);
        return w.value.get();
      });
      EXPLORE_ASSERT(seen >= 0 && seen <= Waits);
    });
}

/// As a task that joins a strand: it links itself to the task before it and then reads its own priority,
/// while a thread raises that priority and then looks for the link.
void link_or_change_is_seen(execution& e) {
  struct world {
    rubato::detail::basic_pinned_ptr<policy, wait> link;
    policy::atomic<bool> changed{false};
    wait target;
    policy::plain<bool> saw_change{false}, saw_link{false};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->target.value.set(1);
    w->link.link(w->target);
    w->saw_change.set(w->changed.load(std::memory_order_seq_cst));
  });
  e.thread([w] {
    w->changed.store(true, std::memory_order_seq_cst);
    w->saw_link.set(w->link.use([](wait& t) { return t.value.get() == 1; }));
  });
  e.finally([w] { EXPLORE_ASSERT(w->saw_change.get() || w->saw_link.get()); });
}

template<int Waits, int Lookers>
constexpr auto ours = &owner_and_lookers<rubato::detail::basic_pinned_ptr, Waits, Lookers>;

tests const all{ours<1, 1>, ours<2, 1>, ours<1, 2>, ours<2, 2>, link_or_change_is_seen};

TEST(pinned_ptr_protocol, keeps_what_is_looked_at) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(pinned_ptr_protocol, would_let_go_of_it_without_waiting) {
  EXPECT_FALSE(run({}, owner_and_lookers<does_not_wait, 1, 1>).ok);
}
TEST(pinned_ptr_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "pinned_ptr.hpp"}, all, {});
}

} // namespace
