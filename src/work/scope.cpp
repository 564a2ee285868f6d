// Scopes: how children are kept, found, run and waited for. docs/design/scopes.md
#include "rubato/scope.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/continuation.hpp"
#include "rubato/detail/scope_core.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <chrono>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

stop_scope* stop_in_force(member& m, pool_core& core) noexcept {
  return m.core == &core ? static_cast<stop_scope*>(m.chain.token()) : nullptr;
}

} // namespace

std::stop_token current_token(member& me) noexcept {
  if (me.core == nullptr) return {}; // blocking() outside any pool
  auto const* const s = static_cast<stop_scope const*>(me.chain.token());
  std::stop_token const outermost = me.core->stop_token();
  return s != nullptr ? s->token(outermost) : outermost;
}

scope_core::scope_core(pool_core& core, member& opener, lifetime l)
    : around_(l == lifetime::enclosed ? stop_in_force(opener, core) : nullptr)
    , core_(&core)
    , home_(opener.core == &core ? &thread_of(opener) : &core.lobby) {}

scope_core::scope_core(pool_core& core, activity& opener) noexcept
    : around_(&opener.scope())
    , core_(&core)
    , home_(&core.lobby)
    , opener_(&opener) {}

scope_core::~scope_core() {
  leave_list();
  std::lock_guard const guard(
      mutex_); // the last child has let go of it, and a searcher that has just delisted this
}

/// Under both locks.
void scope_core::enlist() noexcept {
  previous_ = std::exchange(home_->newest_scope, this);
  next_ = nullptr;
  (previous_ != nullptr ? previous_->next_ : home_->oldest_scope) = this;
  // seq_cst: pairs with any_child() of a thread that has announced its sleep, because a spawn that is an
  // event reads the sleepers next.
  home_->open_scopes.fetch_add(1, std::memory_order_seq_cst);
  listed_.store(true, std::memory_order_relaxed); // relaxed: decided upon under a lock
}

void scope_core::delist() noexcept {
  (previous_ != nullptr ? previous_->next_ : home_->oldest_scope) = next_;
  (next_ != nullptr ? next_->previous_ : home_->newest_scope) = previous_;
  home_->open_scopes.fetch_sub(1, std::memory_order_relaxed);
  listed_.store(false, std::memory_order_relaxed);
}

void scope_core::leave_list() noexcept {
  // relaxed: if a spawn enlists it at this moment, then that is none of the caller's children.
  if (!listed_.load(std::memory_order_relaxed)) return;
  std::lock_guard const list(home_->scopes_mutex);
  std::lock_guard const guard(mutex_);
  bool const stopped = stopped_.load(std::memory_order_relaxed);
  if (listed_.load(std::memory_order_relaxed) && (first_ == nullptr || stopped)) delist();
}

/// Under the lock. False: the scope is stopped.
bool scope_core::add_locked(scope_child& c) noexcept {
  if (stopped_.load(std::memory_order_relaxed)) return false;
  count_child();
  (last_ != nullptr ? last_->next : first_) = &c;
  last_ = &c;
  if (waiters_ != nullptr) waiters_->thread->parker.unpark(); // it may run the child itself
  return true;
}

void scope_core::spawn(scope_child* c) noexcept {
  // From the unlock on the child may run, and then this scope, and its pool, may end.
  pool_core& core = *core_;
  pool_thread& home = *home_;
  member& me = *current;
  std::optional<visit> here;
  if (me.core != &core) here.emplace(core);
  c->scope = this;
  enum { added, refused, to_be_listed } result = to_be_listed;
  if (listed_.load(std::memory_order_relaxed)) { // mostly it still is under the lock
    std::lock_guard const guard(mutex_);
    if (listed_.load(std::memory_order_relaxed)) result = add_locked(*c) ? added : refused;
  }
  if (result == to_be_listed) {
    std::lock_guard const list(home.scopes_mutex);
    std::lock_guard const guard(mutex_);
    result = add_locked(*c) ? added : refused;
    if (result == added && !listed_.load(std::memory_order_relaxed)) enlist();
  }
  if (result == refused) {
    here.reset(); // what it destroys is user code
    c->exec(*c, nullptr);
  } else if (&me != &home) {
    core.notify_latent(); // an event: the home may sleep
  } else if (me.chain.must_look()) {
    answer(me);
  }
}

/// Under the lock.
scope_child* scope_core::take_locked() noexcept {
  if (first_ == nullptr || stopped_.load(std::memory_order_relaxed)) return nullptr;
  scope_child* const c = first_;
  first_ = c->next;
  if (first_ == nullptr) last_ = nullptr;
  ++running_;
  return c;
}

/// For a waiter, which does not look after the list: see wait().
scope_child* scope_core::take_child() noexcept {
  std::lock_guard const guard(mutex_);
  return take_locked();
}

bool scope_core::any_child(pool_thread const& t) noexcept {
  if (t.open_scopes.load(std::memory_order_seq_cst) == 0) return false; // seq_cst: see enlist()
  auto& home = const_cast<pool_thread&>(t); // NOLINT(cppcoreguidelines-pro-type-const-cast): only its lock
  std::lock_guard const list(home.scopes_mutex);
  // Nearly always the first has one. Those that have none leave, or every search would come across them.
  for (scope_core* s = home.oldest_scope; s != nullptr;) {
    scope_core* const next = s->next_;
    std::lock_guard const guard(s->mutex_);
    if (s->first_ != nullptr && !s->stopped_.load(std::memory_order_relaxed)) return true;
    s->delist();
    s = next;
  }
  return false;
}

scope_child* scope_core::take_child_of(pool_thread& t) noexcept {
  if (t.open_scopes.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard const list(t.scopes_mutex);
  for (scope_core* s = t.oldest_scope; s != nullptr;) {
    scope_core* const next = s->next_;
    std::lock_guard const guard(s->mutex_);
    scope_child* const c = s->take_locked();
    if (s->first_ == nullptr || c == nullptr) s->delist();
    if (c != nullptr) return c;
    s = next;
  }
  return nullptr;
}

void scope_core::run_taken(scope_child& c, pool_thread& runner) noexcept {
  scope_core& s = *c.scope;
  token_frame frame{&s.stop_};
  runner.chain.enter(frame);
  std::exception_ptr error;
  try {
    c.exec(c, s.core_->is_discarding() ? nullptr : &runner);
  } catch (cancelled const&) {
    // A stop that was asked for is no failure.
    if (!s.stop_.stop_requested()) error = std::current_exception();
  } catch (...) {
    error = std::current_exception();
  }
  runner.chain.leave();
  if (error != nullptr) s.fail(std::move(error));
  s.end_one();
}

/// One that ran does so no more. Afterwards the scope may be gone.
void scope_core::end_one() noexcept {
  activity* const opener = opener_;
  bool last = false;
  {
    std::lock_guard const guard(mutex_);
    if (--running_ == 0) last = tell_waiters();
  }
  if (last) opener->destroy();
}

void scope_core::count_child() noexcept {
  if (opener_ != nullptr && !std::exchange(counted_, true)) opener_->children_begun(1);
}

/// Under the lock, so that the scope is still there; threads and activities outlive it.
bool scope_core::tell_waiters() noexcept {
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
  std::lock_guard const guard(mutex_);
  if (stopped_.load(std::memory_order_relaxed)) return false;
  count_child();
  ++running_;
  m.next = members_;
  if (members_ != nullptr) members_->previous = &m;
  members_ = &m;
  return m.job->waiters.add(m);
}

void scope_core::member_ended(future_waiter& w, completions& /*more*/) noexcept {
  auto& m = static_cast<scope_member&>(w);
  scope_core& s = *m.scope;
  if (std::exception_ptr e = m.take_error(); e != nullptr && !(is_cancelled(e) && s.stop_.stop_requested()))
    s.fail(std::move(e));
  {
    std::lock_guard const guard(s.mutex_);
    (m.previous != nullptr ? m.previous->next : s.members_) = m.next;
    if (m.next != nullptr) m.next->previous = m.previous;
  }
  s.end_one();
}

/// Runs a child that is a job and is ready.
bool scope_core::run_member(pool_thread& t, bool stranded) noexcept {
  state_ref ready;
  {
    std::lock_guard const guard(mutex_);
    for (scope_member* m = members_; m != nullptr && !ready; m = m->next)
      if (core_->may_claim(t, *m->job, stranded)) {
        m->job->hold();
        ready = state_ref(m->job);
      }
  }
  return ready && core_->claim(t, *ready.get(), stranded);
}

bool scope_joiner::insert() noexcept {
  std::lock_guard const guard(scope_.mutex_);
  if (scope_.running_ == 0 && scope_.first_ == nullptr) return false;
  next_ = scope_.joiners_;
  scope_.joiners_ = this;
  return true;
}

void scope_joiner::await_resume() {
  static_cast<void>(retire());
  { // whoever told us has let go of the lock before the scope ends
    std::lock_guard const guard(scope_.mutex_);
  }
  if (!throws) return;
  if (std::exception_ptr e = scope_.take_error()) std::rethrow_exception(std::move(e));
}

void scope_core::fail(std::exception_ptr e) noexcept {
  {
    std::lock_guard const guard(mutex_);
    if (error_ == nullptr) error_ = std::move(e);
  }
  request_stop();
}

void scope_core::body_failed(std::exception_ptr const& e) noexcept {
  if (is_cancelled(e) && stop_.stop_requested()) // of a stop that was asked for, or came of the first failure
    request_stop();
  else
    fail(e);
}

void scope_core::request_stop() noexcept {
  stopped_.store(true, std::memory_order_relaxed); // relaxed: read again under the lock
  leave_list();
  if (opener_ == nullptr) {
    stop_.request_stop(); // the waiter drops what has not begun
    return;
  }
  { // counted as one that runs, so that nobody is told before the end
    std::lock_guard const guard(mutex_);
    count_child();
    ++running_;
  }
  stop_.request_stop();
  drop_children();
  end_one();
}

std::stop_token scope_core::token() const { return stop_.token(core_->stop_token()); }

std::exception_ptr scope_core::take_error() noexcept {
  std::lock_guard const guard(mutex_);
  return std::exchange(error_, nullptr);
}

void scope_core::drop_children() noexcept {
  scope_child* c = nullptr;
  {
    std::lock_guard const guard(mutex_);
    c = std::exchange(first_, nullptr);
    last_ = nullptr;
  }
  while (c != nullptr) {
    scope_child* const next = c->next;
    c->exec(*c, nullptr);
    c = next;
  }
}

bool scope_core::idle() const noexcept {
  std::lock_guard const guard(mutex_);
  return running_ == 0 && first_ == nullptr;
}

bool scope_core::must_look() const noexcept {
  std::lock_guard const guard(mutex_);
  return running_ == 0 || first_ != nullptr;
}

bool scope_core::has_members() const noexcept {
  std::lock_guard const guard(mutex_);
  return members_ != nullptr;
}

bool scope_core::member_ready(pool_thread const& t) const noexcept {
  std::lock_guard const guard(mutex_);
  for (scope_member const* m = members_; m != nullptr; m = m->next)
    if (core_->may_claim(t, *m->job, true)) return true;
  return false;
}

void scope_core::wait(member& m) noexcept {
  pool_thread& t = thread_of(m);
  os::ticks spin_until = 0;
  bool stranded = false; // nobody else can run what is ready
  for (;;) {
    if (core_->is_discarding() && stop_.requested_here() != stop_level::stopped) request_stop();
    if (stopped_.load(std::memory_order_relaxed) || stop_.stop_requested()) {
      stopped_.store(true, std::memory_order_relaxed);
      drop_children();
    }
    if (scope_child* c = take_child()) {
      t.bump(counted::executed);
      run_taken(*c, t);
      spin_until = 0;
      continue;
    }
    if (core_->size() != 0 && run_member(t, std::exchange(stranded, false))) {
      spin_until = 0;
      continue;
    }
    if (idle()) break;
    os::ticks const now = os::now();
    if (spin_until == 0) spin_until = now + core_->search_ticks();
    if (now < spin_until) {
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
      continue;
    }
    waiter self{&t, nullptr};
    {
      std::lock_guard const guard(mutex_);
      self.next = waiters_;
      waiters_ = &self;
    }
    bool const by_anybody = has_members(); // a coroutine may be resumed from outside
    if (by_anybody) core_->count_outside_wait(1);
    core_->park_until(t, "scope", nullptr, [&] {
      return must_look() || (core_->is_discarding() && stop_.requested_here() != stop_level::stopped) ||
             (stranded = member_ready(t) && core_->is_stranded());
    });
    if (by_anybody) core_->count_outside_wait(-1);
    std::lock_guard const guard(mutex_);
    waiter** link = &waiters_;
    while (*link != &self) link = &(*link)->next;
    *link = self.next;
    spin_until = 0;
  }
  // Alone in the list it stays, so that a scope that is waited for again and again enters it once. relaxed: a
  // hint.
  if (home_->open_scopes.load(std::memory_order_relaxed) > 1) leave_list();
}

namespace {

void wait(scope_core& s) {
  run_as_member(
      &s.core().handle(), [](void* scope, member& me) { static_cast<scope_core*>(scope)->wait(me); }, &s);
}

} // namespace

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
  if (s.is_async() && this_trampoline().running != nullptr)
    throw std::logic_error(
        "rubato: wait() would block a worker in a scope of with_async_scope(); co_await join()");
  wait(s);
  if (std::exception_ptr e = s.take_error()) std::rethrow_exception(std::move(e));
}

} // namespace rubato::detail
