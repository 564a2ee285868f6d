#include "sched/run/search.hpp"

#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/child_source.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/ready.hpp"
#include "sched/run/next_task.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/run/polite_spin.hpp"
#include "timer/event_source.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t answer_us = 2; // how long a request may stay unanswered before the thief takes
constexpr std::int64_t worth_taking_us = 2;
constexpr std::int64_t event_us = 4; // a look for events is a system call, of a quarter of a microsecond
constexpr std::int64_t hot_us = 4;   // for so long a slot is left to its occupant, which runs something else

void note_got(steal_result const& got, transfer how, pool_thread const& victim) noexcept {
  note<event_kind::got>(static_cast<void const*>(got.job), victim.index, // null: of a piece
                        pack_transfer(how));
}

} // namespace

steal_result obtain(pool_core& core, pool_thread& t, pool_thread& victim, steal_filter const& w) noexcept {
  steal_result result;
  if (&t == &victim || !victim.chain.has_latent()) return result;
  // A parked thread serves no request.
  if (victim.waits_in.get() == nullptr) {
    if (!victim.chain.ask(t.box, &t, t.chain.mark(), w)) {
      t.counts.bump(counted::contended);
      return result;
    }
    os::ticks const deadline = os::now() + answer_us * ticks_per_us();
    bool answered = false;
    while (!(answered = latent_chain::collect(t.box, result)) && os::now() < deadline) std_policy::pause();
    if (!answered && !victim.chain.withdraw(t.box)) {
      // The owner serves the request at this moment; it may have been preempted in the middle.
      wait_briefly<std_policy>([&] { return latent_chain::collect(t.box, result); });
      answered = true;
    }
    if (answered) {
      if (result) {
        t.bump(counted::handed, result.jobs);
        note_got(result, transfer::handed, victim);
      }
      return result;
    }
  }
  std::unique_lock const taking(core.take_gate, std::try_to_lock);
  if (!taking) {
    t.counts.bump(counted::contended);
    return result;
  }
  result = victim.chain.take(&victim, &t, t.chain.mark(), w);
  if (result) {
    t.bump(counted::taken, result.jobs);
    note_got(result, transfer::taken, victim);
  }
  return result;
}

namespace {

[[gnu::always_inline]] inline void execute(pool_thread& t, steal_result const& l) noexcept {
  if (l.job != nullptr) {
    l.job->exec.get()(*l.job, t); // sets a token of its own: run_stolen(), group_member::run_elsewhere()
  } else {
    token_in_force const token(t.chain, l.piece.token);
    l.piece.exec(l.piece, t);
  }
}
[[gnu::noinline, gnu::cold]] void execute_traced(pool_thread& t, steal_result const& l) noexcept {
  noted_activity const runs(activity::latent, l.job,
                            l.job != nullptr ? trace_word(l.job->exec.get()) : trace_word(l.piece.exec));
  execute(t, l);
}

[[gnu::noinline, gnu::cold]] void run_child_traced(pool_thread& t, scope_child& c) noexcept {
  noted_activity const runs(activity::child, &c, trace_word(c.exec));
  c.source->run(c, t);
}

} // namespace

void run_latent(pool_thread& t, steal_result const& l) noexcept {
  if (is_traced<event_kind::begin>()) [[unlikely]]
    execute_traced(t, l);
  else
    execute(t, l);
}

scope_child* take_child(pool_core& core, pool_thread& t) noexcept {
  scope_child* c = child_source::take_child_of(core.external_scopes);
  if (c != nullptr) return c;
  core.threads.records.find(t.next_victim,
                            [&c](pool_thread& v) { return (c = child_source::take_child_of(v)) != nullptr; });
  return c;
}

steal_result find_latent(pool_core& core, pool_thread& t, steal_filter const& w) noexcept {
  steal_result l;
  pool_thread const* const from = core.threads.records.find(t.next_victim, [&](pool_thread& victim) {
    l = obtain(core, t, victim, w);
    return static_cast<bool>(l);
  });
  if (from != nullptr) t.next_victim = from->index; // more is likely there; take_child() begins there too
  return l;
}

void run_found(pool_core& core, pool_thread& t, found_work const& f) noexcept {
  if (f.queued != nullptr) {
    run_task(core, t, *f.queued);
  } else if (f.child != nullptr) {
    t.bump(counted::executed);
    t.bump(counted::stolen);
    if (is_traced<event_kind::begin>()) [[unlikely]]
      run_child_traced(t, *f.child);
    else
      f.child->source->run(*f.child, t);
  } else {
    run_latent(t, f.latent);
  }
}

bool run_one(pool_core& core, pool_thread& t) noexcept {
  if (!t.calls.empty() && run_own_calls(core, t)) return true;
  found_work f;
  if (core.queues.any_but_normal()) f.queued = take_before_normal(core, t);
  if (!f && ++t.schedule_tick % fair_every == 0) f.child = take_child(core, t);
  if (!f) f.queued = core.queues.any_normal();
  if (!f) f.child = take_child(core, t);
  if (!f) f.queued = take(core, t, priority::high);
  if (!f) f.latent = find_latent(core, t);
  if (!f) f.queued = take(core, t, priority::low);
  if (f) run_found(core, t, f);
  return static_cast<bool>(f);
}

bool begin_search(pool_core& core) noexcept {
  bool const begun = core.idle_threads.begin_search(std::max(1U, core.size() / 2));
  if (begun) core.quiescence.notify_if_quiet();
  return begun;
}

namespace {

bool any_ready(pool_core const& core, seat const& s) noexcept { return has_ready(core) || !s.inbox.empty(); }

found_work find_ready(pool_core& core, pool_thread& t, seat& s) noexcept {
  if (task* k = next_task(core, t, s)) return {.queued = k};
  unsigned const n = core.queues.seats();
  for (unsigned i = 1; i < n; ++i) { // neighbours do not begin at the same seat
    seat& other = core.queues.seat_at((s.index + i) % n);
    if (other.queue.empty()) continue;
    task_queues::batch const b = task_queues::steal_batch(other, s);
    std::size_t const more = is_traced<event_kind::got>() ? s.queue.size() : 0; // before others take of it
    if (task* k = begin_batch(core, b)) {
      t.bump(counted::stolen);
      note<event_kind::got>(k, other.index, pack_transfer(transfer::stolen, 1 + more));
      return {.queued = k};
    }
  }
  return {.child = take_child(core, t)};
}

/// A seat's LIFO slot as a searcher sees it. Its task is left to the occupant for a while.
class watched_slot {
  task_queues::lifo_slot_seen seen_;
  os::ticks since_ = 0;
  unsigned first_ = 0;

public:
  void look(task_queues const& queues) noexcept {
    task_queues::lifo_slot_seen const now = queues.any_lifo_slot(first_);
    if (now == seen_) return;
    // A seat that was seen to run its slot's task is passed over: the next look begins behind it.
    if (now.where != nullptr && now.where == seen_.where) first_ = now.where->index + 1U;
    seen_ = now;
    since_ = os::now();
  }
  /// The occupant has not run the slot's task for so long.
  [[nodiscard]] bool is_left_alone(os::ticks patience) const noexcept {
    return seen_.where != nullptr && os::now() - since_ >= patience;
  }
  [[nodiscard]] task* take() noexcept { return seen_.where->lifo_slot.take(); }
  [[nodiscard]] unsigned seat_index() const noexcept { return seen_.where->index; }
};

/// A worker that looks for work, perhaps counted as a searcher.
class searcher {
  pool_core& core_;
  pool_thread& t_;
  bool& counted_;
  bool was_last_ = false; // of the searchers

  /// The thread is no searcher any more. To be called before it takes work out of a queue or a chain: when
  /// these are empty and every active thread searches, the pool is quiescent. The coroutine that forked a job
  /// may be suspended, or move to another pool, and then does not keep this pool busy.
  void end() noexcept {
    if (!std::exchange(counted_, false)) return;
    was_last_ = core_.idle_threads.end_search();
    t_.bump(counted::began);
  }
  /// Before the work, which may be long, or before the thread leaves: the next sleeper is woken for the
  /// remaining work.
  void call_next() noexcept {
    if (!was_last_) return;
    if (core_.queues.any_shared())
      core_.notify();
    else if (core_.idle_threads.has_vacant() &&
             (core_.idle_threads.active() > 1 ? any_latent(core_) : any_child(core_)))
      core_.unpark_worker(); // a single active thread: the chains and slots of all others are empty
  }

public:
  searcher(pool_core& core, pool_thread& t, bool& counted) noexcept
      : core_(core)
      , t_(t)
      , counted_(counted) {}

  [[nodiscard]] found_work find(seat& s) noexcept {
    found_work f;
    if (any_ready(core_, s)) {
      end();
      f = find_ready(core_, t_, s);
    }
    if (!f && os::now() >= t_.steal_after && any_chain(core_, &t_)) {
      end();
      f.latent = find_latent(core_, t_);
    }
    if (!f &&
        core_.queues.any(priority::low)) { // a task in the LIFO slot of another seat is left to its occupant
      end();
      f.queued = take(core_, t_, priority::low);
    }
    return f;
  }
  void run(found_work const& f) noexcept {
    call_next();
    core_.waits.nudge_if_owed();
    os::ticks const begin = os::now();
    t_.pass_boundary();
    run_found(core_, t_, f);
    t_.pass_boundary();
    if (f.latent) t_.learn(os::now() - begin, worth_taking_us * ticks_per_us());
  }
  /// False: the occupant has run the task after all.
  [[nodiscard]] bool run_task_of(watched_slot& slot) noexcept {
    end();
    task* const k = slot.take();
    call_next();
    if (k == nullptr) return false;
    t_.bump(counted::stolen);
    note<event_kind::got>(k, slot.seat_index(), pack_transfer(transfer::stolen));
    t_.pass_boundary();
    run_task(core_, t_, *k);
    t_.pass_boundary();
    return true;
  }
  /// A thread that came back from a wait gets the seat.
  void step_down() noexcept {
    end(); // pushers rely on a searcher: it looks again before it leaves
    if (core_.queues.any_shared()) core_.notify();
    boundary(core_, t_);
  }
};

} // namespace

bool search_for_work(pool_core& core, pool_thread& t, bool& searching) noexcept {
  os::ticks const begin = os::now();
  os::ticks const deadline = begin + core.search_ticks();
  polite_spin awake(begin);
  os::ticks const patience = std::min(hot_us * ticks_per_us(), core.search_ticks());
  searcher me(core, t, searching);
  watched_slot slot;
  os::ticks next_look = 0;
  do {
    if (searching && core.idle_threads.has_unseated()) {
      me.step_down();
      return false;
    }
    seat& s = *t.sits_on();
    if (found_work const f = me.find(s)) {
      me.run(f);
      return true;
    }
    if (!searching) searching = begin_search(core);
    if (!searching || s.closed.load(std::memory_order_relaxed)) return false; // enough other threads search
    os::ticks const now = os::now();
    if (now >= next_look) {
      look_for_events();
      next_look = now + event_us * ticks_per_us();
      // This thread has run an event, and sleeps where the next one arrives: so it need not stay awake for
      // that. No other thread has work that it could take.
      if (t.ran_event && core.idle_threads.active() == 1 && !any_ready(core, s)) return false;
    }
    awake.yield_if_due(now);
    for (unsigned i = 0; i != 16 && core.queues.injector_empty() && core.queues.events_empty() &&
                         !core.queues.any_but_normal();
         ++i)
      std_policy::pause();
    slot.look(core.queues);
  } while (os::now() < deadline && !slot.is_left_alone(patience));
  return slot.is_left_alone(patience) && me.run_task_of(slot);
}

void steal_until(pool_thread& t, function_ref<bool()> done, function_ref<steal_result()> steal,
                 function_ref<void()> sleep) noexcept {
  os::ticks const patience = t.core->search_ticks();
  os::ticks now = os::now(), spin_until = now + patience;
  polite_spin awake(now);
  while (!done()) {
    if (steal_result const l = steal()) {
      run_latent(t, l);
      spin_until = os::now() + patience;
    } else if (now = os::now(); now < spin_until) {
      awake.yield_if_due(now);
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
    } else {
      sleep();
    }
  }
}

} // namespace rubato::detail
