// What the watch sees in a pool: latent work beside sleepers, tasks that wait too long, waits that nobody can
// end. docs/design/watch.md
#include "os/die.hpp"
#include "os/thread.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

constexpr std::int64_t patience_us = 10'000; // promise R
constexpr unsigned stalled_looks_enough = 3; // in a row, at least 10 ms apart but for the first

} // namespace

/// Every active thread waits for something that only the pool can bring, but for so many.
bool pool_core::all_wait(unsigned awake) const noexcept {
  // seq_cst, both: see nudge_watch().
  std::size_t const active = people.active();
  return active != 0 && waiting_.load(std::memory_order_seq_cst) + awake >= active;
}

/// The same, and nobody outside can help. Becomes true by what tell_if_stuck() follows: a wait begins, or an
/// active thread goes idle or away.
bool pool_core::is_stuck() const noexcept {
  return size() != 0 && all_wait() &&
         outside_waits_.load(std::memory_order_relaxed) == 0; // relaxed: changed before waiting_
}

void pool_core::tell_if_stuck() noexcept {
  if (is_stuck() || ends_but_waits()) nudge_watch(watch_rest::dozing);
}

void pool_core::tell_watch() noexcept {
  // Pairs with the watch's fence: it has announced its sleep before it looks for what is latent, and this
  // thread has pushed before it looks whether the watch sleeps. One sees the other.
  std_policy::fence();
  // Who leaves the last seat that is taken tells the watch itself.
  if (people.has_vacant()) nudge_watch(watch_rest::dozing);
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
  if (later && (any_shared() || (is_stuck() && stall_epoch_ != this_epoch()) || wants_letting_go()))
    return true;
  return people.has_vacant() && any_latent();
}

pool_core::attention pool_core::look(os::ticks now) noexcept {
  attention result;
  if (people.active() == 0) {
    latent_seen_ = false;
    return result;
  }
  result.queued = held_up(); // first: what comes below may wake those who wait, in vain
  // Busy and asleep: latent work that is there at two looks in a row is not short.
  if (people.has_vacant()) {
    result.latent = any_latent();
    if (result.latent && latent_seen_) call_worker();
    latent_seen_ = result.latent;
  }
  if (any_shared()) {
    result.queued = true;
    if (size() != 0 && starving(now)) find_relief();
  } else {
    relief_on_.store(false, std::memory_order_relaxed);
    queues_noted_ = 0;
  }
  if (stalled()) result.queued = true; // look again
  return result;
}

/// Has a task been ready for 10 ms? Queues are first in, first out: if what was popped since the note does
/// not reach what had been pushed by then, one of those is still there.
bool pool_core::starving(os::ticks now) noexcept {
  if (queues_noted_ != 0 && now - queues_noted_ < patience_us * ticks_per_us())
    return relief_on_.load(std::memory_order_relaxed);
  bool waiting = false;
  std::size_t const n = seats_known();
  bool const first = queues_noted_ == 0 || pushed_then_.size() != n + 1;
  if (first) pushed_then_.assign(n + 1, 0); // capacity was reserved with the seats
  std::uint64_t pushed = 0;
  for (auto const& s : entry_pushed_) pushed += s.pushed.load(std::memory_order_relaxed);
  waiting = !first && entry_popped_.load(std::memory_order_relaxed) < pushed_then_[0];
  pushed_then_[0] = pushed;
  for (std::size_t i = 0; i != n; ++i) {
    run_queue const& q = seat_at(static_cast<unsigned>(i))->queue;
    if (!first && q.popped() < pushed_then_[i + 1]) waiting = true;
    pushed_then_[i + 1] = q.pushed();
  }
  queues_noted_ = now;
  if (!waiting) relief_on_.store(false, std::memory_order_relaxed);
  return waiting;
}

/// One more thread runs ready tasks, unless one does already that is not blocked in the kernel itself.
void pool_core::find_relief() noexcept {
  if (people.has_vacant()) { // no lack of seats: somebody has to be called, or there is no thread to be had
    call_worker();
    return;
  }
  relief_on_.store(true, std::memory_order_relaxed);
  bool one_works = false;
  for_each_thread([&](pool_thread& t) {
    if (!t.relief.load(std::memory_order_relaxed)) return;
    os::thread_id const id = t.tid.load(std::memory_order_relaxed);
    if (id == 0) { // just made
      one_works = true;
      return;
    }
    auto const cpu = os::cpu_time(id);
    if (cpu != t.cpu_seen || !os::blocked_in_kernel(id)) one_works = true;
    t.cpu_seen = cpu;
  });
  if (one_works) return;
  pool_thread* idle = nullptr;
  if (roster_thread* r = people.take_idle()) idle = &thread_of(*r);
  if (idle != nullptr) {
    idle->cpu_seen = std::chrono::nanoseconds{-1};
    idle->relief.store(true, std::memory_order_release);
    idle->parker.unpark();
  } else {
    start_thread({}, true);
  }
}

/// Runs ready tasks, without a seat, until none has waited too long.
void pool_core::relieve(pool_thread& t) noexcept {
  t.resting = false; // whoever called it has counted it as active
  t.counts.bump(counted::began);
  while (relief_on_.load(std::memory_order_relaxed)) {
    task* const k = any_task();
    if (k == nullptr) break;
    t.counts.bump(counted::relieved);
    run(t, *k);
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

/// Of threads, by one of them; or of coroutines that wait for each other in a circle.
void pool_core::report_stall(std::vector<stall_report::waiter> circle) noexcept {
  bool const is_circle = !circle.empty();
  stall_report report;
  report.pool = options_.name_;
  report.ready = queued();
  report.waiters = std::move(circle);
  for_each_thread([&](pool_thread& t) {
    char const* const why = t.waits_in.load(std::memory_order_relaxed);
    if (why == nullptr || is_circle) return;
    std::optional<unsigned> whom;
    if (member const* m = t.waits_for.load(std::memory_order_relaxed)) whom = m->index;
    report.waiters.push_back({t.index, why, whom});
  });
  if (options_.on_stall_) {
    try {
      options_.on_stall_(report);
    } catch (...) {
      os::die("on_stall threw, and nobody is left to tell");
    }
    return;
  }
  std::string text = "rubato: pool '" + report.pool + "' has stalled: " +
                     (is_circle ? "these wait for each other\n" : "every thread waits for another\n");
  for (auto const& w : report.waiters) {
    text += "  thread " + std::to_string(w.thread) + " waits in " + w.waits_in;
    if (w.waits_for) text += " for thread " + std::to_string(*w.waits_for);
    text += '\n';
  }
  static_cast<void>(std::fputs(text.c_str(), stderr));
}

} // namespace rubato::detail
