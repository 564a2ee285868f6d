// The injector under the explorer: first in, first out, nothing lost, nothing hidden from a sleeper, and a
// node may die as soon as it has been popped.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "explore/queued_item.hpp"
#include "sync/injector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace {

using namespace rubato_test;
using injector = rubato::detail::basic_injector<policy>;

using item = queued_item;

struct state {
  injector queue;
  std::array<std::unique_ptr<frame<item>>, 4> items;
  std::vector<int> popped;

  item* make(int id) {
    auto& place = items[static_cast<std::size_t>(id)];
    place = std::make_unique<frame<item>>(id);
    return place->get();
  }
  /// One item, if there is any, which ends here.
  bool pop() {
    if (queue.empty()) return false;
    std::lock_guard const guard(queue);
    auto* const i = static_cast<item*>(queue.pop());
    if (i == nullptr) return false;
    EXPLORE_ASSERT(i->payload.get() == i->id);
    popped.push_back(i->id);
    items[static_cast<std::size_t>(i->id)].reset();
    return true;
  }
  void pop_all(std::size_t n) {
    while (popped.size() != n)
      if (!pop()) policy::pause();
  }
  /// Where the item came out; each comes out once.
  [[nodiscard]] std::ptrdiff_t place(int id) const {
    EXPLORE_ASSERT(std::count(popped.begin(), popped.end(), id) == 1);
    return std::find(popped.begin(), popped.end(), id) - popped.begin();
  }
};

/// One producer pushes two, another one; the consumer takes them as they come.
void producers(execution& e) {
  auto const s = std::make_shared<state>();
  e.thread([s] {
    s->queue.push(s->make(0));
    s->queue.push(s->make(1));
  });
  e.thread([s] { s->queue.push(s->make(2)); });
  e.thread([s] { s->pop_all(3); });
  e.finally([s] {
    EXPLORE_ASSERT(s->popped.size() == 3 && s->queue.empty());
    EXPLORE_ASSERT(s->place(0) < s->place(1));
    EXPLORE_ASSERT(s->place(2) >= 0);
  });
}

/// A chain stays together.
void chained(execution& e) {
  auto const s = std::make_shared<state>();
  e.thread([s] {
    item* const first = s->make(0);
    item* const last = s->make(1);
    first->next.store(last, std::memory_order_relaxed);
    s->queue.push_chain(first, last);
  });
  e.thread([s] { s->queue.push(s->make(2)); });
  e.thread([s] { s->pop_all(3); });
  e.finally([s] { EXPLORE_ASSERT(s->place(1) == s->place(0) + 1); });
}

/// Consumers take turns.
void consumers(execution& e) {
  auto const s = std::make_shared<state>();
  e.thread([s] {
    s->queue.push(s->make(0));
    s->queue.push(s->make(1));
  });
  for (int t = 0; t != 2; ++t) e.thread([s] { s->pop(); });
  e.finally([s] {
    while (s->pop()) continue;
    EXPLORE_ASSERT(s->popped.size() == 2 && s->place(0) == 0 && s->place(1) == 1);
  });
}

/// Guarantee W: a thread that announces its sleep finds the item, or the pusher sees that. `Before`: an item
/// that has come and gone, so that the stub is back in its place.
template<bool Before>
void sleeper(execution& e) {
  struct announced : state {
    policy::atomic<int> sleeping{0};
    bool found = false, seen = false;
  };
  auto const s = std::make_shared<announced>();
  if (Before) s->queue.push(s->make(0));
  e.thread([s] {
    s->queue.push(s->make(1));
    s->seen = s->sleeping.load() == 1;
  });
  e.thread([s] {
    if (Before) s->pop();
    s->sleeping.fetch_add(1);
    s->found = !s->queue.empty();
  });
  e.finally([s] { EXPLORE_ASSERT(s->found || s->seen || !s->items[1]); });
}

tests const all{producers, chained, consumers, sleeper<false>, sleeper<true>};

TEST(injector_protocol, keeps_order_and_loses_nothing) {
  expect_all_pass({.max_executions = 200'000, .random = 10'000}, all);
}
TEST(injector_protocol, needs_every_order) {
  expect_every_weakening_fails(
      {.max_executions = 20'000}, all,
      {// The stub is no event: a push after it is read instead by all that are to see that push.
       "[seq_cst -> acq_rel] pop",
       // linked_after() acquires what the failed compare has seen.
       "[failure acquire -> relaxed] pop"});
}

} // namespace
