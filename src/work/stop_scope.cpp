#include "rubato/detail/stop_scope.hpp"

#include <mutex>
#include <thread>

namespace rubato::detail {

namespace {

/// The listener that this thread is calling, so that it may remove itself.
[[gnu::tls_model("initial-exec")]] thread_local constinit stop_listener const* calling = nullptr;

} // namespace

stop_scope::~stop_scope() { leave_parent(); }

void stop_scope::leave_parent() noexcept {
  if (up_ == nullptr) return;
  bool listens = false;
  {
    std::lock_guard const guard(mutex_);
    listens = up_->listens_;
  }
  if (listens) up_->parent_->remove(*up_); // the parent may be about to stop it
  up_ = nullptr;
}

void stop_link::stop_requested() noexcept { child_->request(parent_->level()); }

void stop_scope::request(stop_level level) noexcept {
  token_state* state = nullptr;
  {
    std::lock_guard const guard(mutex_);
    if (requested_.load(std::memory_order_relaxed) < level) {
      requested_.store(level, std::memory_order_relaxed);
      // release: pairs with level(). Under the lock: a link that add() refuses was refused after this.
      stop_requests.fetch_add(1, std::memory_order_release);
    }
    state = state_.get();
  }
  // Outside the lock: callbacks are user code.
  if (state != nullptr) state->source.request_stop();
  for (;;) {
    stop_listener* l = nullptr;
    {
      std::lock_guard const guard(mutex_);
      auto const is_next = [level](stop_listener const& x) {
        return x.told_ < level && (x.timed || level == stop_level::stopped) &&
               x.phase_.load(std::memory_order_relaxed) == stop_listener::phase::listed;
      };
      for (l = first_; l != nullptr && !is_next(*l);) l = l->next_;
      if (l == nullptr) return;
      if (!l->stays_) unlink(*l);
      l->told_ = level;
      l->phase_.store(stop_listener::phase::called, std::memory_order_relaxed);
    }
    bool const stays = l->stays_;
    stop_listener const* const outer = calling;
    calling = l;
    l->stop_requested();
    bool const alive = calling == l; // it may have been removed, and be gone, meanwhile
    calling = outer;
    // release: pairs with remove(), after which the listener is destroyed.
    if (alive)
      l->phase_.store(stays ? stop_listener::phase::listed : stop_listener::phase::out,
                      std::memory_order_release);
  }
}

void stop_scope::unlink(stop_listener& l) noexcept {
  (l.previous_ != nullptr ? l.previous_->next_ : first_) = l.next_;
  if (l.next_ != nullptr) l.next_->previous_ = l.previous_;
}

bool stop_scope::add(stop_listener& l) noexcept {
  if (parent() != nullptr) listen_to_parent();
  std::lock_guard const guard(mutex_);
  stop_level const now = level();
  if (now == stop_level::stopped || (now == stop_level::draining && l.timed && !l.stays_)) return false;
  l.told_ = now;
  l.previous_ = nullptr;
  l.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &l;
  first_ = &l;
  l.phase_.store(stop_listener::phase::listed, std::memory_order_relaxed);
  return true;
}

/// A request from above must be heard from the first listener on.
void stop_scope::listen_to_parent() noexcept {
  {
    std::lock_guard const guard(mutex_);
    if (up_->listens_) return;
    up_->listens_ = true;
  }
  // Refused: it has been stopped, and will not tell us. What level() remembers may be older than that.
  if (!up_->parent_->add(*up_)) request(stop_level::stopped);
}

void stop_scope::remove(stop_listener& l) noexcept {
  using phase = stop_listener::phase;
  for (;;) {
    // acquire: pairs with the end of the call in request().
    phase const now = l.phase_.load(std::memory_order_acquire);
    if (now == phase::out) return;
    if (now == phase::called && calling == &l) { // by itself
      calling = nullptr;
      return;
    }
    if (now == phase::listed) {
      std::lock_guard const guard(mutex_);
      if (l.phase_.load(std::memory_order_relaxed) == phase::listed) {
        unlink(l);
        l.phase_.store(phase::out, std::memory_order_relaxed);
        return;
      }
    } else {
      std::this_thread::yield(); // until the call has ended: it takes an instant
    }
  }
}

std::stop_token stop_scope::token(std::stop_token const& outermost) const {
  {
    std::lock_guard const guard(mutex_);
    if (state_ != nullptr) return state_->source.get_token();
  }
  stop_scope const* const above = parent();
  std::stop_token const from = above != nullptr ? above->token(outermost) : outermost;
  auto made = std::make_unique<token_state>();
  made->from_parent.emplace(from, relay{&made->source});
  bool requested = false;
  token_state* state = nullptr;
  {
    std::lock_guard const guard(mutex_);
    if (state_ == nullptr) state_ = std::move(made);
    state = state_.get();
    requested = requested_.load(std::memory_order_relaxed) != stop_level::none;
  }
  if (requested) state->source.request_stop();
  return state->source.get_token();
}

} // namespace rubato::detail
