// How the failure of detached work gets to on_unhandled. docs/design/futures.md
#include "rubato/detail/future/detached.hpp"

#include "rubato/detail/future/continuation.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/pool_registry.hpp"
#include "work/hazard_guard.hpp"

#include <future>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

/// That of work whose promise or pool was gone. Without memory for it, it is a bad_alloc.
[[nodiscard]] bool is_broken_promise(std::exception_ptr const& e) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (std::future_error const& x) {
    return x.code() == std::future_errc::broken_promise;
  } catch (std::bad_alloc const&) {
    return true;
  } catch (...) {
    return false;
  }
}

} // namespace

failure_report::failure_report(future_state& j, when w, part_of p) noexcept
    : task(&tell)
    , future_waiter(&ended)
    , job_(j)
    , when_(w)
    , part_of_(p) {}

void failure_report::watch(pool_core& c) noexcept {
  where_ = &c;
  serial_ = serial_of(c);
  completions none;
  if (!job_.waiters.add(*this)) ended(*this, none);
}

bool failure_report::begin(future_state& job, when w) {
  pool_core* const home = job.home();
  if (!job.may_report() || home == nullptr) return false;
  std::optional<hazard_guard> there;
  if (home != current->core && !guard_if_there(home, there)) return false;
  if (w == when::if_handled && !handles_failures(*home)) return false;
  auto* const made = make_in_slab<failure_report>(job, w, part_of::none);
  job.hold();
  made->watch(*home);
  return true;
}

void failure_report::ended(future_waiter& base, completions& /*more*/) noexcept {
  auto& self = static_cast<failure_report&>(base);
  future_state& job = self.job_;
  std::exception_ptr e = job.take_error();
  bool reports = e != nullptr;
  if (reports && is_cancelled(e))
    reports = self.when_ == when::always && !job.is_cut();
  else if (reports && job.was_cut)
    reports = !is_broken_promise(e);
  if (reports)
    self.send(std::move(e));
  else
    self.finish();
}

void failure_report::send(std::exception_ptr e) noexcept {
  std::optional<hazard_guard> there;
  if (!guard_if_there(where_, serial_, there)) {
    pool_core* const moved_to = job_.home();
    bool const is_there = moved_to != where_ && guard_if_there(moved_to, there);
    if (!is_there || (when_ == when::if_handled && !handles_failures(*moved_to))) {
      there.reset();
      finish();
      return;
    }
    where_ = moved_to;
  }
  // A closure whose wait a discard has ended: only its pool was stopped.
  if (life_of(*where_).is_ending() && is_cancelled(e)) {
    there.reset();
    finish();
    return;
  }
  error_ = std::move(e);
  queue(*where_, this);
}

void failure_report::tell(task& base, thread_context* /*runner: null, if the pool discards it*/) noexcept {
  auto& self = static_cast<failure_report&>(base);
  unhandled(*self.where_, std::move(self.error_));
  self.finish();
}

void failure_report::finish() noexcept {
  state_ref const job(&job_);
  if (part_of_ == part_of::none) free_in_slab(this);
}

void detach_result(future_state& s) {
  static_cast<void>(failure_report::begin(s, failure_report::when::always));
}

void drop_result(future_state& s) noexcept {
  bool reports = false;
  try {
    reports = failure_report::begin(s, failure_report::when::if_handled);
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): then the failure is not reported
  }
  // What it waits for hides its failures in continuations that this stops.
  if (reports) {
    s.hold();
    for (state_ref now(&s); now; now = state_ref(now->owned_source())) now->unwanted.set(true);
  }
  if (!s.done()) s.cancel();
}

void report_hidden(future_state& source) noexcept {
  try {
    static_cast<void>(failure_report::begin(source, failure_report::when::if_handled));
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): then the failure is not reported
  }
}

} // namespace rubato::detail
