// Coroutines that wait for each other in a circle, which nothing can end. docs/design/coroutines.md
#include "rubato/detail/activity.hpp"
#include "rubato/detail/task.hpp"
#include "work/pool_core.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

/// What a coroutine awaits, and what that waits for, up to a distance: a long chain must not be walked for
/// each link that it gets.
class circle_search {
  activity& who_;
  unsigned steps_left_ = 32;
  std::vector<stall_report::waiter> waiters_; // from the last to the first
  state_ref greatest_;                        // by its address

  void add(future_state& s, std::uint32_t begun_by) {
    if (!s.is_work() || begun_by == 0) return;
    std::optional<unsigned> const whom =
        waiters_.empty() ? current->index : waiters_.back().thread; // the last waits for `who_`
    waiters_.push_back({begun_by - 1, "co_await", whom});
  }

  void note(future_state& s) noexcept {
    if (greatest_ && std::less<>()(&s, greatest_.get())) return;
    s.hold();
    greatest_ = state_ref(&s);
  }

public:
  explicit circle_search(activity& who) noexcept
      : who_(who) {}

  /// Is it the coroutine itself, or does it wait for that?
  [[nodiscard]] bool leads_back(future_state& from) {
    if (&from == &who_) return true;
    if (!from.needs_all_inputs()) return false;
    std::size_t next = 0;
    while (steps_left_ != 0) {
      --steps_left_;
      state_ref const input(from.unfinished_input(next));
      if (!input) return false;
      if (leads_back(*input.get())) {
        add(from, from.begun_by.load(std::memory_order_relaxed)); // relaxed: for the report
        note(from);
        return true;
      }
    }
    return false;
  }
  /// If two have closed it at the same time and see it both, one of them is the first.
  [[nodiscard]] bool is_first() {
    note(who_);
    // relaxed: it decides who reports, and orders nothing.
    return !greatest_->circle_told.exchange(true, std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<stall_report::waiter> take() {
    add(who_, current->index + 1);
    return std::move(waiters_);
  }
};

} // namespace

void look_for_circle(activity& a, future_state& awaited) noexcept {
  // Pairs with itself: each says what it waits for before it looks. So of two that close a circle at the same
  // time one sees the other, or both do.
  std_policy::fence();
  try {
    circle_search search(a);
    if (!search.leads_back(awaited) || !search.is_first()) return;
    pool_core& core = *a.home();
    queue(core, make_task([&core, circle = search.take()] { core.report_stall(circle); }));
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): it stalls all the same
  }
}

} // namespace rubato::detail
