// The key of the event set under the explorer: no wake is lost that is meant for the thread which sleeps
// among the events, and no event stays unseen, whichever of the sleeping threads the kernel wakes.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/event_key.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace rubato_test;
using parker = rubato::detail::basic_parker<policy>;
using event_key = rubato::detail::basic_event_key<policy>;

constexpr auto relaxed = std::memory_order_relaxed;

/// An epoll set with two edges: a poke, and an event. It wakes any one of its sleepers for each.
class events {
  policy::atomic<std::uint32_t> changes_{0};
  policy::atomic<bool> poke_{false}, event_{false};

public:
  struct harvest {
    bool poked = false, event = false;
    explicit operator bool() const noexcept { return poked || event; }
  };
  harvest look() noexcept { return {.poked = poke_.exchange(false), .event = event_.exchange(false)}; }
  harvest wait() noexcept {
    for (;;) {
      std::uint32_t const then = changes_.load();
      if (harvest const h = look()) return h;
      policy::futex_wait(changes_, then);
    }
  }
  void poke() noexcept { raise(poke_); }
  void raise_event() noexcept { raise(event_); }

private:
  void raise(policy::atomic<bool>& edge) noexcept {
    edge.store(true);
    changes_.fetch_add(1);
    policy::futex_wake(changes_, 1);
  }
};

/// What a mutant does.
enum class mutant {
  none,
  no_relay,       ///< the standby keeps a poke that was meant for the holder
  stays,          ///< the standby pokes again, and sleeps among the events again at once
  parks_by_store, ///< the holder says that it sleeps without asking whether it was woken
};

struct world {
  events set;
  event_key key;
  parker first, second;
  policy::atomic<int> work{0};    // for the workers
  policy::atomic<int> handled{0}; // events
  policy::atomic<bool> over{false};
  world() {
    policy::poked = [this] { set.poke(); };
  }
};

void deliver(world& w, events::harvest const& h) {
  if (h.event) w.handled.fetch_add(1);
}

/// Sleeps until there is work, among the events if it gets the key.
void worker(world& w, parker& own) {
  while (w.work.load(relaxed) == 0) {
    events::harvest h;
    if (w.key.sleep(own, [&] { h = w.set.wait(); }))
      deliver(w, h);
    else
      own.park();
  }
}

template<mutant Mutant = mutant::none>
void standby(world& w) {
  while (!w.over.load()) {
    events::harvest const h = w.set.wait();
    deliver(w, h);
    if constexpr (Mutant == mutant::no_relay)
      static_cast<void>(w.key.stand_back(false));
    else if constexpr (Mutant == mutant::stays) {
      if (h.poked && !w.over.load()) w.set.poke();
    } else
      static_cast<void>(w.key.stand_back(h.poked));
  }
}

void finish(world& w) {
  w.over.store(true);
  w.set.raise_event();
}

/// One worker, which is woken by its parker.
template<mutant Mutant = mutant::none>
void wake(execution& e) {
  auto const w = std::make_shared<world>();
  e.thread([w] {
    worker(*w, w->first);
    finish(*w);
  });
  e.thread([w] {
    w->work.store(1, relaxed);
    w->first.unpark();
  });
  e.thread([w] { standby<Mutant>(*w); });
}

/// Two workers, of which one sleeps in its parker; both are woken.
void wake_two(execution& e) {
  auto const w = std::make_shared<world>();
  e.thread([w] { worker(*w, w->first); });
  e.thread([w] { worker(*w, w->second); });
  e.thread([w] {
    w->work.store(1, relaxed);
    w->first.unpark();
    w->second.unpark();
  });
}

/// An event, while a worker goes to sleep and is woken, and another one looks between its tasks.
void event(execution& e) {
  auto const w = std::make_shared<world>();
  e.thread([w] {
    worker(*w, w->first);
    w->key.look([&] { deliver(*w, w->set.look()); });
    w->over.store(true);
    w->set.poke();
  });
  e.thread([w] {
    w->set.raise_event();
    w->work.store(1, relaxed);
    w->first.unpark();
  });
  e.thread([w] { standby(*w); });
  e.finally([w] { EXPLORE_ASSERT(w->handled.load() == 1); });
}

TEST(event_key_protocol, loses_no_wake_and_no_event) {
  for (test const& t : {test(wake<>), test(wake_two), test(event)}) {
    result const r = run({.preemptions = 2, .max_executions = 400'000}, t);
    EXPECT_TRUE(r.ok && r.exhausted) << r.message;
    result const random = run({.random = 20'000}, t);
    EXPECT_TRUE(random.ok) << random.message;
  }
}
TEST(event_key_protocol, would_lose_a_wake_that_the_standby_keeps) {
  EXPECT_EQ(run({}, wake<mutant::no_relay>).what, verdict::deadlock);
}
/// It may catch its own poke for ever.
TEST(event_key_protocol, would_never_end_if_the_standby_stayed) {
  EXPECT_FALSE(run({}, wake<mutant::stays>).ok);
}
TEST(event_key_protocol, needs_every_order) {
  expect_every_weakening_fails({.preemptions = 2, .max_executions = 20'000, .weaken_in = "parker.hpp"},
                               {wake<>, wake_two, event}, {"] park: "}); // parker_protocol_test.cpp has those
}

} // namespace
