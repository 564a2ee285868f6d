#include "rubato/detail/hedge/call_copies.hpp"

#include "hedge/places.hpp"
#include "os/cpus/affinity.hpp"
#include "os/thread.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/hedge_policy.hpp"
#include "rubato/thread_pool.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"
#include "work/hazard_guard.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

using clock = std::chrono::steady_clock;

constexpr unsigned most_runners = 1024;
constexpr std::chrono::nanoseconds at_once{0};

/// How many copies there are.
std::uint32_t count_of(pool_core& core, unsigned runners, bool alone, bool pins,
                       std::vector<int> const& cpus) {
  if (runners == 0 || runners > most_runners)
    throw std::invalid_argument("rubato: race_options::runners(" + std::to_string(runners) +
                                "): from 1 to 1,024 copies may run");
  if (!pins) return alone ? 1 : runners;
  auto const& usable = core.threads.places(os::placement_policy::cores);
  for (int const c : cpus)
    if (std::ranges::find(usable, c, &os::cpu::id) == usable.end())
      throw std::invalid_argument("rubato: race_options::cpus(): CPU " + std::to_string(c) +
                                  " does not exist, or the pool's threads may not use it");
  if (alone) return 1;
  std::size_t const places = std::max<std::size_t>(1, cpus.empty() ? usable.size() : cpus.size());
  return static_cast<std::uint32_t>(std::min<std::size_t>(runners, places));
}

std::chrono::nanoseconds delay_of(std::chrono::nanoseconds after, hedge_policy const* policy) {
  if (policy != nullptr)
    if (auto const t = policy->threshold()) return std::max(*t, std::chrono::nanoseconds(1));
  return std::max(after, at_once);
}

/// The calling thread as a worker of the pool that has made it, perhaps now a guest of others; null: it is
/// none.
pool_thread* as_worker() noexcept {
  for (thread_context* at = current; at->core != nullptr; at = thread_of(*at).outer)
    // relaxed: it is the calling thread's own.
    if (pool_thread& t = thread_of(*at); t.worker.load(std::memory_order_relaxed)) return &t;
  return nullptr;
}

/// Pins the calling thread, and gives it its affinity back. A worker may have left its seat for a wait: then
/// it gets the affinity of the seat on which it sits at the end.
class pinned_for_a_while {
  enum class undo : unsigned char { nothing, unpin, pin_back } undo_ = undo::nothing;
  bool done_ = false;
  int before_ = -1;
  pool_thread* const worker_;
  seat* const sat_on_;

public:
  explicit pinned_for_a_while(int cpu) noexcept
      : worker_(cpu >= 0 ? as_worker() : nullptr)
      , sat_on_(worker_ != nullptr ? worker_->sits_on() : nullptr) {
    if (cpu < 0) return;
    if (worker_ != nullptr) {
      before_ = worker_->pinned_to;
      done_ = pin_to(*worker_, cpu);
      return;
    }
    bool const was_pinned = !os::mask_before_pin().empty(); // by a call around this one
    before_ = os::current_cpu();
    done_ = was_pinned && before_ == cpu;
    if (done_ || !os::pin(cpu)) return;
    done_ = true;
    undo_ = was_pinned ? undo::pin_back : undo::unpin;
  }
  pinned_for_a_while(pinned_for_a_while const&) = delete;
  ~pinned_for_a_while() {
    if (worker_ != nullptr) {
      if (seat* const s = worker_->sits_on(); s != nullptr && s != sat_on_)
        pin(*worker_, *s);
      else
        static_cast<void>(pin_to(*worker_, before_));
    }
    if (undo_ == undo::unpin) static_cast<void>(os::unpin());
    if (undo_ == undo::pin_back) static_cast<void>(os::pin(before_));
  }
  [[nodiscard]] bool done() const noexcept { return done_; }
};

} // namespace

// A copy, as a task

call_copy::call_copy() noexcept
    : task(&call_copies::run_copy) {}

call_copy::~call_copy() {
  // relaxed: the last reference to the call is gone.
  if (std::uintptr_t const a = coroutine.load(std::memory_order_relaxed); a > stopped)
    reinterpret_cast<future_state*>(a)->release();
}

void call_copies::run_copy(task& base, thread_context* runner) noexcept {
  auto& c = static_cast<call_copy&>(base);
  state_ref mine(c.call); // the sender's
  // The copy was queued, and its turn has come: a thread without a seat runs it, and this one keeps its seat.
  if (c.queued && runner != nullptr && thread_of(*runner).sits_on() != nullptr &&
      !c.call->protocol_.is_decided() && c.call->home()->send_aside(c, c.cpu)) {
    static_cast<void>(mine.take()); // that thread's
    return;
  }
  if (runner != nullptr)
    c.call->run(c, *runner);
  else
    c.call->drop_copy(c);
}

// The clocks

void call_clock::begin(clock::time_point t) noexcept {
  lock_guard const guard(changes_);
  if (state_ == state::over) return;
  state_ = state::armed;
  call_.hold();
  call_.home()->quiescence.armed();
  due = t;
  arm(*this);
}

void call_clock::stop() noexcept {
  {
    lock_guard const guard(changes_);
    if (std::exchange(state_, state::over) != state::armed) return;
    if (!disarm(*this)) return; // it fires now, or has fired
  }
  call_.home()->quiescence.disarmed();
  call_.release(); // not the last one: the calling thread has another
}

void call_clock::fire() noexcept {
  call_copies& call = call_; // the clock is a part of it
  pool_core& core = *call.home();
  bool is_last = false;
  {
    hazard_guard const here(core); // alive as long as it counts this timer
    core.quiescence.fired();
    rings_(call);
    // begin()'s reference. The release of the last one destroys the user's function, and the firer must not
    // run user code. So the bell releases it, in a thread of the pool, if one ever comes. It stops nothing.
    if (!call.release_unless_last()) is_last = !call.send_bell();
    core.quiescence.disarmed();
  }
  if (is_last) call.release();
}

call_copies::bell::bell(call_copies& c) noexcept
    : task(&call_copies::run_bell)
    , call(&c) {}

/// By the firer. A stop runs users' callbacks, so another thread requests it.
void call_copies::ring(call_copies& c) noexcept {
  c.hold(); // for the bell
  // Without a thread for it each copy looks at the deadline when it ends, and the caller while it waits.
  if (!c.send_bell()) c.release();
}

/// False: no thread comes for it.
bool call_copies::send_bell() noexcept {
  if (home()->send_aside(bell_)) return true;
  if (!is_async(kind_) && !has_workers()) return false;
  home()->enqueue_event(&bell_);
  return true;
}

void call_copies::run_bell(task& base, thread_context* /*runner: null, if the pool discards it*/) noexcept {
  call_copies& call = *static_cast<bell&>(base).call;
  state_ref const mine(&call); // ring()'s, or from fire() begin()'s
  call.stop_call();
}

// The call

call_copies::call_copies(pool_core& core, call_kind k, race_options const& o, bool pins)
    : state_of<void>(2U) // the caller's and the producer's reference
    , delay_(delay_of(o.after_, o.policy_))
    , policy_(o.policy_)
    , deadline_(o.deadline_)
    , times_(o.report_ != nullptr || o.policy_ != nullptr)
    , asked_(o.runners_)
    , serial_(serial_of(core))
    , kind_(k)
    // Without a threshold a policy has seen too few calls, and hedges none.
    , count_(count_of(core, o.runners_, policy_ != nullptr && delay_ == at_once, pins && o.pin_, o.cpus_))
    , protocol_(delay_ == at_once ? count_ : 1)
    , copies_(std::make_unique<call_copy[]>(count_))
    , delays_(*this, &call_copies::send_next)
    , limit_(*this, &call_copies::ring) {
  set_home(&core);
  for (std::uint32_t i = 0; i != count_; ++i) {
    copies_[i].call = this;
    copies_[i].number = i;
    // relaxed: no other thread has it.
    if (i == 0 || delay_ == at_once) copies_[i].phase.store(copy_phase::waiting, std::memory_order_relaxed);
  }
  if (pins && o.pin_) place(core, o);
  if (o.report_ != nullptr) o.report_->copies.resize(count_); // now: fill_report() must not fail
}

call_copies::~call_copies() = default;

void call_copies::place(pool_core& core, race_options const& o) {
  std::vector<int> chosen = o.cpus_;
  if (chosen.empty()) {
    chosen.resize(count_);
    auto const order = o.cross_ ? os::placement_policy::numa : os::placement_policy::cores;
    choose_places(core.threads.places(order),
                  {.cpu = os::current_cpu(), .runs_copy = kind_ == call_kind::race}, o.cross_, chosen);
  }
  for (std::uint32_t i = 0; i != count_; ++i) copies_[i].cpu = chosen[i];
}

/// False: perhaps no thread ever looks at the pool's queue. An async call need not ask: its waiter drives.
bool call_copies::has_workers() const noexcept { return home()->size() != 0 && !home()->life.is_closed(); }

/// False: no thread can be had.
bool call_copies::send(call_copy& c) noexcept {
  if (makes_coroutines()) {
    state_ref coroutine = make_coroutine(c);
    if (!coroutine) return true; // it has ended
    future_state& s = *coroutine.get();
    // acq_rel: pairs with stop_losers(), because the decider may cancel what it finds.
    std::uintptr_t const before =
        c.coroutine.exchange(reinterpret_cast<std::uintptr_t>(&s), std::memory_order_acq_rel);
    if (before == call_copy::stopped) // it has not begun: no callback runs here, where a timer may fire
      s.cancel();
    static_cast<void>(coroutine.take());
    bool const is_delayed = c.number != 0 && delay_ != at_once;
    spawn_state(*home(), s, is_delayed ? priority::low : priority::normal);
    return true;
  }
  hold(); // for the thread
  if (home()->send_aside(c, c.cpu)) return true;
  release(); // not the last one: the calling thread has another
  return false;
}

void call_copies::send_or_queue(call_copy& c) noexcept {
  if (send(c)) return;
  if (!is_async(kind_) && !has_workers()) {
    drop_copy(c);
    return;
  }
  c.queued = true;
  hold(); // for the queue
  home()->enqueue(&c);
}

bool call_copies::start() noexcept {
  // In a closed pool no thread comes to a queued copy. While this lives the pool does not close.
  std::optional<arrival> in;
  if (is_async(kind_)) {
    in.emplace(*home(), arrival::at_once(), arriving::begun);
    if (in->is_refused()) {
      stop_call();
      return true;
    }
  }
  if (deadline_ != clock::time_point::max()) {
    if (clock::now() >= deadline_)
      stop_call();
    else
      limit_.begin(deadline_);
  }
  bool first_has_thread = true;
  std::uint32_t const now = delay_ == at_once ? count_ : 1;
  for (std::uint32_t i = kind_ == call_kind::race ? 1 : 0; i < now && !protocol_.is_decided(); ++i)
    if (i == 0 && kind_ == call_kind::hedge)
      first_has_thread = send(copies_[0]);
    else
      send_or_queue(copies_[i]);
  return first_has_thread;
}

/// By the firer: the next copy is due.
void call_copies::send_next(call_copies& c) noexcept {
  if (!c.protocol_.admit()) return;
  // Inside, so that a race does not return before the policy has answered.
  if (c.policy_ != nullptr && !c.policy_->try_hedge()) {
    c.finish(c.protocol_.end(c.next_, false));
    return;
  }
  call_copy& next = c.copies_[c.next_++];
  // relaxed: if the decider does not see it, the thread that begins the copy sees the decision.
  next.phase.store(copy_phase::waiting, std::memory_order_relaxed);
  // A delayed copy is of low priority: it begins when nothing else is ready. If no worker is free, it is
  // queued in that priority, and the worker that takes it sends it on. The caller of a race holds a seat
  // itself, perhaps the only one.
  pool_core& core = *c.home();
  bool const is_free = !c.has_workers() || core.idle_threads.wanted() != idle_set::want::monitor;
  if (is_free || c.makes_coroutines() || (c.kind_ == call_kind::race && core.size() == 1)) {
    c.send_or_queue(next);
  } else {
    next.queued = true;
    c.hold(); // for the queue
    core.enqueue_as(priority::low, &next);
  }
  if (c.next_ != c.count_) c.await_delay();
}

bool call_copies::begin(call_copy& c) noexcept {
  copies::start const s = protocol_.begin(c.phase);
  if (s == copies::start::decided) drop_begun(c);
  return s == copies::start::run;
}

void call_copies::note_begin(call_copy& c) noexcept {
  if (times_) {
    c.ran_on = os::current_cpu();
    c.began = clock::now();
    c.told.store(call_copy::tells::beginning,
                 std::memory_order_release); // pairs with fill_report(), record()
  }
  if (c.number == 0 && delay_ != at_once && count_ > 1) await_delay();
}

void call_copies::await_delay() noexcept {
  if (auto const t = deadline_after(delay_); t != clock::time_point::max()) delays_.begin(t);
}

void call_copies::end(call_copy& c, bool has_value) noexcept {
  if (times_) {
    c.ended = clock::now();
    c.threw = !has_value;
    c.told.store(call_copy::tells::end, std::memory_order_release); // pairs with fill_report()
  }
  if (has_value && deadline_ != clock::time_point::max() && clock::now() >= deadline_) stop_call();
  copies::change const change = protocol_.end(c.number, has_value);
  // From here on a race's slots are its caller's. The caller of a hedge reads the winner's only.
  if (change.late && !joins(kind_)) clear(c.number);
  finish(change);
}

void call_copies::drop_copy(call_copy& c) noexcept {
  if (begin(c)) drop_begun(c);
}

void call_copies::drop_begun(call_copy& c) noexcept {
  if (policy_ != nullptr && c.number != 0) policy_->withdraw_hedge();
  finish(protocol_.end(c.number, false));
}

void call_copies::run(call_copy& c, thread_context& me) noexcept {
  if (!begin(c)) return;
  pool_thread& t = thread_of(me);
  // A thread on a seat runs a copy only if no other could be had. It stays where the seat is pinned.
  if (t.sits_on() == nullptr && t.worker.load(std::memory_order_relaxed)) {
    c.pinned = pin_to(t, c.cpu) && c.cpu >= 0;
    // Refused: it must not stay where the thread's last copy was pinned.
    if (!c.pinned) static_cast<void>(pin_to(t, -1));
  }
  run_begun(c, me);
}

void call_copies::run_first(thread_context& me) noexcept {
  call_copy& c = copies_[0];
  if (!begin(c)) return;
  pinned_for_a_while const pin(c.cpu);
  c.pinned = pin.done();
  c.on_caller = true;
  run_begun(c, me);
}

void call_copies::run_begun(call_copy& c, thread_context& me) noexcept {
  note_begin(c);
  bool has_value = false;
  {
    token_in_force const token(me.chain, &stop);
    noted_activity const runs(activity::copy, &c, type_word(*this));
    has_value = invoke(c.number, me);
  }
  end(c, has_value);
}

void call_copies::stop_call() noexcept {
  if (copies::change const c = protocol_.stop(); c.decided) finish(c);
}

/// After each change of the protocol's word. Whatever thread has decided has a reference.
void call_copies::finish(copies::change c) noexcept {
  bool const leaves_losers = !joins(kind_);
  if (c.late && leaves_losers) count_stragglers(-1);
  bool last = c.last;
  if (c.decided) {
    // The pool may end when it counts no clock of the call any more, and the decider be no thread of it.
    outside_guard here(*home());
    if (delay_ != at_once) delays_.stop();
    if (deadline_ != clock::time_point::max()) limit_.stop();
    std::uint32_t inside = c.inside;
    for (std::uint32_t i = 0; i != count_ && inside != 0; ++i) {
      copies::change const w = protocol_.withdraw(i, copies_[i].phase);
      if (!w.late) continue;
      if (policy_ != nullptr && i != 0) policy_->withdraw_hedge();
      last = last || w.last;
      --inside;
    }
    if (leaves_losers && inside != 0) count_stragglers(static_cast<int>(inside));
    here.reset(); // users' callbacks run from here on
    record();
    if (inside != 0) stop_losers();
  }
  // A race also waits for its decider, which may be at the policy. acq_rel: pairs with itself, because the
  // second of the two lets the caller destroy what the first has used.
  bool const both = last && c.decided, one = last || c.decided;
  bool const ends_race = both || (one && half_ended_.exchange(true, std::memory_order_acq_rel));
  if (leaves_losers ? c.decided : ends_race) {
    slot().emplace();
    complete();
  }
}

/// The pool may be gone: a copy that is a coroutine may have moved to another one.
void call_copies::count_stragglers(int n) noexcept {
  pool_core* const core = home();
  std::optional<hazard_guard> there;
  bool const is_here = core == current->core && serial_of(*core) == serial_;
  if (is_here || guard_if_there(core, serial_, there))
    core->stragglers.fetch_add(n, std::memory_order_relaxed); // relaxed: a count
}

void call_copies::stop_losers() noexcept {
  stop.request_stop();
  for (std::uint32_t i = 0; i != count_; ++i) {
    // acq_rel: pairs with send().
    std::uintptr_t const a = copies_[i].coroutine.exchange(call_copy::stopped, std::memory_order_acq_rel);
    if (a <= call_copy::stopped) continue;
    state_ref const coroutine(reinterpret_cast<future_state*>(a));
    coroutine->cancel();
  }
}

/// Tells the policy how long the call has taken.
void call_copies::record() noexcept {
  // acquire: pairs with note_begin().
  if (policy_ == nullptr || copies_[0].told.load(std::memory_order_acquire) == call_copy::tells::nothing)
    return;
  auto const taken = clock::now() - copies_[0].began;
  // A call that was given up or has failed is no sample, unless it shows that calls take longer.
  if (protocol_.decision() >= copies::first_winner || (delay_ != at_once && taken > delay_))
    policy_->record(taken);
}

std::uint32_t call_copies::winner() {
  std::uint32_t const d = protocol_.decision();
  if (d >= copies::first_winner) return d - copies::first_winner;
  if (d == copies::open) std::rethrow_exception(broken_promise()); // fork() has left it in the parent
  if (d == copies::failed)
    for (std::uint32_t i = 0; i != count_; ++i)
      if (std::exception_ptr e = error_of(i)) std::rethrow_exception(std::move(e));
  throw cancelled();
}

void call_copies::fill_report(race_options const& o) const {
  if (o.report_ == nullptr) return;
  race_report& r = *o.report_;
  r.asked = asked_;
  r.winner.reset();
  r.copies.assign(count_, {});
  std::uint32_t const d = protocol_.decision();
  if (d >= copies::first_winner) r.winner = d - copies::first_winner;
  for (std::uint32_t i = 0; i != count_; ++i) {
    call_copy const& c = copies_[i];
    race_report::copy& out = r.copies[i];
    auto const told = c.told.load(std::memory_order_acquire); // pairs with note_begin() and end()
    if (told == call_copy::tells::nothing) continue;
    out.what = race_report::outcome::running;
    out.cpu = c.ran_on;
    out.pinned = c.pinned;
    out.queued = c.queued;
    out.on_caller = c.on_caller;
    out.began = c.began;
    if (told != call_copy::tells::end) continue;
    out.what = c.threw ? race_report::outcome::threw : race_report::outcome::returned;
    out.ended = c.ended;
  }
}

call_stops::call_stops(call_copies& c, stop_scope* around, race_options const& o)
    : call_(c)
    , around_(around) {
  if (around_ != nullptr && !around_->add(*this)) {
    around_ = nullptr;
    c.stop_call();
  }
  if (o.stop_.stop_possible()) outside_.emplace(o.stop_, relay{&c});
}

call_stops::~call_stops() {
  if (around_ != nullptr) around_->remove(*this);
  call_.stop_call(); // if the frame is destroyed before the call has completed
}

void conduct(call_copies& c, stop_scope* around, race_options const& o) {
  call_stops const stops(c, around, o);
  bool const first_has_thread = c.start();
  if (c.kind_ == call_kind::race) {
    c.run_first(*current);
    // The deadline's task may find no thread: see ring().
    if (c.deadline_ != clock::time_point::max() && !await_until(c, c.deadline_) &&
        clock::now() >= c.deadline_)
      c.stop_call();
    await_end(c, "race");
  } else {
    if (!first_has_thread)
      on_pool(&c.home()->handle(), [&c](thread_context& me) {
        c.copies_[0].on_caller = true;
        c.run(c.copies_[0], me);
        // If the pool was shut down meanwhile, a copy may be queued that no other thread runs.
        if (!c.has_workers()) static_cast<void>(await_until(c, c.deadline_));
      });
    // If the wait ends early, the call ends with it. The deadline's task may find no thread.
    bool const is_over =
        c.deadline_ == clock::time_point::max() ? await(c, "hedge") : await_until(c, c.deadline_);
    if (!is_over) {
      c.stop_call();
      await_end(c, "hedge");
    }
  }
  c.fill_report(o);
}

} // namespace rubato::detail
