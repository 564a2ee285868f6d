// Coroutines, and threads, that wait for each other in a circle, which nothing can end.
// docs/design/coroutines.md
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

/// What a coroutine or a thread waits for, and what that waits for, up to a distance: a long chain must not
/// be walked for each link that it gets.
class circle_search {
  future_state const* const coroutine_; // that has begun to wait; null: the calling thread has
  pool_thread const& me_;
  unsigned steps_left_ = 32;
  bool through_inputs_ = false;               // not by threads alone, which the watch sees
  std::vector<stall_report::waiter> waiters_; // from the last to the first
  state_ref greatest_;                        // by its address

  void add(unsigned thread, char const* how) {
    std::optional<unsigned> const whom =
        waiters_.empty() ? me_.index : waiters_.back().thread; // the last waits for who searches
    waiters_.push_back({thread, how, whom});
  }
  void note(future_state& s) noexcept {
    if (greatest_ && std::less<>()(&s, greatest_.get())) return;
    s.hold();
    greatest_ = state_ref(&s);
  }

  /// Through what it awaits, or is made of.
  [[nodiscard]] bool inputs_lead_back(future_state& from) {
    if (!from.needs_all_inputs()) return false;
    std::size_t next = 0;
    while (steps_left_ != 0) {
      --steps_left_;
      state_ref const input(from.unfinished_input(next));
      if (!input) return false;
      if (!leads_back(*input.get())) continue;
      through_inputs_ = true;
      // relaxed: for the report
      if (std::uint32_t const by = from.begun_by.load(std::memory_order_relaxed); from.is_work() && by != 0)
        add(by - 1, "co_await");
      return true;
    }
    return false;
  }
  /// A closure that has begun and not ended: through what its thread waits for, in this pool.
  [[nodiscard]] bool thread_leads_back(future_state& from) {
    if (!from.runs_to_end() || from.home() != me_.core) return false;
    // relaxed: what matters is what the thread says that it waits for.
    std::uint32_t const by = from.begun_by.load(std::memory_order_relaxed);
    pool_thread* const runner = by != 0 ? me_.core->thread(by - 1) : nullptr;
    if (runner == nullptr || from.done()) return false;
    if (coroutine_ == nullptr && runner == &me_) return true;
    state_ref const awaited(runner->awaits.look([](future_state& s) {
      s.hold();
      return &s;
    }));
    // It was in the middle of that closure then, if it still is.
    if (!awaited || awaited->done() || from.done() || steps_left_ == 0) return false;
    --steps_left_;
    if (!leads_back(*awaited.get())) return false;
    add(runner->index, "get");
    return true;
  }

public:
  circle_search(future_state const* coroutine, pool_thread const& me) noexcept
      : coroutine_(coroutine)
      , me_(me) {}

  /// Is it who searches, or does it wait for that?
  [[nodiscard]] bool leads_back(future_state& from) {
    if (&from == coroutine_) return true;
    if (!inputs_lead_back(from) && !thread_leads_back(from)) return false;
    note(from);
    return true;
  }
  [[nodiscard]] bool is_no_matter_of_threads_alone() const noexcept {
    return coroutine_ != nullptr || through_inputs_;
  }
  /// If two have closed it at the same time and see it both, one of them is the first.
  [[nodiscard]] bool is_first(future_state& last) noexcept {
    note(last);
    // relaxed: it decides who reports, and orders nothing.
    return !greatest_->circle_told.exchange(true, std::memory_order_relaxed);
  }
  [[nodiscard]] std::vector<stall_report::waiter> take() {
    add(me_.index, coroutine_ != nullptr ? "co_await" : "get");
    return std::move(waiters_);
  }
};

/// `last`: the one that is noted besides those on the way.
void look_for_circle(future_state const* coroutine, future_state& last, future_state& awaited,
                     pool_core& home) noexcept {
  // Pairs with itself: each says what it waits for before it looks. So of two that close a circle at the same
  // time one sees the other, or both do.
  std_policy::fence();
  try {
    circle_search search(coroutine, thread_of(*current));
    if (!search.leads_back(awaited) || !search.is_no_matter_of_threads_alone() || !search.is_first(last))
      return;
    queue(home, make_task([&home, circle = search.take()] { home.report_stall(circle); }));
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): it stalls all the same
  }
}

} // namespace

void look_for_circle(activity& a, future_state& awaited) noexcept {
  look_for_circle(&a, a, awaited, *a.home());
}

bool is_in_circle(pool_thread& t, future_state& awaited) noexcept {
  try {
    return circle_search(nullptr, t).leads_back(awaited);
  } catch (std::bad_alloc const&) {
    return false;
  }
}

void look_for_circle(pool_thread& t, future_state& awaited) noexcept {
  look_for_circle(nullptr, awaited, awaited, *t.core);
}

} // namespace rubato::detail
