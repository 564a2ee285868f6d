// Cancels a result when a token of the program's shows a stop. docs/design/futures.md
#pragma once

#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <atomic>
#include <stop_token>
#include <utility>

namespace rubato::detail {

/// Ends with the result, or with a cancel() that the token's stop calls meanwhile, whichever is later. So the
/// thread that completes the result never waits for that call, which runs stop callbacks of the program.
class token_watch final : public future_waiter {
  enum class phase : unsigned char { idle, calling, ended };
  struct relay {
    token_watch* watch;
    void operator()() const noexcept { watch->cancel(); }
  };
  // acq_rel: the call and the end exchange it, and the later of the two frees what the other one has used.
  std::atomic<phase> phase_{phase::idle};
  state_ref of_;                       // the call may outlive the result
  std::stop_callback<relay> callback_; // destroyed first: waits for a call that finds `ended`

  void cancel() noexcept {
    if (phase_.exchange(phase::calling, std::memory_order_acq_rel) == phase::ended) return;
    of_.get()->cancel();
    if (phase_.exchange(phase::idle, std::memory_order_acq_rel) == phase::ended) free_in_slab(this);
  }
  static void ended(future_waiter& w, completions& /*more*/) noexcept { static_cast<token_watch&>(w).end(); }
  void end() noexcept {
    if (phase_.exchange(phase::ended, std::memory_order_acq_rel) != phase::calling) free_in_slab(this);
  }

public:
  token_watch(future_state& s, std::stop_token&& token)
      : future_waiter(&ended)
      , of_((s.hold(), &s))
      , callback_(std::move(token), relay{this}) {}

  /// For the consumer of the result. Throws std::bad_alloc.
  static void begin(future_state& s, std::stop_token token) {
    if (!token.stop_possible()) return;
    auto* const made = make_in_slab<token_watch>(s, std::move(token)); // which may cancel it at once
    if (!s.waiters.add(*made)) made->end();
  }
};

} // namespace rubato::detail
