#include "rubato/detail/base/stop_scope.hpp"

#include "rubato/detail/base/brief_wait.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

/// A request that this thread is passing on. A call may, on this very thread, end the work that a scope or a
/// listener is a part of: end() and remove() change this then.
struct call;
[[gnu::tls_model("initial-exec")]] thread_local constinit call* calls = nullptr;
struct call {
  /// Whose listeners it calls: the scope of the request, or one below; null: it is over.
  stop_scope const* at;
  stop_scope const* const from;            ///< the scope of the request
  stop_listener const* listener = nullptr; ///< that it is calling, unless that is a link
  call* const outer = calls;

  explicit call(stop_scope const* s) noexcept
      : at(s)
      , from(s) {
    calls = this;
    in_progress.add(1);
  }
  call(call const&) = delete;
  ~call() {
    in_progress.subtract(1);
    calls = outer;
  }

  /// The number of requests that threads are passing on. Zero: all scopes that hear their parents have been
  /// told.
  static constinit announced<std::uint32_t> in_progress;
};
constinit announced<std::uint32_t> call::in_progress;

} // namespace

void stop_scope::end() noexcept RUBATO_NOT_ANALYSED { // no other thread uses it any more
  leave_parent();
  for (call* c = calls; c != nullptr; c = c->outer)
    if (c->at == this) c->at = nullptr;
  delete tokens(); // NOLINT(cppcoreguidelines-owning-memory): the list has no owner
}

stop_level stop_scope::look_upwards(std::uint64_t now) const noexcept {
  using hearing = stop_link::hearing;
  bool const all_told = call::in_progress.get() == 0; // before the first look at what scopes were told
  stop_level most = stop_level::none;
  stop_scope const* hears_from = this; // from there on, all that are passed hear their parents
  stop_scope const* top = this;
  for (;; top = top->parent()) {
    hearing const h = top->up_ != nullptr ? top->up_->hearing_.get() : hearing::all;
    most = std::max(most, top->requested_.get());
    if (most == stop_level::stopped || top->parent() == nullptr || (h == hearing::all && all_told)) break;
    bool const is_clear = top->up_->clear_at_.get() == now;
    if (h < hearing::parent || is_clear) hears_from = top->parent();
    if (is_clear) break;
  }
  // A deep nest is walked once for all requests if its scopes hear them, otherwise once for each request, and
  // not once for each scope in it.
  if (most == stop_level::stopped) return most;
  bool hears = false;
  for (stop_scope const* s = this; s != nullptr && s->up_ != nullptr; s = s->parent()) {
    hears = hears || s == hears_from;
    if (hears && s->up_->hearing_.get() == hearing::parent) s->up_->hearing_.publish(hearing::all);
    if (most == stop_level::none) s->up_->clear_at_.set(now);
    if (s == top) break;
  }
  return most;
}

void stop_scope::leave_parent() noexcept {
  if (up_ == nullptr) return;
  bool listens = false;
  {
    lock_guard const guard(mutex_);
    listens = up_->is_listening();
  }
  if (listens) up_->parent_->remove(*up_); // the parent may be about to stop it
  up_ = nullptr;
}

/// Marks the scope, and tells its tokens.
void stop_scope::mark(stop_level level) noexcept {
  std::optional<std::stop_source> tokens;
  {
    lock_guard const guard(mutex_);
    if (requested_.get() < level) {
      // Pairs with request(): a thread that finds this made already may look at scopes below, and has to see
      // in_progress, which this thread has raised before.
      requested_.publish(level);
      // Under the lock: a link that add() refuses was refused after this.
      stop_requests.advance();
    }
    if (token_state const* const t = this->tokens()) tokens = t->source;
  }
  if (tokens) tokens->request_stop(); // outside the lock: callbacks are user code
}

/// The next listener to be called, from the link to `last` on, whose call is over; null: none is left. A link
/// stays in the list, so those before `last` have been called.
stop_listener* stop_scope::next_to_call(stop_link* last) noexcept {
  lock_guard const guard(mutex_);
  if (last != nullptr) last->phase_.publish(stop_listener::phase::listed);
  // Another thread may have requested more meanwhile, and left listeners in a call to this thread.
  stop_level const level = requested_.get();
  auto const is_next = [level](stop_listener const& x) {
    return x.told_ < level && (x.timed || level == stop_level::stopped) &&
           x.phase_.own() == stop_listener::phase::listed;
  };
  stop_listener* l = last != nullptr ? last : first_;
  while (l != nullptr && !is_next(*l)) l = l->next_;
  if (l == nullptr) return nullptr;
  if (!l->is_link_) unlink(*l);
  l->told_ = level;
  l->phase_.publish(stop_listener::phase::called);
  return l;
}

/// A loop, because a nest may be deep. The links on the way back up are in a call as long as it is below
/// them, and so their scopes exist.
void stop_scope::request(stop_level level) noexcept {
  // acquire (requested_): pairs with mark(). The thread that has set it calls the listeners.
  if (requested_here() >= level) return;
  call now(this);
  mark(level);
  stop_link* last = nullptr;
  while (now.at != nullptr) {
    auto& at = const_cast<stop_scope&>(*now.at); // NOLINT(cppcoreguidelines-pro-type-const-cast): see call
    stop_listener* const l = at.next_to_call(std::exchange(last, nullptr));
    if (l == nullptr) {
      if (&at == this) return;
      last = at.up_;
      now.at = last->parent_;
    } else if (l->is_link_) {
      auto& link = static_cast<stop_link&>(*l);
      stop_level const wanted = at.requested_here();
      if (link.child_->requested_here() >= wanted) {
        last = &link; // as above
      } else {
        now.at = link.child_;
        link.child_->mark(wanted);
      }
    } else {
      now.listener = l;
      l->stop_requested();
      // remove() waits for this; after that the listener is destroyed.
      if (now.listener == l) l->phase_.publish(stop_listener::phase::out);
    }
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
  return insert_unless_stopped(l).has_value();
}

/// A level that was requested above, and that this scope has not been told yet, reaches its listeners later.
stop_level stop_scope::level_for_listener() const noexcept {
  return up_ == nullptr || up_->is_listening() ? requested_here() : level();
}

std::optional<stop_level> stop_scope::insert_unless_stopped(stop_listener& l) noexcept {
  lock_guard const guard(mutex_);
  stop_level const now = level_for_listener();
  if (now == stop_level::stopped || (now == stop_level::draining && l.timed && !l.is_link_))
    return std::nullopt;
  l.told_ = now;
  insert(l);
  l.phase_.publish(stop_listener::phase::listed);
  return now;
}

/// A request from above must be heard from the first listener on. A loop: a nest may be deep.
void stop_scope::listen_to_parents() noexcept {
  for (stop_scope* s = this; s->parent() != nullptr; s = s->up_->parent_) {
    if (s->up_->is_listening())
      return; // without the lock: the caller takes it next, to list its own listener
    {
      lock_guard const guard(s->mutex_);
      if (s->up_->is_listening()) return;
      s->up_->hearing_.publish(stop_link::hearing::soon);
    }
    stop_scope& above = *s->up_->parent_;
    // Refused: the parent has been stopped, and will not call. What level() remembers may be older than that.
    std::optional<stop_level> const told = above.insert_unless_stopped(*s->up_);
    if (!told) return s->request(stop_level::stopped);
    // The parent may have been asked to drain before the link was there, and after this scope got a listener.
    // Not the parent's level of now: what it is asked from here on goes through the link.
    if (*told != stop_level::none) s->request(*told);
    s->up_->hearing_.publish(stop_link::hearing::parent);
  }
}

void stop_scope::remove(stop_listener& l) noexcept {
  using phase = stop_listener::phase;
  for (;;) {
    phase const now = l.phase_.get();
    if (now == phase::out) return;
    if (now == phase::called) {
      bool by_itself = false;
      for (call* c = calls; c != nullptr; c = c->outer) {
        if (c->listener == &l) c->listener = nullptr, by_itself = true;
        // It has come through that link: the scopes further down have gone already. A request that began at
        // the child has not.
        if (l.is_link_ && c->at == static_cast<stop_link&>(l).child_ && c->from != c->at)
          c->at = this, by_itself = true;
      }
      if (by_itself) {
        lock_guard const guard(mutex_);
        if (l.is_link_) unlink(l);
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
