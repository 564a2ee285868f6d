// The backlog and the injector behind it, under the explorer: one order for the owner's nodes and those from
// outside, nothing lost, nothing hidden from a sleeper, whichever thread pops.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "explore/queued_item.hpp"
#include "sync/backlog.hpp"
#include "sync/injector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using backlog = rubato::detail::basic_backlog<policy>;
using injector = rubato::detail::basic_injector<policy>;

/// What a mutant of the pool's queues leaves out.
enum class mutant {
  none,
  does_not_absorb,  ///< the owner pushes behind its backlog though the injector holds an older node
  does_not_revoke,  ///< another thread pops under the lock alone
  takes_then_shows, ///< the nodes leave the injector before the backlog shows them
  appends_to_empty, ///< the owner appends to an empty backlog and tells no thread
};

constexpr int none = -1;

using item = queued_item;

/// As task_queues uses them.
template<mutant Mutant>
struct queues {
  injector behind;
  backlog front;
  std::array<std::unique_ptr<frame<item>>, 5> items;
  std::vector<int> order; // of the pops, as their threads go on

  explicit queues(bool asymmetric)
      : front(asymmetric) {}

  item* make(int id) {
    auto& place = items[static_cast<std::size_t>(id)];
    place = std::make_unique<frame<item>>(id);
    return place->get();
  }
  [[nodiscard]] bool empty() const { return behind.empty() && front.empty(); }

  int came_out(injector::node* n) {
    if (n == nullptr) return none;
    auto* const i = static_cast<item*>(n);
    EXPLORE_ASSERT(i->payload.get() == i->id);
    EXPLORE_ASSERT(std::count(order.begin(), order.end(), i->id) == 0);
    int const id = i->id;
    order.push_back(id);
    items[static_cast<std::size_t>(id)].reset();
    return id;
  }

  void push_outside(int id) { behind.push(make(id)); }
  /// True: it was no event.
  bool push_own(int id) {
    item* const i = make(id);
    if (!front.empty()) {
      if ((Mutant == mutant::does_not_absorb || behind.empty()) && front.push(i)) return true;
      std::lock_guard const guard(behind);
      front.take_back();
      if (!front.empty()) {
        front.absorb(behind);
        return front.push_locked(i);
      }
    }
    behind.push(i);
    return Mutant == mutant::appends_to_empty;
  }
  int pop_own() {
    injector::node* n = front.pop();
    if (n == nullptr) {
      if (empty()) return none;
      std::lock_guard const guard(behind);
      front.take_back();
      if (front.empty()) {
        if (Mutant == mutant::takes_then_shows) {
          injector::node* first = nullptr;
          if (auto* const last = behind.take_all([&](injector::node* f) { first = f; })) {
            injector again;
            again.push_chain(first, last);
            front.absorb(again);
          }
        } else {
          front.absorb(behind);
        }
      }
      n = front.pop_locked();
    }
    return came_out(n);
  }
  int pop_other() {
    if (empty()) return none;
    std::lock_guard const guard(behind);
    if (!front.empty()) {
      if (Mutant != mutant::does_not_revoke) front.revoke();
      if (injector::node* const n = front.pop_locked()) return came_out(n);
    }
    return came_out(behind.pop());
  }
  /// By the owner, until so many have come out.
  void pop_until(std::size_t n) {
    while (order.size() != n)
      if (empty() || pop_own() == none) policy::pause();
  }
  [[nodiscard]] std::ptrdiff_t place(int id) const {
    EXPLORE_ASSERT(std::count(order.begin(), order.end(), id) == 1);
    return std::find(order.begin(), order.end(), id) - order.begin();
  }
};

/// Items 0 and 1 came from outside and 0 is popped, so that the backlog holds 1.
template<mutant Mutant>
std::shared_ptr<queues<Mutant>> with_backlog(bool asymmetric) {
  auto s = std::make_shared<queues<Mutant>>(asymmetric);
  s->push_outside(0);
  s->push_outside(1);
  s->pop_own();
  EXPLORE_ASSERT(s->order.size() == 1 && !s->front.empty() && s->behind.empty());
  return s;
}

/// The owner pushes and pops beside a thread from outside, which pushes.
template<bool Asymmetric, mutant Mutant = mutant::none>
void outside(execution& e) {
  auto const s = with_backlog<Mutant>(Asymmetric);
  auto const seen = std::make_shared<policy::atomic<int>>(0);
  e.thread([s, seen] {
    bool const after = seen->load(std::memory_order_acquire) == 1; // item 3 was pushed before
    s->push_own(2);
    s->pop_own();
    s->pop_until(4);
    EXPLORE_ASSERT(s->place(1) < s->place(2) && (!after || s->place(3) < s->place(2)));
  });
  e.thread([s, seen] {
    s->push_outside(3);
    seen->store(1, std::memory_order_release);
  });
  e.finally([s] { EXPLORE_ASSERT(s->order.size() == 4 && s->empty()); });
}

/// The owner links its node to one that another thread has only just pushed, and that it has not come to yet.
void behind_the_newest(execution& e) {
  auto const s = with_backlog<mutant::none>(true);
  e.thread([s] {
    while (s->behind.empty()) policy::pause();
    s->push_own(2);
    s->pop_until(5);
    EXPLORE_ASSERT(s->place(3) < s->place(2) && s->place(3) < s->place(4));
  });
  e.thread([s] {
    s->push_outside(3);
    s->push_outside(4);
  });
  e.finally([s] { EXPLORE_ASSERT(s->order.size() == 5 && s->empty()); });
}

/// The owner's node is older than a node that another thread pushes after it has heard of the first.
template<bool Asymmetric>
void own_first(execution& e) {
  auto const s = with_backlog<mutant::none>(Asymmetric);
  auto const told = std::make_shared<policy::atomic<int>>(0);
  e.thread([s, told] {
    s->push_own(2);
    told->store(1, std::memory_order_release);
    s->pop_until(4);
  });
  e.thread([s, told] {
    while (told->load(std::memory_order_acquire) == 0) policy::pause();
    s->push_outside(3);
  });
  e.finally([s] { EXPLORE_ASSERT(s->place(1) < s->place(2) && s->place(2) < s->place(3)); });
}

/// Another thread pops, as relief does.
template<bool Asymmetric, mutant Mutant = mutant::none>
void relieved(execution& e) {
  auto const s = with_backlog<Mutant>(Asymmetric);
  s->push_own(2);
  e.thread([s] {
    s->push_own(3);
    s->pop_own();
    s->push_own(4);
  });
  e.thread([s] {
    int const first = s->pop_other(), second = s->pop_other();
    EXPLORE_ASSERT(second == none || first < second); // the oldest first
  });
  e.finally([s] {
    while (s->pop_own() != none) continue;
    EXPLORE_ASSERT(s->order.size() == 5 && s->empty());
  });
}

/// Guarantee W: a thread that announces its sleep finds the item, or its pusher sees that. An item that the
/// owner appends is no event, but then the backlog was not empty.
template<bool Outside, mutant Mutant = mutant::none>
void sleeper(execution& e) {
  struct announced : queues<Mutant> {
    policy::atomic<int> sleeping{0};
    bool found = false, seen = false;
    announced()
        : queues<Mutant>(true) {}
  };
  auto const s = std::make_shared<announced>();
  if (!Outside) { // an event of before; the sleeper looks after it or is seen by its pusher
    s->push_outside(0);
    s->push_outside(1);
    s->pop_own();
  }
  e.thread([s] {
    if (Outside) {
      s->push_outside(1);
      s->seen = s->sleeping.load() == 1;
    } else {
      s->pop_own();
      if (!s->push_own(2)) s->seen = s->sleeping.load() == 1;
      s->push_own(3);
      if (s->order.size() == 2) s->pop_own();
    }
  });
  if (Outside)
    e.thread([s] {
      s->push_own(2);
      s->pop_own();
    });
  e.thread([s] {
    s->sleeping.fetch_add(1);
    s->found = !s->empty();
  });
  e.finally([s] { EXPLORE_ASSERT(s->found || s->seen || s->empty()); });
}

tests const all{behind_the_newest, outside<true>,   outside<false>, own_first<true>, own_first<false>,
                relieved<true>,    relieved<false>, sleeper<false>, sleeper<true>};

TEST(backlog_protocol, keeps_one_order_and_loses_nothing) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(backlog_protocol, finds_mutants) {
  expect_all_fail({{"does not absorb", outside<true, mutant::does_not_absorb>},
                   {"takes, then shows", sleeper<true, mutant::takes_then_shows>},
                   {"appends to an empty backlog", sleeper<false, mutant::appends_to_empty>}},
                  verdict::assertion);
  expect_all_fail({{"does not revoke", relieved<true, mutant::does_not_revoke>}}, verdict::race);
}
TEST(backlog_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "backlog.hpp"}, all);
}
TEST(backlog_protocol, needs_every_order_of_the_injector) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "injector.hpp"}, all);
}

} // namespace
