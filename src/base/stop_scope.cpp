#include "rubato/detail/base/stop_scope.hpp"

#include "rubato/detail/base/brief_wait.hpp"

#include <algorithm>
#include <optional>

namespace rubato::detail {

namespace {

/// A request that this thread is passing on, and the listener that it is calling. The call may, on this very
/// thread, end the work that the scope or the listener is a part of: then that pointer becomes null.
struct call;
[[gnu::tls_model("initial-exec")]] thread_local constinit call* calls = nullptr;
struct call {
  stop_scope const* scope;
  stop_listener const* listener = nullptr;
  call* const outer = calls;

  explicit call(stop_scope const* s) noexcept
      : scope(s) {
    calls = this;
  }
  call(call const&) = delete;
  ~call() { calls = outer; }
};

} // namespace

void stop_scope::end() noexcept RUBATO_NOT_ANALYSED { // no other thread uses it any more
  leave_parent();
  for (call* c = calls; c != nullptr; c = c->outer)
    if (c->scope == this) c->scope = nullptr;
  delete tokens(); // NOLINT(cppcoreguidelines-owning-memory): the list has no owner
}

stop_level stop_scope::look_upwards(std::uint64_t now) const noexcept {
  stop_level most = stop_level::none;
  for (stop_scope const* s = this; s != nullptr && most != stop_level::stopped; s = s->parent()) {
    if (stop_level const l = s->requested_.get(); l > most) most = l;
    if (s->up_ == nullptr || s->up_->clear_at_.get() == now) break;
  }
  // All scopes that were passed are clear: a deep nest is walked once for each request, not once for each
  // scope in it.
  for (stop_scope const* s = this;
       most == stop_level::none && s != nullptr && s->up_ != nullptr && s->up_->clear_at_.get() != now;
       s = s->parent())
    s->up_->clear_at_.set(now);
  return most;
}

void stop_scope::leave_parent() noexcept {
  if (up_ == nullptr) return;
  bool listens = false;
  {
    lock_guard const guard(mutex_);
    listens = up_->listens_.get();
  }
  if (listens) up_->parent_->remove(*up_); // the parent may be about to stop it
  up_ = nullptr;
}

void stop_link::stop_requested() noexcept { child_->request(parent_->level()); }

void stop_scope::request(stop_level level) noexcept {
  std::optional<std::stop_source> tokens;
  {
    lock_guard const guard(mutex_);
    if (requested_.get() < level) {
      requested_.set(level);
      // Under the lock: a link that add() refuses was refused after this.
      stop_requests.advance();
    }
    if (token_state const* const t = this->tokens()) tokens = t->source;
  }
  call now(this);
  // Outside the lock: callbacks are user code.
  if (tokens) tokens->request_stop();
  while (now.scope != nullptr) {
    stop_listener* l = nullptr;
    {
      lock_guard const guard(mutex_);
      // Another thread may have requested more meanwhile, and left the listeners in a call to this thread.
      level = std::max(level, requested_.get());
      auto const is_next = [level](stop_listener const& x) {
        return x.told_ < level && (x.timed || level == stop_level::stopped) &&
               x.phase_.own() == stop_listener::phase::listed;
      };
      for (l = first_; l != nullptr && !is_next(*l);) l = l->next_;
      if (l == nullptr) return;
      if (!l->stays_) unlink(*l);
      l->told_ = level;
      l->phase_.publish(stop_listener::phase::called);
    }
    bool const stays = l->stays_;
    now.listener = l;
    l->stop_requested();
    // remove() waits for this; after that the listener is destroyed.
    if (now.listener == l)
      l->phase_.publish(stays ? stop_listener::phase::listed : stop_listener::phase::out);
  }
}

void stop_scope::unlink(stop_listener& l) noexcept {
  (l.previous_ != nullptr ? l.previous_->next_ : first_) = l.next_;
  if (l.next_ != nullptr) l.next_->previous_ = l.previous_;
}

void stop_scope::insert(stop_listener& l) const noexcept {
  l.previous_ = tokens();
  stop_listener*& next = l.previous_ != nullptr ? l.previous_->next_ : first_;
  l.next_ = next;
  if (next != nullptr) next->previous_ = &l;
  next = &l;
}

bool stop_scope::add(stop_listener& l) noexcept {
  listen_to_parents();
  return insert_unless_stopped(l);
}

bool stop_scope::insert_unless_stopped(stop_listener& l) noexcept {
  lock_guard const guard(mutex_);
  stop_level const now = level();
  if (now == stop_level::stopped || (now == stop_level::draining && l.timed && !l.stays_)) return false;
  l.told_ = now;
  insert(l);
  l.phase_.publish(stop_listener::phase::listed);
  return true;
}

/// A request from above must be heard from the first listener on. A loop: a nest may be deep.
void stop_scope::listen_to_parents() noexcept {
  for (stop_scope* s = this; s->parent() != nullptr; s = s->up_->parent_) {
    if (s->up_->listens_.get())
      return; // without the lock: the caller takes it next, to list its own listener
    {
      lock_guard const guard(s->mutex_);
      if (s->up_->listens_.get()) return;
      s->up_->listens_.set(true);
    }
    stop_scope& above = *s->up_->parent_;
    // Refused: the parent has been stopped, and will not call. What level() remembers may be older than that.
    if (!above.insert_unless_stopped(*s->up_)) return s->request(stop_level::stopped);
    // The parent may have been asked to drain before the link was there, and after this scope got a listener.
    if (stop_level const l = above.level(); l != stop_level::none) s->request(l);
  }
}

void stop_scope::remove(stop_listener& l) noexcept {
  using phase = stop_listener::phase;
  for (;;) {
    phase const now = l.phase_.get();
    if (now == phase::out) return;
    if (now == phase::called) {
      bool by_itself = false;
      for (call* c = calls; c != nullptr; c = c->outer)
        if (c->listener == &l) c->listener = nullptr, by_itself = true;
      if (by_itself) {
        lock_guard const guard(mutex_);
        if (l.stays_) unlink(l);
        l.phase_.publish(phase::out);
        return;
      }
    }
    if (now == phase::listed) {
      lock_guard const guard(mutex_);
      if (l.phase_.own() == phase::listed) {
        unlink(l);
        l.phase_.publish(phase::out);
        return;
      }
    } else {
      wait_briefly<std_policy>([&] { return l.phase_.get() != now; }); // until the call has ended
    }
  }
}

std::stop_token stop_scope::token(std::stop_token const& outermost) const {
  {
    lock_guard const guard(mutex_);
    if (token_state const* const t = tokens()) return t->source.get_token();
  }
  stop_scope const* const above = parent();
  // A shield hides the pool's stop.
  std::stop_token const from = above != nullptr ? above->token(outermost)
                               : shielded_      ? std::stop_token()
                                                : outermost;
  auto made = std::make_unique<token_state>();
  made->from_parent.emplace(from, relay{&made->source});
  bool requested = false;
  token_state* state = nullptr;
  {
    lock_guard const guard(mutex_);
    if (!has_tokens_) {
      insert(*made);
      has_tokens_ = made.release() != nullptr;
    }
    state = tokens();
    requested = requested_.get() != stop_level::none;
  }
  if (requested) state->source.request_stop();
  return state->source.get_token();
}

} // namespace rubato::detail
