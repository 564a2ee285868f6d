// The list of the waiters for a result under the explorer: each is told once or taken out, never both, and
// sees the result.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/completion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;

constexpr auto relaxed = std::memory_order_relaxed;

/// A list that forgets its lock bit: a removal takes the word as it is.
template<class Policy>
class without_a_lock {
public:
  struct waiter {
    waiter* next = nullptr;
  };

private:
  static constexpr std::uintptr_t done = 2;
  typename Policy::template atomic<std::uintptr_t> word_{0};
  typename Policy::template atomic<int> step_{0}; // where the others may have their turn
  static waiter* first(std::uintptr_t word) { return reinterpret_cast<waiter*>(word); }

public:
  bool closed() const { return word_.load() == done; }
  bool add(waiter& w) {
    std::uintptr_t word = word_.load();
    do {
      if (word == done) return false;
      w.next = first(word);
    } while (!word_.compare_exchange_weak(word, reinterpret_cast<std::uintptr_t>(&w)));
    return true;
  }
  waiter* close() { return first(word_.exchange(done)); }
  bool remove(waiter& w) {
    std::uintptr_t word = word_.load();
    do {
      if (word == done) return false;
      if (first(word) != &w) {
        for (waiter* before = first(word); before != nullptr; before = before->next) {
          static_cast<void>(step_.load());
          if (before->next != &w) continue;
          before->next = w.next;
          return true;
        }
        return false;
      }
    } while (!word_.compare_exchange_weak(word, reinterpret_cast<std::uintptr_t>(w.next)));
    return true;
  }
};

template<template<class> class List = rubato::detail::basic_completion>
struct state {
  using list = List<policy>;
  struct node : list::waiter {
    policy::plain<int> written{0}; // by the waiter, before
    policy::atomic<int> told{0};
    bool added = false, removed = false; // what add() and remove() said
  };

  list waiters;
  policy::plain<int> result{0};
  std::array<node, 4> nodes;

  void add(std::size_t i) {
    node& n = nodes[i];
    n.written.set(1);
    n.added = waiters.add(n);
    if (!n.added) EXPLORE_ASSERT(result.get() == 7);
  }
  void remove(std::size_t i) {
    node& n = nodes[i];
    if (!n.added) return;
    n.removed = waiters.remove(n);
    if (!n.removed) EXPLORE_ASSERT(waiters.closed());
  }
  void close() {
    result.set(7);
    for (auto* w = waiters.close(); w != nullptr;) {
      node& n = static_cast<node&>(*w);
      w = w->next;
      EXPLORE_ASSERT(n.written.get() == 1);
      n.told.store(n.told.load(relaxed) + 1, relaxed);
    }
  }
  void check() {
    EXPLORE_ASSERT(waiters.closed());
    for (node& n : nodes) EXPLORE_ASSERT(n.told.load(relaxed) == (n.added && !n.removed ? 1 : 0));
  }
};

/// Waiters come before, while and after the result is there.
void adding(execution& e) {
  auto const s = std::make_shared<state<>>();
  e.thread([s] {
    s->add(0);
    s->add(1);
  });
  e.thread([s] { s->add(2); });
  e.thread([s] { s->close(); });
  e.finally([s] { s->check(); });
}

/// One that was there goes while another comes and the result does.
void removing(execution& e) {
  auto const s = std::make_shared<state<>>();
  s->add(0);
  e.thread([s] { s->remove(0); });
  e.thread([s] { s->add(1); });
  e.thread([s] { s->close(); });
  e.finally([s] { s->check(); });
}

/// Neighbours go at the same time.
template<template<class> class List>
void removing_neighbours(execution& e) {
  auto const s = std::make_shared<state<List>>();
  for (std::size_t i = 0; i != 4; ++i) s->add(i);
  e.thread([s] { s->remove(1); });
  e.thread([s] { s->remove(2); });
  e.finally([s] {
    s->close();
    s->check();
  });
}

/// The oldest, the newest and the result.
void removing_both_ends(execution& e) {
  auto const s = std::make_shared<state<>>();
  for (std::size_t i = 0; i != 3; ++i) s->add(i);
  e.thread([s] { s->remove(2); });
  e.thread([s] { s->remove(0); });
  e.thread([s] { s->close(); });
  e.finally([s] { s->check(); });
}

/// Those in the middle go after others have gone and come.
void removing_in_turn(execution& e) {
  auto const s = std::make_shared<state<>>();
  for (std::size_t i = 0; i != 3; ++i) s->add(i);
  e.thread([s] {
    s->remove(0);
    s->remove(2);
  });
  e.thread([s] {
    s->add(3);
    s->remove(1);
  });
  e.finally([s] {
    s->remove(3);
    s->close();
    s->check();
  });
}

/// The same waiter comes again, so that the word may be what it was.
void coming_again(execution& e) {
  auto const s = std::make_shared<state<>>();
  s->add(0);
  e.thread([s] {
    s->add(1);
    s->remove(1);
    if (s->nodes[1].removed) s->nodes[1].removed = s->nodes[1].added = false, s->add(1);
  });
  e.thread([s] { s->remove(0); });
  e.thread([s] { s->close(); });
  e.finally([s] { s->check(); });
}

/// A waiter that was taken out is gone at once: no thread may touch it any more.
void dying(execution& e) {
  struct frames {
    state<>::list waiters;
    policy::plain<int> result{0};
  };
  auto const s = std::make_shared<frames>();
  for (int t = 0; t != 2; ++t)
    e.thread([s] {
      frame<state<>::node> mine;
      mine->written.set(1);
      if (!s->waiters.add(*mine)) {
        EXPLORE_ASSERT(s->result.get() == 7);
        return;
      }
      if (s->waiters.remove(*mine)) return;
      while (mine->told.load(std::memory_order_acquire) == 0) policy::pause();
      EXPLORE_ASSERT(s->result.get() == 7);
    });
  e.thread([s] {
    s->result.set(7);
    for (auto* w = s->waiters.close(); w != nullptr;) {
      auto& n = static_cast<state<>::node&>(*w);
      w = w->next;
      EXPLORE_ASSERT(n.written.get() == 1);
      n.told.store(1, std::memory_order_release); // it may be gone
    }
  });
}

/// A waiter that is told in the order in which it came.
void in_order(execution& e) {
  struct ordered {
    state<>::list waiters;
    std::array<state<>::node, 3> nodes;
  };
  auto const s = std::make_shared<ordered>();
  e.thread([s] {
    for (auto& n : s->nodes) n.added = s->waiters.add(n);
  });
  e.thread([s] {
    auto* w = s->waiters.close();
    for (std::size_t i = 0; i != 3 && w != nullptr; ++i, w = w->next) EXPLORE_ASSERT(w == &s->nodes[i]);
    EXPLORE_ASSERT(w == nullptr);
  });
}

/// A removal that finds no waiter tells the thread that adds it afterwards: as a stop request does.
void adding_after_a_removal(execution& e) {
  struct stoppable : state<> {
    policy::atomic<bool> stop{false};
    bool removed = false, seen = false;
  };
  auto const s = std::make_shared<stoppable>();
  e.thread([s] {
    s->add(0);
    s->seen = s->stop.load(relaxed);
  });
  e.thread([s] {
    s->stop.store(true, relaxed);
    s->removed = s->waiters.remove(s->nodes[0]);
  });
  e.finally([s] { EXPLORE_ASSERT(s->removed || s->seen); });
}

/// A thread that sees it closed sees the result.
void looking(execution& e) {
  auto const s = std::make_shared<state<>>();
  e.thread([s] { s->close(); });
  e.thread([s] {
    if (s->waiters.closed()) EXPLORE_ASSERT(s->result.get() == 7);
  });
  e.finally([s] { s->check(); });
}

tests const all{adding,
                removing,
                removing_neighbours<rubato::detail::basic_completion>,
                removing_both_ends,
                removing_in_turn,
                coming_again,
                dying,
                in_order,
                adding_after_a_removal,
                looking};

TEST(completion_protocol, tells_or_removes_each_once) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(completion_protocol, would_lose_a_removal_without_its_lock) {
  EXPECT_EQ(run({}, removing_neighbours<without_a_lock>).what, verdict::assertion);
}
TEST(completion_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "completion.hpp"}, all);
}

} // namespace
