#include "sched/watch/stall_watch.hpp"

#include "os/die.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/ready.hpp"

#include <cstddef>
#include <cstdio>
#include <functional>
#include <new>
#include <optional>
#include <string>

namespace rubato::detail {

namespace {

constexpr unsigned stalled_looks_enough = 3; // in a row, at least 10 ms apart but for the first
constexpr std::int64_t jam_us = 1'000'000;   // longer than for a stall: a jam may end by itself

} // namespace

stall_watch::stall_watch(pool_core& core) noexcept
    : core_(core)
    , notes_(core.notes) {}

/// A thread that was woken and has not run yet still counts as waiting.
bool stall_watch::any_woken() const noexcept {
  return core_.threads.records.find(
             0, [](pool_thread& t) { return t.waits_in.get() != nullptr && !t.parker.sleeps(); }) != nullptr;
}

/// Tasks are ready, no thread is left to run them, and every thread waits for the pool's own work. No timer
/// and no descriptor will end a wait: all that are counted as armed have fired, and their coroutines are
/// queued. A thread outside might still end a wait, so this is no stall yet.
bool stall_watch::is_jammed() const noexcept {
  return core_.size() != 0 && core_.waits.all_wait() && core_.waits.none_for_strangers() &&
         core_.quiescence.how_many_armed() <= core_.queues.ready_events() &&
         core_.threads.no_thread_to_call();
}

/// Called while tasks are queued. Asks a thread to report a jam that has lasted for a second, in which no
/// thread has passed a task boundary or ended a wait.
void stall_watch::look_for_jam(os::ticks now) noexcept {
  std::uint64_t const epoch = core_.waits.epoch() + core_.threads.records.boundaries_of_all_but(nullptr);
  if (!is_jammed()) {
    notes_.jammed_since = 0;
  } else if (notes_.jammed_since == 0 || notes_.jam_epoch != epoch) {
    notes_.jam_told = notes_.jam_told && notes_.jam_epoch == epoch;
    notes_.jammed_since = now;
    notes_.jam_epoch = epoch;
  } else if (!notes_.jam_told && notes_.stall_epoch != core_.waits.epoch() &&
             now - notes_.jammed_since > jam_us * ticks_per_us() && !any_woken()) {
    notes_.jam_told = true;
    ask_for_report();
  }
}

/// User code runs in a thread that waits, not on the monitor.
void stall_watch::ask_for_report() noexcept {
  pool_thread* const t =
      core_.threads.records.find(0, [](pool_thread& w) { return w.waits_in.get() != nullptr; });
  if (t == nullptr) return;
  core_.waits.ask_for_report();
  t->parker.unpark();
}

/// Asks a thread to report, if only the pool can end the waits of all active threads, and nothing is ready or
/// no thread can be made for what is. True: look again.
bool stall_watch::look_for_stall() noexcept {
  std::uint64_t const epoch = core_.waits.epoch();
  if (!core_.waits.is_stuck() || any_woken() || any_latent(core_) ||
      (core_.queues.any_queued() && core_.threads.made() < core_.size() + core_.options().spares_) ||
      notes_.stall_epoch == epoch) {
    notes_.stalled_looks = 0;
    return false;
  }
  if (++notes_.stalled_looks < stalled_looks_enough) return true;
  notes_.stalled_looks = 0;
  notes_.stall_epoch = epoch; // once
  ask_for_report();
  return false;
}

namespace {

void print(stall_report const& report) {
  constexpr std::size_t most_lines = 20;
  std::string text =
      "rubato: pool '" + report.pool + "' has stalled: every thread waits for work of the pool, ";
  if (report.spares_used_up)
    text += std::to_string(report.ready) +
            " task(s) are ready, and no other thread can be made for them: all spares are used up "
            "(raise pool_options::spares, or wait by co_await, which holds no thread), or the system has no "
            "thread left; ";
  else
    text += "and ";
  text += std::to_string(report.suspended) + " coroutine(s) are suspended\n";
  for (std::size_t i = 0; i != report.waiters.size() && i != most_lines; ++i) {
    auto const& w = report.waiters[i];
    text += "  thread " + std::to_string(w.thread) + " waits in " + w.waits_in;
    if (w.waits_for) text += " for thread " + std::to_string(*w.waits_for);
    if (!w.node.empty()) text += ", in the node '" + w.node + "' of a graph";
    text += '\n';
  }
  if (report.waiters.size() > most_lines)
    text += "  and " + std::to_string(report.waiters.size() - most_lines) + " other threads\n";
  static_cast<void>(std::fputs(text.c_str(), stderr));
}

void call_handler(std::function<void(stall_report const&)> const& handler, stall_report const& report) {
  try {
    handler(report);
  } catch (...) {
    os::die("on_stall threw, and no caller is left to tell");
  }
}

} // namespace

stall_report stall_watch::describe() const {
  stall_report report;
  report.pool = core_.options().name_;
  report.ready = core_.queues.size();
  report.suspended = core_.owned.count();
  report.spares_used_up = report.ready != 0 && core_.threads.no_thread_to_call();
  core_.threads.records.for_each([&](pool_thread& t) {
    char const* const why = t.waits_in.get();
    if (why == nullptr) return;
    std::optional<unsigned> runner;
    if (thread_context const* const m = t.waits_for.get()) runner = m->index;
    report.waiters.push_back({t.index, why, runner, t.waits_in_node.get()});
  });
  return report;
}

void stall_watch::report() const noexcept {
  try {
    stall_report const found = describe();
    if (!core_.options().on_stall_)
      print(found);
    else
      call_handler(core_.options().on_stall_, found);
  } catch (std::bad_alloc const&) {
    static_cast<void>(std::fputs("rubato: a pool has stalled, and there is no memory to say more\n", stderr));
  }
}

} // namespace rubato::detail
