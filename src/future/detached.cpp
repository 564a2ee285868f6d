// How the failure of detached work gets to on_unhandled. docs/design/futures.md
#include "rubato/detail/future/detached.hpp"

#include "sched/process/hazard_guard.hpp"
#include "sched/process/pool_registry.hpp"

#include <optional>
#include <utility>

namespace rubato::detail {

failure_report::failure_report(future_state& j) noexcept
    : task(&tell)
    , future_waiter(&ended)
    , job_(j) {}

void failure_report::watch(pool_core& c) noexcept {
  where_ = &c;
  serial_ = serial_of(c);
  static_cast<void>(job_.waiters.add(*this));
}

void failure_report::ended(future_waiter& base, completions& /*more*/) noexcept {
  auto& self = static_cast<failure_report&>(base);
  std::exception_ptr e = self.job_.take_error();
  bool const stopped = self.job_.stop.level() != stop_level::none;
  if (e == nullptr || self.dropped || (stopped && is_cancelled(e)))
    self.job_.release();
  else
    self.send(std::move(e));
}

void failure_report::send(std::exception_ptr e) noexcept {
  std::optional<hazard_guard> there;
  if (!guard_if_there(where_, serial_, there)) {
    pool_core* const moved_to = job_.home();
    if (moved_to == where_ || !guard_if_there(moved_to, there)) {
      job_.release();
      return;
    }
    where_ = moved_to;
  }
  error_ = std::move(e);
  queue(*where_, this);
}

void failure_report::tell(task& base, thread_context* /*runner: null, if the pool discards it*/) noexcept {
  auto& self = static_cast<failure_report&>(base);
  unhandled(*self.where_, std::move(self.error_));
  self.job_.release();
}

} // namespace rubato::detail
