#include "rubato/detail/stop_scope.hpp"

#include <mutex>

namespace rubato::detail {

void stop_scope::request_stop() noexcept {
  token_state* state = nullptr;
  {
    std::lock_guard const guard(mutex_);
    requested_.store(true, std::memory_order_relaxed);
    state = state_.get();
  }
  // Outside the lock: callbacks are user code.
  if (state != nullptr) state->source.request_stop();
}

std::stop_token stop_scope::token(std::stop_token const& outermost) const {
  {
    std::lock_guard const guard(mutex_);
    if (state_ != nullptr) return state_->source.get_token();
  }
  std::stop_token const above = parent_ != nullptr ? parent_->token(outermost) : outermost;
  auto made = std::make_unique<token_state>();
  made->from_parent.emplace(above, relay{&made->source});
  bool requested = false;
  token_state* state = nullptr;
  {
    std::lock_guard const guard(mutex_);
    if (state_ == nullptr) state_ = std::move(made);
    state = state_.get();
    requested = requested_.load(std::memory_order_relaxed);
  }
  if (requested) state->source.request_stop();
  return state->source.get_token();
}

} // namespace rubato::detail
