// How a worker without work finds some: queues first, then what is latent in busy threads.
// docs/design/take.md
#include "rubato/detail/scope_core.hpp"
#include "rubato/detail/token_in_force.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t answer_us = 2; // how long a request may stay unanswered before the thief takes
constexpr std::int64_t worth_taking_us = 2;
constexpr std::int64_t hot_us = 4; // so long a slot is its occupant's, which is busy with something else

} // namespace

loot pool_core::obtain(pool_thread& t, pool_thread& victim, wish const& w) noexcept {
  loot result;
  if (&t == &victim || !victim.chain.has_latent()) return result;
  // A thread that is parked answers nothing.
  if (victim.waits_in.load(std::memory_order_relaxed) == nullptr) {
    if (!victim.chain.ask(t.box, &t, t.chain.mark(), w)) {
      t.counts.bump(counted::contended);
      return result;
    }
    os::ticks const deadline = os::now() + answer_us * ticks_per_us();
    bool answered = false;
    while (!(answered = latent_chain::collect(t.box, result)) && os::now() < deadline) std_policy::pause();
    if (!answered && !victim.chain.withdraw(t.box)) {
      // Being answered at this moment; the owner may have been preempted in the middle of it.
      while (!latent_chain::collect(t.box, result)) std::this_thread::yield();
      answered = true;
    }
    if (answered) {
      if (result) t.bump(counted::handed);
      return result;
    }
  }
  // acquire/release: whoever has the gate takes alone.
  if (take_gate.exchange(true, std::memory_order_acquire)) {
    t.counts.bump(counted::contended);
    return result;
  }
  result = victim.chain.take(&victim, &t, t.chain.mark(), w);
  take_gate.store(false, std::memory_order_release);
  if (result) t.bump(counted::taken);
  return result;
}

void pool_core::run(pool_thread& t, loot const& l) noexcept {
  if (l.job != nullptr) {
    token_in_force const token(t.chain, l.job->departure.value.token);
    l.job->exec.get()(*l.job, t);
  } else {
    token_in_force const token(t.chain, l.piece.token);
    l.piece.exec(l.piece, t);
  }
}

bool pool_core::any_child() const noexcept {
  bool found = scope_core::any_child(lobby);
  for (unsigned i = 0, n = known(); i != n && !found; ++i)
    if (pool_thread const* v = thread(i)) found = scope_core::any_child(*v);
  return found;
}

bool pool_core::any_latent(pool_thread const* but) const noexcept {
  bool found = any_child() || any_slot().where != nullptr;
  // In a pool without workers nobody else can be called for what a driver that sleeps has below its wait.
  bool const all = size() != 0;
  for (unsigned i = 0, n = known(); i != n && !found; ++i)
    if (pool_thread const* v = thread(i); v != nullptr && v != but)
      found = v->chain.has_latent() && (all || !v->parker.sleeps());
  return found;
}

bool pool_core::any_ready(seat const& s) const noexcept {
  return any_shared() || any_child() || !s.inbox.empty();
}

scope_child* pool_core::take_child(pool_thread& t) noexcept {
  scope_child* c = scope_core::take_child_of(lobby);
  for (unsigned k = 0, n = known(); k != n && c == nullptr; ++k)
    if (pool_thread* const v = thread((t.next_victim + k) % n)) c = scope_core::take_child_of(*v);
  return c;
}

bool pool_core::any_chain(pool_thread const& but) const noexcept {
  for (unsigned i = 0, n = known(); i != n; ++i)
    if (pool_thread const* v = thread(i); v != nullptr && v != &but && v->chain.has_latent()) return true;
  return false;
}

loot pool_core::find_latent(pool_thread& t) noexcept {
  unsigned const n = known(), first = t.next_victim;
  for (unsigned k = 0; k != n; ++k) {
    unsigned const i = (first + k) % n;
    pool_thread* const victim = thread(i);
    if (victim == nullptr) continue;
    if (loot const l = obtain(t, *victim, {})) {
      t.next_victim = i; // where there was work, there is likely more
      return l;
    }
  }
  return {};
}

pool_core::finding pool_core::find_ready(pool_thread& t, seat& s) noexcept {
  if (task* k = next_task(t, s)) return {.queued = k};
  unsigned const n = seats_known();
  for (unsigned i = 1; i < n; ++i) {
    seat& other = *seat_at((s.index + i) % n);
    if (other.queue.empty()) continue;
    if (task* k = other.queue.steal_into(s.queue)) {
      t.bump(counted::stolen);
      if (!s.queue.empty()) notify(); // as in pull()
      return {.queued = k};
    }
  }
  return {.child = take_child(t)};
}

void pool_core::run(pool_thread& t, finding const& f) noexcept {
  if (f.queued != nullptr) {
    run(t, *f.queued);
  } else if (f.child != nullptr) {
    t.bump(counted::executed);
    t.bump(counted::stolen);
    scope_core::run_taken(*f.child, t);
  } else {
    run(t, f.latent);
  }
}

bool pool_core::run_one(pool_thread& t) noexcept {
  finding f;
  constexpr unsigned child_every = 61; // guarantee F: as for a worker
  if (++t.looks % child_every == 0) f.child = take_child(t);
  if (!f) f.queued = any_task();
  if (!f) f.child = take_child(t);
  if (!f) f.latent = find_latent(t);
  if (f) run(t, f);
  return static_cast<bool>(f);
}

bool pool_core::begin_search() noexcept {
  bool const begun = people.begin_search(std::max(1U, size() / 2));
  if (begun) on_quiet();
  return begun;
}

pool_core::slot_seen pool_core::any_slot(unsigned from) const noexcept {
  for (unsigned i = 0, n = seats_known(); i != n; ++i)
    if (seat* const s = seat_at((from + i) % n);
        s->slot.load(std::memory_order_seq_cst) != nullptr) // seq_cst: see enqueue_next()
      return {s, s->counts[counted::executed]};
  return {};
}

bool pool_core::search(pool_thread& t, bool& searching) noexcept {
  os::ticks const deadline = os::now() + search_ticks_;
  os::ticks const patience = std::min(hot_us * ticks_per_us(), search_ticks_);
  unsigned first_slot = 0;
  slot_seen hot;
  os::ticks hot_since = 0;
  bool last = false; // who searched
  auto const end_search = [&] {
    if (!std::exchange(searching, false)) return;
    last = people.end_search();
    t.counts.bump(counted::began);
  };
  do {
    if (searching && people.has_homeless()) {
      end_search(); // pushers rely on a searcher: it does not leave without another look
      if (any_shared()) notify();
      boundary(t);
      return false;
    }
    seat& s = *t.sits_on();
    finding f;
    // Before anything leaves a queue or a chain: a pool is idle when all are empty and nobody runs. The owner
    // of a latent job need not go on running: it may be suspended, or on its way to another pool.
    if (any_ready(s)) {
      end_search();
      f = find_ready(t, s);
    }
    if (!f && os::now() >= t.steal_after && any_chain(t)) {
      end_search();
      f.latent = find_latent(t);
    }
    if (f) {
      // Before the work, which may be long: the next sleeper is to look for more.
      if (last && any_shared())
        notify();
      else if (last && people.has_vacant() && (people.active() > 1 ? any_latent() : any_child()))
        call_worker(); // alone, it finds nothing in the chains and slots of others, which are cold by now
      // seq_cst: see tell_of_latent().
      if (watch_owed_.load(std::memory_order_seq_cst) &&
          watch_owed_.exchange(false, std::memory_order_seq_cst) && people.has_vacant())
        nudge_watch(watch_rest::dozing);
      os::ticks const begin = os::now();
      t.pass_boundary();
      run(t, f);
      t.pass_boundary();
      if (f.latent) t.learn(os::now() - begin, worth_taking_us * ticks_per_us());
      return true;
    }
    if (!searching) searching = begin_search();
    if (s.closed.load(std::memory_order_relaxed)) return false;
    if (!searching) return false; // enough others look around; they will be told
    for (unsigned i = 0; i != 16 && entry.empty(); ++i) std_policy::pause();
    // Once a seat was seen to run what is in its slot, others are looked at.
    if (slot_seen const now = any_slot(first_slot); now != hot) {
      if (now.where != nullptr && now.where == hot.where) first_slot = now.where->index + 1U;
      hot = now;
      hot_since = os::now();
    }
  } while (os::now() < deadline && (hot.where == nullptr || os::now() - hot_since < patience));
  // What was to stay hot on its seat has not been run all the time.
  if (hot.where == nullptr || os::now() - hot_since < patience) return false;
  end_search();
  task* const k = hot.where->slot.exchange(nullptr, std::memory_order_acquire);
  if (last && (k == nullptr || any_shared())) notify();
  if (k == nullptr) return false;
  t.bump(counted::stolen);
  t.pass_boundary();
  run(t, *k);
  t.pass_boundary();
  return true;
}

} // namespace rubato::detail
