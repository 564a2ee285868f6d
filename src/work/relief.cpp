// What the watch sees in a pool: latent work beside sleepers, tasks that wait too long, waits that nobody can
// end. docs/design/watch.md
#include "os/die.hpp"
#include "os/thread.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <cstdio>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

constexpr std::int64_t patience_us = 10'000;  // promise R
constexpr int mostly_blocked = 10;            // uses the CPU for less than that part of the time
constexpr std::int64_t test_again_us = 1'000; // whether the thread is still blocked
constexpr unsigned stalled_looks_enough = 3;  // in a row, at least 10 ms apart but for the first

} // namespace

/// Every active thread waits for something that only the pool can bring.
bool pool_core::all_wait() const noexcept {
  // seq_cst, both: see nudge_watch().
  std::size_t const active = people.active();
  return active != 0 && waiting_.load(std::memory_order_seq_cst) >= active;
}

/// The same, and nobody outside can help. Becomes true by what tell_if_stuck() follows: a wait begins, or an
/// active thread goes idle or away.
bool pool_core::is_stuck() const noexcept {
  return size() != 0 && all_wait() &&
         outside_waits_.load(std::memory_order_relaxed) == 0; // relaxed: changed before waiting_
}

void pool_core::tell_if_stuck() noexcept {
  if (is_stuck()) nudge_watch(watch_rest::dozing);
}

void pool_core::tell_of_latent() noexcept {
  // Pairs with the watch's fence: it has announced its sleep before it looks for what is latent, and this
  // thread has pushed before it looks whether the watch sleeps. One sees the other.
  std_policy::fence();
  // A thread that leaves the last seat that is taken tells the watch itself.
  if (!people.has_vacant() || watch_state_now.load(std::memory_order_seq_cst) < watch_rest::dozing) return;
  // A worker, not the watch: a wake costs the same, and the worker takes what is latent. It tells the watch
  // if it finds something while other workers sleep, or when it rests. seq_cst: pairs with the last searcher,
  // because if call_worker() sees one and wakes none, that one reads this after it has stopped searching.
  watch_owed_.store(true, std::memory_order_seq_cst);
  call_worker();
}

void pool_core::remind_all() noexcept {
  for_each_thread([](pool_thread& t) { t.chain.remind(); });
}

/// Counts the waits that have ended; never 0.
std::uint64_t pool_core::this_epoch() const noexcept { return returns_.load(std::memory_order_relaxed) + 1; }

/// Is there anything to look for: latent work beside sleepers; or, `later`, tasks that are queued and threads
/// that all wait? Sequentially consistent: see nudge_watch().
bool pool_core::wants_attention(bool later) const noexcept {
  if (people.active() == 0) return false;
  if (later && (any_shared() || any_slot().where != nullptr || (is_stuck() && stall_epoch_ != this_epoch())))
    return true;
  return people.has_vacant() && any_latent();
}

pool_core::attention pool_core::look(os::ticks now) noexcept {
  attention result;
  if (people.active() == 0) {
    latent_seen_ = false;
    return result;
  }
  // Busy and asleep: latent work that is there at two looks in a row is not short.
  if (people.has_vacant()) {
    result.latent = any_latent();
    if (result.latent && latent_seen_) call_worker();
    latent_seen_ = result.latent;
  }
  if (any_shared() || any_slot().where != nullptr) {
    result.queued = true;
    if (size() != 0) look_at_backlog(now);
  } else {
    queues_noted_ = 0;
  }
  if (stalled()) result.queued = true; // look again
  return result;
}

/// Tasks are queued. Once one has been ready for 10 ms: what keeps the threads from it?
void pool_core::look_at_backlog(os::ticks now) noexcept {
  if (queues_noted_ != 0 && now - queues_noted_ < patience_us * ticks_per_us()) return;
  bool const late = note_queues(now);
  for_each_thread([](pool_thread& t) { t.seen.substituted = false; });
  bool all_compute = true; // or are blocked, with a substitute that computes
  bool extra = false;
  for_each_thread([&](pool_thread& t) {
    if (!t.relief.load(std::memory_order_acquire)) return; // acquire: pairs with send_relief() by the watch
    doing const what = judge(t, now);
    if (what == doing::blocked) return; // it is of no use: another may be sent
    if (t.relieves == nullptr) {
      extra = true;
      return;
    }
    t.relieves->seen.substituted = true;
    if (what != doing::computes) all_compute = false;
  });
  for (unsigned i = 0, n = seats_known(); i != n; ++i) {
    seat& s = *seat_at(i);
    // acquire: pairs with the roster's assignment; a record lives as long as the pool.
    auto* const t = static_cast<pool_thread*>(s.occupant.load(std::memory_order_acquire));
    if (i >= size()) { // closed, and perhaps not left yet
      if (late) open_queues_of(s);
      continue;
    }
    if (t == nullptr) {
      all_compute = false;
      continue;
    }
    doing const what = judge(*t, now);
    if (what == doing::something) all_compute = false;
    if (!late || what == doing::something) continue;
    open_queues_of(s);
    if (what == doing::blocked && !t->seen.substituted && !people.has_vacant()) {
      send_relief(t);
      all_compute = false;
    }
  }
  if (!late) return;
  if (people.has_vacant()) // no lack of seats: a worker has to be called, or there is no thread to be had
    call_worker();
  else if (all_compute && !extra)
    send_relief(nullptr);
}

/// Has a task been ready since the last note? Queues are first in, first out: if what was popped since does
/// not reach what had been pushed by then, one of those is still there.
bool pool_core::note_queues(os::ticks now) noexcept {
  std::size_t const n = seats_known();
  bool const first = queues_noted_ == 0 || pushed_then_.size() != n + 1;
  if (first) pushed_then_.assign(n + 1, 0); // capacity was reserved with the seats
  std::uint64_t pushed = 0;
  for (auto const& s : entry_pushed_) pushed += s.pushed.load(std::memory_order_relaxed);
  bool late = !first && entry_popped_.load(std::memory_order_relaxed) < pushed_then_[0];
  pushed_then_[0] = pushed;
  for (std::size_t i = 0; i != n; ++i) {
    seat& s = *seat_at(static_cast<unsigned>(i));
    if (!first && s.queue.popped() < pushed_then_[i + 1]) late = true;
    pushed_then_[i + 1] = s.queue.pushed();
    // A slot is emptied at its occupant's next boundary.
    if (!first && s.slot.load(std::memory_order_relaxed) != nullptr) late = true;
  }
  queues_noted_ = now;
  return late;
}

/// What the thread has done since the last look. By its CPU time, since a thread that the system has put
/// aside neither computes nor is blocked.
pool_core::doing pool_core::judge(pool_thread& t, os::ticks now) noexcept {
  auto& seen = t.seen;
  os::thread_id const id = t.tid.load(std::memory_order_relaxed);
  if (id == 0) return doing::something; // it is being made
  unsigned const boundaries = t.boundaries.load(std::memory_order_relaxed);
  std::chrono::nanoseconds const cpu = os::cpu_time(id), used = cpu - seen.cpu;
  std::chrono::nanoseconds const since{std::int64_t{1000} * ((now - seen.at) / ticks_per_us())};
  bool const passed = seen.tid != id || seen.boundaries != boundaries;
  if (passed) seen.cpu_then = cpu;
  seen.tid = id;
  seen.boundaries = boundaries;
  seen.cpu = cpu;
  seen.at = now;
  // Between tasks it may sleep in one of the pool's own locks, and will go on.
  if (passed || !pool_thread::is_in_task(boundaries)) return doing::something;
  if (used * mostly_blocked <= since && os::blocked_in_kernel(id)) return doing::blocked;
  return cpu - seen.cpu_then >= std::chrono::microseconds(patience_us) ? doing::computes : doing::something;
}

/// What is queued on the seat of a thread that passes no boundary goes where others look.
void pool_core::open_queues_of(seat& s) noexcept {
  in_transit const moving(*this);
  while (task* const k = s.queue.pop()) push_entry(k);
  if (s.slot.load(std::memory_order_relaxed) == nullptr) return;
  if (task* const k = s.slot.exchange(nullptr, std::memory_order_acquire)) push_entry(k);
}

/// By the watch. One more thread runs ready tasks: in place of a blocked one; or, without, as the extra one.
void pool_core::send_relief(pool_thread* blocked) noexcept {
  pool_thread* t = nullptr;
  if (roster_thread* const idle = people.take_idle()) {
    t = &thread_of(*idle);
    call_for_relief(*t, blocked);
    t->parker.unpark();
  } else {
    start_thread({}, true, blocked);
  }
}

/// Before it runs, or while it is idle and no other thread can call it.
void pool_core::call_for_relief(pool_thread& t, pool_thread* blocked) noexcept {
  t.relieves = blocked;
  t.boundaries_then =
      blocked != nullptr ? blocked->boundaries.load(std::memory_order_relaxed) : boundaries_of_all_but(t);
  t.relief.store(true, std::memory_order_release); // pairs with sleep() and work()
}

unsigned pool_core::boundaries_of_all_but(pool_thread const& t) const noexcept {
  unsigned n = 0;
  for_each_thread([&](pool_thread const& other) {
    if (&other != &t) n += other.boundaries.load(std::memory_order_relaxed);
  });
  return n;
}

/// At a boundary of a thread that was called for relief. It never goes on beside `size()` threads that make
/// progress.
bool pool_core::is_relief_wanted(pool_thread const& t, os::ticks& tested) const noexcept {
  if (t.relieves == nullptr) return boundaries_of_all_but(t) == t.boundaries_then;
  pool_thread const& blocked = *t.relieves;
  if (blocked.boundaries.load(std::memory_order_relaxed) != t.boundaries_then || blocked.sits_on() == nullptr)
    return false;
  os::ticks const now = os::now();
  if (tested != 0 && now - tested < test_again_us * ticks_per_us()) return true;
  tested = now;
  return os::blocked_in_kernel(blocked.tid.load(std::memory_order_relaxed));
}

/// Runs ready tasks, without a seat.
void pool_core::relieve(pool_thread& t) noexcept {
  t.resting = false; // the watch has counted it as active
  t.counts.bump(counted::began);
  for (os::ticks tested = 0; is_relief_wanted(t, tested);) {
    task* const k = any_task();
    if (k == nullptr) break;
    t.counts.bump(counted::relieved);
    t.pass_boundary();
    run(t, *k);
    t.pass_boundary();
  }
  t.relief.store(false, std::memory_order_relaxed);
}

/// Every active thread waits for something that only the pool can bring, and nothing is ready.
bool pool_core::stalled() noexcept {
  std::uint64_t const epoch = this_epoch();
  bool hopeless = is_stuck();
  // Woken but not run for a while, a thread still counts as waiting.
  for_each_thread([&](pool_thread& t) {
    if (t.waits_in.load(std::memory_order_relaxed) != nullptr && !t.parker.sleeps()) hopeless = false;
  });
  if (!hopeless || any_latent() || (any_queued() && made_ < size() + options_.spares_) ||
      stall_epoch_ == epoch) {
    stalled_looks_ = 0;
    return false;
  }
  if (++stalled_looks_ < stalled_looks_enough) return true;
  stalled_looks_ = 0;
  stall_epoch_ = epoch; // once
  bool told = false;
  for_each_thread([&](pool_thread& t) {
    if (told || t.waits_in.load(std::memory_order_relaxed) == nullptr) return;
    told = true;
    report_stall_.store(true, std::memory_order_release);
    t.parker.unpark(); // user code runs there, not on the watch
  });
  return false;
}

/// By one of the threads that wait.
void pool_core::report_stall() noexcept {
  try {
    tell_of_stall();
  } catch (std::bad_alloc const&) {
    static_cast<void>(std::fputs("rubato: a pool has stalled, and there is no memory to say more\n", stderr));
  }
}

void pool_core::tell_of_stall() {
  stall_report report;
  report.pool = options_.name_;
  report.ready = queued();
  report.suspended = residing.count();
  for_each_thread([&](pool_thread& t) {
    char const* const why = t.waits_in.load(std::memory_order_relaxed);
    if (why == nullptr) return;
    std::optional<unsigned> whom;
    if (member const* m = t.waits_for.load(std::memory_order_relaxed)) whom = m->index;
    report.waiters.push_back({t.index, why, whom});
  });
  if (options_.on_stall_) {
    try {
      options_.on_stall_(report);
    } catch (...) {
      os::die("on_stall threw, and no caller is left to tell");
    }
    return;
  }
  std::string text = "rubato: pool '" + report.pool +
                     "' has stalled: every thread waits for work of the pool, and " +
                     std::to_string(report.suspended) + " coroutine(s) are suspended\n";
  for (auto const& w : report.waiters) {
    text += "  thread " + std::to_string(w.thread) + " waits in " + w.waits_in;
    if (w.waits_for) text += " for thread " + std::to_string(*w.waits_for);
    text += '\n';
  }
  static_cast<void>(std::fputs(text.c_str(), stderr));
}

} // namespace rubato::detail
