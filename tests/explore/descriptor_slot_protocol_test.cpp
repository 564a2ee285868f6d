// A descriptor's slot under the explorer: no event is lost, each wait ends once, and no event of a closed
// descriptor reaches the next one of its number.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/close_gate.hpp"
#include "sync/descriptor_slot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>

namespace {

using rubato::detail::bit;
using rubato::detail::direction;
using rubato::detail::gate_duty;
using rubato::detail::listing;
using namespace rubato_test;

constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

struct wait {
  policy::atomic<int> ended{0};
  void end() { ended.store(ended.load(std::memory_order_relaxed) + 1, release); }
  void await() {
    while (ended.load(acquire) == 0) policy::pause();
  }
};
using slot = rubato::detail::basic_descriptor_slot<policy, wait>;

void end_all(slot::taken const& all) {
  if (all.reader != nullptr) all.reader->end();
  if (all.writer != nullptr) all.writer->end();
}

/// A stream, and the kernel's registration of it for edges.
class kernel {
  rubato::detail::basic_mutex<policy> mutex_;
  policy::plain<int> bytes_{0};
  policy::plain<bool> registered_{false}, event_{false}, ended_{false};
  policy::plain<std::uint32_t> tag_{0};

  void raise() {
    event_.set(true);
    wakes.fetch_add(1, release);
  }

public:
  policy::atomic<int> wakes{0}; ///< of the thread that sleeps in epoll_wait()

  void put() {
    std::lock_guard const guard(mutex_);
    bytes_.set(bytes_.get() + 1);
    if (registered_.get()) raise();
  }
  /// The last bytes, and the end of the stream with them.
  void put_last(int bytes) {
    std::lock_guard const guard(mutex_);
    bytes_.set(bytes_.get() + bytes);
    ended_.set(true);
    if (registered_.get()) raise();
  }
  /// -1: the stream has ended, and all has been read.
  int read_or_end(int most) {
    std::lock_guard const guard(mutex_);
    int const n = std::min(bytes_.get(), most);
    if (n == 0 && ended_.get()) return -1;
    bytes_.set(bytes_.get() - n);
    return n;
  }
  int read(int most = 2) {
    std::lock_guard const guard(mutex_);
    int const n = std::min(bytes_.get(), most);
    bytes_.set(bytes_.get() - n);
    return n;
  }
  bool add(std::uint32_t tag) {
    std::lock_guard const guard(mutex_);
    registered_.set(true);
    tag_.set(tag);
    if (bytes_.get() != 0) raise();
    return true;
  }
  void forget() {
    std::lock_guard const guard(mutex_);
    registered_.set(false);
    bytes_.set(0);
  }
  /// The event, if there is one, as epoll_wait() hands it out: the caller delivers it later.
  bool take(std::uint32_t& tag) {
    rubato::detail::directions ready = 0;
    return take(tag, ready);
  }
  bool take(std::uint32_t& tag, rubato::detail::directions& ready) {
    std::lock_guard const guard(mutex_);
    bool const there = event_.get();
    event_.set(false);
    tag = tag_.get();
    ready = bit(direction::reading);
    if (ended_.get()) ready = static_cast<rubato::detail::directions>(ready | rubato::detail::unusual);
    return there;
  }
};

/// What a reader does after a read that got less than it asked for; the last two are wrong.
enum class short_reads : unsigned char { noted, noted_late, compared_late };

struct shared {
  static constexpr int all_at_once = 4; // more than is ever there
  kernel system;
  slot place;
  policy::atomic<int> done{0};

  template<bool LooksLate>
  int read_all(int all, int at_once = 2) {
    int got = 0;
    for (;;) {
      std::uint64_t before = place.events_before(direction::reading);
      int const n = system.read(at_once);
      if (LooksLate) before = place.events_before(direction::reading);
      got += n;
      if (got == all) return got;
      if (n != 0) continue;
      frame<wait> w;
      listing const l = place.await_edge(direction::reading, *w, {.generation = 0, .events = before},
                                         [&](std::uint32_t generation) { return system.add(generation); });
      if (l == listing::ready) continue;
      EXPLORE_ASSERT(l == listing::waits);
      w->await();
    }
  }
  /// Reads to the end of the stream, and does not try when the read before has emptied it.
  template<short_reads How>
  int read_to_end() {
    int got = 0;
    for (;;) {
      rubato::detail::slot_seen seen{.generation = 0, .events = place.events_before(direction::reading)};
      if (!place.is_known_empty(seen)) {
        int const n = system.read_or_end(all_at_once);
        if (n < 0) return got;
        got += n;
        if (How == short_reads::noted_late) seen.events = place.events_before(direction::reading);
        if (n != 0 && n < all_at_once) {
          place.note_empty(seen);
          continue;
        }
        if (n != 0) continue;
      } else if (How == short_reads::compared_late) {
        seen.events = place.events_before(direction::reading);
      }
      frame<wait> w;
      listing const l = place.await_edge(direction::reading, *w, seen,
                                         [&](std::uint32_t generation) { return system.add(generation); });
      if (l == listing::ready) continue;
      if (l == listing::busy) { // another reader waits
        policy::pause();
        continue;
      }
      EXPLORE_ASSERT(l == listing::waits);
      w->await();
    }
  }
  void register_it() {
    frame<wait> before;
    EXPLORE_ASSERT(place.await_edge(direction::reading, *before, {},
                                    [&](std::uint32_t g) { return system.add(g); }) == listing::waits);
    EXPLORE_ASSERT(place.remove(direction::reading, *before));
  }
  void finish() {
    done.store(1, std::memory_order_relaxed);
    system.wakes.fetch_add(1, release);
  }
  /// By the reactor's thread.
  template<bool TellsOfTheEnd = true>
  void harvest() {
    for (int seen = 0;;) {
      int now = seen;
      while ((now = system.wakes.load(acquire)) == seen) policy::pause();
      seen = now;
      if (done.load(std::memory_order_relaxed) != 0) return;
      std::uint32_t tag = 0;
      rubato::detail::directions ready = 0;
      if (!system.take(tag, ready)) continue;
      if (!TellsOfTheEnd) ready = bit(direction::reading);
      end_all(place.deliver(tag, ready, [](slot::registration&) { return true; }));
    }
  }
};

/// Bytes come while the reader tries, registers and waits.
template<bool LooksLate>
void reading(execution& e) {
  auto const s = std::make_shared<shared>();
  e.thread([s] {
    s->system.put();
    s->system.put();
  });
  e.thread([s] {
    EXPLORE_ASSERT(s->read_all<LooksLate>(2) == 2);
    s->finish();
  });
  e.thread([s] { s->harvest(); });
}

/// A byte comes while the reader tries, and the descriptor is registered already.
template<bool LooksLate>
void trying_again(execution& e) {
  auto const s = std::make_shared<shared>();
  {
    frame<wait> before;
    EXPLORE_ASSERT(s->place.await_edge(direction::reading, *before, {},
                                       [&](std::uint32_t g) { return s->system.add(g); }) == listing::waits);
    EXPLORE_ASSERT(s->place.remove(direction::reading, *before));
  }
  e.thread([s] { s->system.put(); });
  e.thread([s] {
    EXPLORE_ASSERT(s->read_all<LooksLate>(1) == 1);
    s->finish();
  });
  e.thread([s] { s->harvest(); });
}

/// Two bytes come, and a second task tries for one of them beside the reader: the reader gets the other.
void sharing(execution& e) {
  auto const s = std::make_shared<shared>();
  {
    frame<wait> before;
    EXPLORE_ASSERT(s->place.await_edge(direction::reading, *before, {},
                                       [&](std::uint32_t g) { return s->system.add(g); }) == listing::waits);
    EXPLORE_ASSERT(s->place.remove(direction::reading, *before));
  }
  e.thread([s] {
    s->system.put();
    s->system.put();
  });
  e.thread([s] {
    EXPLORE_ASSERT(s->read_all<false>(1, 1) == 1);
    s->finish();
  });
  e.thread([s] {
    static_cast<void>(s->place.events_before(direction::reading));
    static_cast<void>(s->system.read(1));
  });
  e.thread([s] { s->harvest(); });
}

/// A byte, then the end of the stream, in one event with that many bytes: each read is short.
template<short_reads How, int WithTheEnd = 1, bool TellsOfTheEnd = true>
void reading_short(execution& e) {
  auto const s = std::make_shared<shared>();
  s->register_it();
  e.thread([s] {
    s->system.put();
    s->system.put_last(WithTheEnd);
  });
  e.thread([s] {
    EXPLORE_ASSERT(s->read_to_end<How>() == 1 + WithTheEnd);
    s->finish();
  });
  e.thread([s] { s->harvest<TellsOfTheEnd>(); });
}

/// A second task makes one short read beside the reader.
void sharing_short(execution& e) {
  struct object : shared {
    policy::plain<int> of_reader{0}, of_other{0};
  };
  auto const s = std::make_shared<object>();
  s->register_it();
  e.thread([s] {
    s->system.put();
    s->system.put_last(1);
  });
  e.thread([s] {
    s->of_reader.set(s->read_to_end<short_reads::noted>());
    s->finish();
  });
  e.thread([s] {
    std::uint64_t const before = s->place.events_before(direction::reading);
    int const n = s->system.read_or_end(shared::all_at_once);
    if (n <= 0) return;
    s->place.note_empty({.generation = 0, .events = before});
    s->of_other.set(n);
  });
  e.thread([s] { s->harvest(); });
  e.finally([s] { EXPLORE_ASSERT(s->of_reader.get() + s->of_other.get() == 2); });
}

/// An event, a deadline and the end of the descriptor meet: one of them ends the wait, once.
void ending(execution& e) {
  struct object : shared {
    wait w;
    policy::atomic<int> timed_out{0};
  };
  auto const s = std::make_shared<object>();
  EXPLORE_ASSERT(s->place.await_edge(direction::reading, s->w, {},
                                     [&](std::uint32_t g) { return s->system.add(g); }) == listing::waits);
  s->system.put();
  e.thread([s] {
    std::uint32_t tag = 0;
    if (s->system.take(tag))
      end_all(s->place.deliver(tag, bit(direction::reading), [](slot::registration&) { return true; }));
  });
  e.thread([s] {
    if (s->place.remove(direction::reading, s->w)) s->w.end();
  });
  e.thread([s] { end_all(s->place.close([&] { s->system.forget(); })); });
  e.finally([s] { EXPLORE_ASSERT(s->w.ended.load(acquire) == 1); });
}

/// The number is closed and used again while an event of the former descriptor is under way.
template<bool ChecksGeneration>
void reusing(execution& e) {
  struct object : shared {
    wait first, second;
  };
  auto const s = std::make_shared<object>();
  EXPLORE_ASSERT(s->place.await_edge(direction::reading, s->first, {},
                                     [&](std::uint32_t g) { return s->system.add(g); }) == listing::waits);
  s->system.put();
  e.thread([s] {
    std::uint32_t tag = 0;
    if (!s->system.take(tag)) return;
    end_all(s->place.deliver(ChecksGeneration ? tag : s->place.generation(), bit(direction::reading),
                             [](slot::registration&) { return true; }));
  });
  e.thread([s] {
    end_all(s->place.close([&] { s->system.forget(); }));
    std::uint32_t const fresh = s->place.generation();
    std::uint64_t const before = s->place.events_before(direction::reading);
    listing const l =
        s->place.await_edge(direction::reading, s->second, {.generation = fresh, .events = before},
                            [&](std::uint32_t) { return true; }); // it stays quiet
    EXPLORE_ASSERT(l == listing::waits);
  });
  e.finally([s] {
    EXPLORE_ASSERT(s->first.ended.load(acquire) == 1);
    EXPLORE_ASSERT(s->second.ended.load(acquire) == 0);
  });
}

/// Two directions of one descriptor of others: the one that has no event is armed again.
template<bool ArmsAgain>
void levels(execution& e) {
  struct object : shared {
    wait reads, writes;
    policy::plain<unsigned> armed{0};
  };
  auto const s = std::make_shared<object>();
  auto const arm = [s](slot::registration& r) {
    s->armed.set(r.awaited);
    r.registered = true;
    return true;
  };
  for (direction const d : {direction::reading, direction::writing})
    e.thread([s, arm, d] {
      wait& w = d == direction::reading ? s->reads : s->writes;
      std::uint32_t generation = 0;
      EXPLORE_ASSERT(s->place.await_level(d, w, generation, arm) == listing::waits);
    });
  e.finally([s, arm] {
    EXPLORE_ASSERT(s->armed.get() == 3);
    s->armed.set(0); // one event disarms all
    end_all(s->place.deliver(0, bit(direction::writing),
                             [&](slot::registration& r) { return !ArmsAgain || arm(r); }));
    EXPLORE_ASSERT(s->writes.ended.load(acquire) == 1 && s->reads.ended.load(acquire) == 0);
    EXPLORE_ASSERT(s->armed.get() == 1);
  });
}

/// Operations end while the descriptor is closed, and its owner goes: it is closed once and its record freed
/// once, with none inside. The owner's last operation is one that begins while it is closed, or close().
void closing(execution& e) {
  struct object {
    rubato::detail::basic_close_gate<policy> gate;
    policy::plain<int> open{1};
    policy::plain<int> records{1};
    object() { // two operations have begun
      EXPLORE_ASSERT(gate.enter());
      EXPLORE_ASSERT(gate.enter());
    }
    void touch() { EXPLORE_ASSERT(open.get() == 1 && records.get() == 1); }
    void leave() {
      gate_duty const duty = gate.leave();
      if (duty == gate_duty::close_and_free) records.set(records.get() - 1);
      if (duty != gate_duty::none) open.set(open.get() - 1);
    }
    void close() {
      if (!gate.enter()) return;
      touch();
      static_cast<void>(gate.close());
      leave();
    }
    void drop() {
      close();
      EXPLORE_ASSERT(records.get() == 1);
      if (gate.drop()) records.set(records.get() - 1);
    }
  };
  auto const s = std::make_shared<object>();
  e.thread([s] {
    s->touch();
    s->leave();
  });
  e.thread([s] {
    s->touch();
    s->close();
    s->leave();
  });
  e.thread([s] {
    if (s->gate.enter()) {
      s->touch();
      s->leave();
    }
    s->drop();
  });
  e.finally([s] { EXPLORE_ASSERT(s->open.get() == 0 && s->records.get() == 0); });
}

tests const all{reading<false>,
                trying_again<false>,
                sharing,
                reading_short<short_reads::noted>,
                reading_short<short_reads::noted, 0>,
                sharing_short,
                ending,
                reusing<true>,
                levels<true>,
                closing};

TEST(slot_protocol, ends_each_wait_once) {
  expect_all_pass({.max_executions = 100'000, .random = 5'000}, all);
}
TEST(slot_protocol, would_lose_an_event_counted_before_a_late_look) {
  EXPECT_FALSE(run({.preemptions = 1, .stale = 0, .spurious = 0}, trying_again<true>).ok);
  EXPECT_TRUE(run({.preemptions = 1, .stale = 0, .spurious = 0}, trying_again<false>).exhausted);
}
/// One preemption shows each of these faults.
options const few{.preemptions = 1, .stale = 0, .spurious = 0};

TEST(slot_protocol, keeps_every_byte_and_the_end_after_short_reads) {
  EXPECT_TRUE(run(few, reading_short<short_reads::noted>).exhausted);
  EXPECT_TRUE(run(few, reading_short<short_reads::noted, 0>).exhausted);
}
TEST(slot_protocol, would_lose_bytes_if_a_short_read_were_kept) {
  EXPECT_FALSE(run(few, reading_short<short_reads::noted_late>).ok);
}
TEST(slot_protocol, would_lose_bytes_between_the_look_and_the_wait) {
  EXPECT_FALSE(run(few, reading_short<short_reads::compared_late>).ok);
}
TEST(slot_protocol, would_lose_the_end_beside_the_last_bytes) {
  EXPECT_FALSE(run(few, reading_short<short_reads::noted, 1, false>).ok);
}
TEST(slot_protocol, would_deliver_stale_events_without_generations) {
  EXPECT_FALSE(run({.max_executions = 100'000}, reusing<false>).ok);
}
TEST(slot_protocol, would_forget_a_direction_that_is_not_rearmed) {
  EXPECT_FALSE(run({.max_executions = 1'000}, levels<false>).ok);
}
TEST(close_gate_protocol, needs_every_order) {
  tests const gate{closing};
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "close_gate.hpp"}, gate);
}

} // namespace
