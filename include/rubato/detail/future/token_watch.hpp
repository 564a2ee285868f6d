// Cancels a result when a token of the program's shows a stop. docs/design/futures.md
#pragma once

#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/sched/future_state.hpp"

#include <stop_token>
#include <utility>

namespace rubato::detail {

/// Ends with the result. Its end waits for a cancel() that another thread runs: then the result lives on
/// until that call has returned. The call itself may complete the result, and so end this.
class token_watch final : public future_waiter {
  struct relay {
    future_state* of;
    void operator()() const noexcept { of->cancel(); } // this may be gone afterwards
  };
  std::stop_callback<relay> callback_;

  static void ended(future_waiter& w, completions& /*more*/) noexcept {
    free_in_slab(&static_cast<token_watch&>(w));
  }

public:
  token_watch(future_state& s, std::stop_token&& token)
      : future_waiter(&ended)
      , callback_(std::move(token), relay{&s}) {}

  /// For the consumer of the result. Throws std::bad_alloc.
  static void begin(future_state& s, std::stop_token token) {
    if (!token.stop_possible()) return;
    auto* const made = make_in_slab<token_watch>(s, std::move(token)); // which may cancel it at once
    if (!s.waiters.add(*made)) free_in_slab(made);
  }
};

} // namespace rubato::detail
