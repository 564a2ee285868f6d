// Stop requests that reach everything below: one flag per scope, a std::stop_token only for who asks for one.
#pragma once

#include "rubato/detail/mutex.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>

namespace rubato::detail {

/// Thread-safe. The parent outlives it.
class stop_scope {
  struct relay {
    std::stop_source* source;
    void operator()() const noexcept { source->request_stop(); }
  };
  struct token_state {
    std::stop_source source;
    std::optional<std::stop_callback<relay>>
        from_parent; // after the source: its destructor waits for the relay
  };

  std::atomic<bool> requested_{false};
  stop_scope const* parent_;
  mutable mutex mutex_;
  mutable std::unique_ptr<token_state> state_; // guarded by mutex_; never reset

public:
  explicit stop_scope(stop_scope const* parent) noexcept
      : parent_(parent) {}

  void request_stop() noexcept;
  /// This scope's or an outer one's. relaxed: whoever stops early orders nothing by it.
  [[nodiscard]] bool stop_requested() const noexcept {
    for (stop_scope const* s = this; s != nullptr; s = s->parent_)
      if (s->requested_.load(std::memory_order_relaxed)) return true;
    return false;
  }
  /// Stops with this scope, with the outer ones and with the pool, whose token is `outermost`.
  [[nodiscard]] std::stop_token token(std::stop_token const& outermost) const;
};

} // namespace rubato::detail
