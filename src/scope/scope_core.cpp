// Scopes: how children are kept, found, run and waited for. docs/design/scopes.md
#include "rubato/detail/scope/scope_core.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/run/claim.hpp"
#include "sched/run/polite_spin.hpp"
#include "sched/wait/park.hpp"
#include "work/hazard_guard.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

stop_scope* stop_in_force(thread_context& m, pool_core& core) noexcept {
  return m.core == &core ? scope_of_token(m.chain.token()) : nullptr;
}

} // namespace

scope_core::scope_core(pool_core& core, thread_context& opener, lifetime l)
    : child_source(opener.core == &core ? thread_of(opener) : core.external_scopes)
    , around_(l == lifetime::enclosed ? stop_in_force(opener, core) : nullptr)
    , core_(&core) {}

scope_core::scope_core(pool_core& core, coroutine_task& opener) noexcept
    : child_source(core.external_scopes)
    , around_(&opener.scope())
    , core_(&core)
    , opener_(&opener) {}

scope_core::~scope_core() {
  leave_list();
  lock_guard const guard(
      mutex_); // the last child has released it, and so has a searcher that has just delisted this
}

/// A requested stop is no failure. Nor is a drain: it ends sleeps, and reaches the scope itself later or, if
/// a closure has opened it, never.
bool scope_core::expects_cancelled() const noexcept {
  return stop_.level() != stop_level::none || (core_->life.is_ending() && !stop_.is_shielded());
}

/// Under the lock. False: the scope is stopped.
bool scope_core::add_locked(scope_child& c) noexcept {
  if (stopped_.get()) {
    note_cut();
    return false;
  }
  count_child();
  add_last(c);
  if (waiters_ != nullptr) waiters_->thread->parker.unpark(); // it may run the child itself
  return true;
}

void scope_core::spawn(scope_child* c) noexcept {
  // From the unlock on the child may run, and then this scope, and its pool, may end.
  pool_core& core = *core_;
  pool_thread& home = *home_;
  thread_context& me = *current;
  outside_guard here(core);
  c->source = this;
  enum { added, refused, to_be_listed } result = to_be_listed;
  if (listed_.get()) { // mostly it still is under the lock
    lock_guard const guard(mutex_);
    if (listed_.get()) result = add_locked(*c) ? added : refused;
  }
  if (result == to_be_listed) {
    lock_guard const list(home.scopes_mutex);
    lock_guard const guard(mutex_);
    result = add_locked(*c) ? added : refused;
    if (result == added && !listed_.get()) enlist();
  }
  if (result == refused) {
    here.reset(); // it destroys objects of the user
    c->exec(*c, nullptr);
  } else if (&me != &home) {
    core.notify(); // an event: the home thread may sleep
  } else if (me.chain.must_poll()) {
    poll_requests(me);
  }
}

void scope_core::run(scope_child& c, pool_thread& runner) noexcept {
  token_frame frame{&stop_};
  runner.chain.enter(frame);
  std::exception_ptr error;
  bool cut = core_->life.is_discarding() || stop_.stop_requested();
  try {
    c.exec(c, cut ? nullptr : &runner);
  } catch (cancelled const&) {
    cut = expects_cancelled();
    if (!cut) error = std::current_exception();
  } catch (...) {
    error = std::current_exception();
  }
  runner.chain.leave();
  if (error != nullptr) fail(std::move(error));
  if (cut) {
    lock_guard const guard(mutex_);
    note_cut();
  }
  end_one();
}

/// A running child has ended. Afterwards the scope may be gone.
void scope_core::end_one() noexcept {
  coroutine_task* const opener = opener_;
  bool last = false;
  {
    lock_guard const guard(mutex_);
    if (--running_ == 0) last = unpark_waiters();
  }
  if (last) opener->destroy();
}

void scope_core::note_cut() noexcept {
  if (!stopped_from_here_) cut_ = true;
}

void scope_core::count_child() noexcept {
  if (opener_ != nullptr && !std::exchange(counted_, true)) opener_->children_begun(1);
}

/// Under the lock, so that the scope is still there; threads and coroutine tasks outlive it.
bool scope_core::unpark_waiters() noexcept {
  for (waiter* w = waiters_; w != nullptr; w = w->next) w->thread->parker.unpark();
  if (first_ != nullptr) return false;
  for (scope_joiner* j = std::exchange(joiners_, nullptr); j != nullptr;) {
    scope_joiner* const next = j->next_;
    j->end_wait();
    j = next;
  }
  return std::exchange(counted_, false) && opener_->child_ended();
}

bool scope_core::admit(scope_member& m) noexcept {
  lock_guard const guard(mutex_);
  bool const stopped = stopped_.get();
  if (stopped)
    note_cut();
  else
    add_member(m);
  return !stopped;
}

void scope_core::admit_though_stopped(scope_member& m) noexcept {
  lock_guard const guard(mutex_);
  add_member(m);
}

void scope_core::add_member(scope_member& m) noexcept {
  count_child();
  ++running_;
  members_.push_front(m);
  static_cast<void>(m.job->waiters.add(m)); // it has not begun, so it has not ended
}

/// Runs no code of the user: consumers of the result wait for this.
void scope_core::member_has_result(scope_member& m) noexcept {
  std::exception_ptr e = m.job->error();
  if (e == nullptr) return;
  bool const was_cancelled = is_cancelled(e);
  // Its future was cancelled or dropped, and the scope is not stopped: that is the child's own affair.
  if (was_cancelled && m.job->asked.is_raised() && !stop_.stop_requested()) return;
  // A discard has dropped it, or the end of a closed pool. What a drain has destroyed is broken instead.
  bool const was_dropped = m.dropped && !m.job->broken_off;
  bool const cut = was_dropped || (was_cancelled && expects_cancelled());
  lock_guard const guard(mutex_);
  if (cut) {
    note_cut();
  } else {
    m.failed = true;
    if (error_ == nullptr) error_ = std::move(e);
  }
}

void scope_core::member_ended(scope_member& m) noexcept {
  if (m.failed) request_stop();
  {
    lock_guard const guard(mutex_);
    members_.erase(m);
  }
  end_one();
}

/// Runs a child that is a job and is ready.
bool scope_core::run_member(pool_thread& t) noexcept {
  state_ref ready;
  {
    lock_guard const guard(mutex_);
    for (scope_member* m = members_.front(); m != nullptr && !ready; m = members_.after(*m))
      if (may_run_in_place(*core_, t, *m->job)) {
        m->job->hold();
        ready = state_ref(m->job);
      }
  }
  return ready && run_in_place(*core_, t, *ready.get());
}

bool scope_joiner::insert() noexcept {
  lock_guard const guard(scope_.mutex_);
  if (scope_.running_ == 0 && scope_.first_ == nullptr) return false;
  next_ = scope_.joiners_;
  scope_.joiners_ = this;
  return true;
}

void scope_joiner::await_resume() {
  retire();
  { // the thread that ended the wait has released the lock before the scope ends
    lock_guard const guard(scope_.mutex_);
  }
  if (throws) scope_.rethrow();
}

void scope_core::fail(std::exception_ptr e) noexcept {
  {
    lock_guard const guard(mutex_);
    if (error_ == nullptr) error_ = std::move(e);
  }
  request_stop();
}

void scope_core::body_failed(std::exception_ptr const& e) noexcept {
  if (is_cancelled(e) && expects_cancelled()) // of a requested stop, or of the one that fail() requested
    request_stop();
  else
    fail(e);
}

void scope_core::request_stop() noexcept {
  // The first stop decides: a discard, or a stop of the code around, may have come before this one.
  bool const first = !stop_.stop_requested() && !core_->life.is_discarding();
  if (first) {
    lock_guard const guard(mutex_);
    if (!stopped_.get()) stopped_from_here_ = true;
  }
  stop_from_outside(); // the rest is the same
}

void scope_core::stop_from_outside() noexcept {
  stopped_.set(true); // read again under the lock
  leave_list();
  if (opener_ == nullptr) {
    stop_.request_stop(); // the waiter drops children that have not begun
    return;
  }
  { // counted as a running child, so that no waiter is told before the end
    lock_guard const guard(mutex_);
    count_child();
    ++running_;
  }
  stop_.request_stop();
  drop_children();
  end_one();
}

std::stop_token scope_core::token() const { return stop_.token(core_->life.stop_token()); }

bool scope_core::was_cut() const noexcept {
  lock_guard const guard(mutex_);
  return cut_;
}

std::exception_ptr scope_core::take_error() noexcept {
  lock_guard const guard(mutex_);
  return std::exchange(error_, nullptr);
}

void scope_core::rethrow() {
  std::exception_ptr first;
  bool cut = false;
  {
    lock_guard const guard(mutex_);
    first = std::exchange(error_, nullptr);
    cut = cut_;
  }
  if (first != nullptr) std::rethrow_exception(std::move(first));
  if (cut) throw cancelled();
}

void scope_core::drop_children() noexcept {
  scope_child* c = nullptr;
  {
    lock_guard const guard(mutex_);
    c = std::exchange(first_, nullptr);
    last_ = nullptr;
    if (c != nullptr) note_cut();
  }
  while (c != nullptr) {
    scope_child* const next = c->next;
    c->exec(*c, nullptr);
    c = next;
  }
}

bool scope_core::idle() const noexcept {
  lock_guard const guard(mutex_);
  return running_ == 0 && first_ == nullptr;
}

bool scope_core::must_poll() const noexcept {
  lock_guard const guard(mutex_);
  return running_ == 0 || first_ != nullptr;
}

bool scope_core::has_members() const noexcept {
  lock_guard const guard(mutex_);
  return !members_.empty();
}

void scope_core::wait(thread_context& m) noexcept {
  pool_thread& t = thread_of(m);
  os::ticks spin_until = 0;
  polite_spin awake(os::now());
  for (;;) {
    if (is_discarded()) stop_from_outside();
    if (stopped_.get() || stop_.stop_requested()) {
      stopped_.set(true);
      drop_children();
    }
    if (run_child(t) || (core_->size() != 0 && run_member(t))) {
      spin_until = 0;
      continue;
    }
    if (idle()) break;
    os::ticks const now = os::now();
    if (spin_until == 0) spin_until = now + core_->search_ticks();
    if (now < spin_until) {
      awake.yield_if_due(now);
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
      continue;
    }
    sleep(t);
    spin_until = 0;
  }
  // A scope that is alone in the list stays there: one that is waited for again and again enters it once.
  // relaxed: a hint.
  if (home_->open_scopes.peek() > 1) leave_list();
}

/// The pool discards, and the scope has not been stopped for that yet.
bool scope_core::is_discarded() const noexcept {
  return core_->life.is_discarding() && stop_.requested_here() != stop_level::stopped;
}

/// Runs a child that has not begun. False: there is none.
bool scope_core::run_child(pool_thread& t) noexcept {
  scope_child* const c = take_child();
  if (c == nullptr) return false;
  t.bump(counted::executed);
  run(*c, t);
  return true;
}

/// Until there is something to do.
void scope_core::sleep(pool_thread& t) noexcept {
  waiter self{&t, nullptr};
  {
    lock_guard const guard(mutex_);
    self.next = waiters_;
    waiters_ = &self;
  }
  using ended_by = waits::ended_by; // a coroutine may be resumed from outside
  counted_wait const counted(core_->waits, has_members() ? ended_by::outsiders : ended_by::the_pool);
  park_until(t, "scope", nullptr, [&] { return must_poll() || is_discarded(); });
  lock_guard const guard(mutex_);
  waiter** link = &waiters_;
  while (*link != &self) link = &(*link)->next;
  *link = self.next;
}

namespace {

void wait(scope_core& s) {
  on_pool(&s.core().handle(), [&](thread_context& me) { s.wait(me); });
}

} // namespace

pool_core& core_for_children(pool* wanted, coroutine_task& opener) {
  if (wanted != nullptr)
    if (pool_core& core = *core_of(*wanted); !core.life.is_closed()) return core;
  return *opener.home();
}

void wait_until_ended(scope_core& s) noexcept {
  for (;;) {
    try {
      wait(s);
      return;
    } catch (std::exception const&) { // too many guests at this moment, or no memory for another
      if (s.idle()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void wait_in_scope(scope_core& s) {
  if (s.is_async())
    throw std::logic_error(
        "rubato: wait() would block a worker in a scope of with_async_scope(); co_await join()");
  wait(s);
  s.rethrow();
}

} // namespace rubato::detail
