// Work without a future: its exceptions go to on_unhandled. docs/design/futures.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Reports an exception to a pool in a task of its own, because the thread that completes the work may hold
/// locks. docs/design/futures.md
class failure_report : task, public future_waiter {
  future_state& job_;          // owns a reference
  pool_core* where_ = nullptr; // the pool may be gone
  std::uint64_t serial_ = 0;
  std::exception_ptr error_;

  static void ended(future_waiter& base, completions& more) noexcept;
  static void tell(task& base, thread_context* runner) noexcept;
  /// Called once. Reports to the pool `where_`; if that is gone, to the pool that the job has moved to, if
  /// any.
  void send(std::exception_ptr e) noexcept;
  /// Releases the job, of which it may be a part.
  void finish() noexcept;

public:
  /// `always`: a program that handles no failures ends. `if_handled`: it goes on, and a `cancelled` is none.
  enum class when : unsigned char { always, if_handled };

  /// What it is a part of: the job, or an allocation of its own.
  enum class part_of : unsigned char { job, none };
  /// Owns a reference to the job.
  RUBATO_API explicit failure_report(future_state& j, when w = when::always,
                                     part_of p = part_of::job) noexcept;
  /// Reports to that pool if the job ends with an exception. Called once, before the job can begin.
  RUBATO_API void watch(pool_core& c) noexcept;
  /// The job's future is detached or dropped: reports to the job's pool if it fails, or has failed.
  /// False: nothing is reported. Throws std::bad_alloc.
  static bool begin(future_state& job, when w);

private:
  when const when_;
  part_of const part_of_;
};

/// A job that reports its own failure.
template<class F>
class detached_job : public job_for<F>::type {
  using base = typename job_for<F>::type;
  failure_report report_{*this};

public:
  using base::base;
  void watch(pool_core& c) noexcept { report_.watch(c); }
};

/// Says what to write instead of enqueue(f, arg).
template<class F>
consteval void explain_enqueue() {
  static_assert(always_false<F>,
                "rubato: enqueue(f) passes no arguments: capture them, enqueue([=] { f(arg); "
                "}), or use spawn(f, arg).detach(); a priority comes first");
}

/// True if pool::enqueue() accepts it; otherwise an assertion fails with a message.
template<class F>
[[nodiscard]] consteval bool can_be_queued() {
  static_assert(!is_named_task<F>, "rubato: enqueue(t): a task with a name is moved: enqueue(std::move(t))");
  static_assert(can_be_kept<F> || is_named_task<F>,
                "rubato: enqueue(f): f is copied unless it is passed as an rvalue: std::move what cannot be "
                "copied");
  constexpr bool called = fits<std::decay_t<F>>;
  if constexpr (can_be_kept<F>) static_assert(called, "rubato: enqueue(f): f must be callable as f()");
  if constexpr (can_be_kept<F> && called)
    return can_be_returned<call_result_t<std::decay_t<F>>>();
  else
    return false;
}

// Defined in enqueued_coroutine.hpp, which task.hpp includes, as every user of a task does.
template<class F>
class enqueued_coroutine;

/// Queues it. `in`: it is new work; null: it goes on with work that runs already.
template<class F>
void queue_detached(pool_core& c, arrival* in, F&& f, priority p = priority::normal) {
  if constexpr (flattened<call_result_t<std::decay_t<F>>>::is_task) {
    auto* const made = make_in_slab<enqueued_coroutine<std::decay_t<F>>>(p, std::forward<F>(f));
    made->holds_capacity = in != nullptr && in->give_capacity();
    queue(c, made, p);
  } else if constexpr (goes_on<F>) {
    // Two references: the second is its own.
    auto* const made = make_in_slab<detached_job<std::decay_t<F>>>(2U, nullptr, std::forward<F>(f));
    made->holds_capacity = in != nullptr && in->give_capacity();
    made->watch(c);
    spawn_state(c, *made, p);
  } else {
    detail::task* const made = make_task(std::forward<F>(f));
    made->holds_capacity = in != nullptr && in->give_capacity();
    queue(c, made, p);
  }
}

} // namespace rubato::detail
