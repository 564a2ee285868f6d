// Stop requests that come about where a result is brought: what users have registered is called elsewhere.
// docs/design/futures.md
#include "rubato/detail/stop_scope.hpp"
#include "rubato/detail/task.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <new>
#include <optional>

namespace rubato::detail {

namespace {

struct later {
  bool on = false;
  pool_core* near = nullptr;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit later told_later;

/// Queues it where it is run soon. False: there is no such place, or no memory. Where nobody is left to run
/// it, those who run may be waiting for this very stop.
bool queue_telling(std::stop_source const& tokens) noexcept {
  std::optional<visit> there;
  pool_core* core = current->core;
  if (core == nullptr && visit_if_there(told_later.near, there)) core = told_later.near;
  if (core == nullptr || core->size() == 0 || core->nobody_to_call()) return false;
  try {
    core->enqueue(make_task([tokens]() mutable { tokens.request_stop(); }));
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

} // namespace

tokens_told_later::tokens_told_later(pool_core* near) noexcept
    : on_(!told_later.on) {
  if (on_) told_later = {true, near};
}
tokens_told_later::~tokens_told_later() {
  if (on_) told_later = {};
}

void tell_tokens(std::stop_source& tokens) noexcept {
  if (!told_later.on || !queue_telling(tokens)) tokens.request_stop();
}

} // namespace rubato::detail
