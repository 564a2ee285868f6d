// Routines: callbacks that a pool runs whenever they are posted, woken or signalled, or their deadline
// passes. And an event, for which coroutines wait.
//
//   #include <rubato/routine.hpp>
//
//   #include <cstdio>
//
//   struct heart {
//     rubato::pool& pool;
//     int beats = 0;
//     rubato::routine beat{[this](rubato::routine& r) {
//       if (++beats != 3) r.post_after(pool, std::chrono::milliseconds(1)); // when the callback returns
//     }};
//   };
//
//   int main() {
//     rubato::pool pool(2);
//     heart h{pool};
//     h.beat.post(pool), pool.wait_idle(); // a deadline is work
//     std::printf("%d\n", h.beats); // -> 3
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/coro/gate.hpp"
#include "rubato/detail/routine/routine_callback.hpp"
#include "rubato/detail/work/waiting_routine.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"
#include "rubato/time.hpp"

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

namespace rubato {

/// An object of the program. A pool runs its callback once for each post: at once, at a deadline, or when the
/// routine is woken. Neither a post nor a wait allocates. The callback never runs on two threads at once. To
/// run again, the callback posts its routine again; the post takes effect when the callback returns.
///
/// Any thread may call wake() and signal(), in any state. All other members are for one thread at a time: the
/// thread of the callback while it runs, else the owner's. If the callback throws, its run has ended; the
/// pool passes the exception to pool_options::on_unhandled.
///
/// Posts do not count towards pool_options::max_queued(). With one worker, routines run in the order in which
/// they were posted. With more workers, the routines that one thread posts enter one queue in order, and
/// workers take the oldest first. While a callback blocks its thread, a spare (pool_options::spares()) may
/// run the next ones.
///
/// A routine may be destroyed while it is idle, which means neither posted nor waiting, or in its own
/// callback, which must not use its captures afterwards. If the callback is about to return on another
/// thread, the destructor waits for that. In any other state the destructor terminates the program with a
/// message.
///
/// When the pool drains, a routine that waits for a deadline runs once more, not expired, and deadlines of
/// later posts never pass. Routines that still wait when nothing else is left to do become idle, without a
/// run. When the pool discards, routines that are queued or wait become idle at once. A signal is kept.
class RUBATO_API routine final : detail::routine_task, detail::waiting_routine {
  using time_point = std::chrono::steady_clock::time_point;

  // The deadline of the next post, if has_deadline_. Apart from `due`, that of the present wait, which
  // belongs to the thread that moves the routine on.
  time_point next_due_{};

  static void run(detail::task& base, detail::thread_context* runner) noexcept;
  [[nodiscard]] bool place() noexcept;
  void leave_queued(detail::made_ready_by cause) noexcept;
  void end_of_life() noexcept;
  void replace_callback(detail::routine_callback f) noexcept;

  [[nodiscard]] bool claim() noexcept override;
  void fire() noexcept override;
  [[nodiscard]] bool interrupt() noexcept override;
  [[nodiscard]] bool withdraw() noexcept override;
  void go_on() noexcept override;
  void end_wait() noexcept override;

  template<class F>
  static consteval void check() {
    static_assert(std::is_invocable_v<F&, routine&>, "rubato: a routine's callback is called with routine&");
    static_assert(
        !std::is_invocable_v<F&, routine&> || detail::routine_callback::fits<F>,
        "rubato: a routine's callback is a function pointer or a callable of at most two words that "
        "moves without throwing: capture a pointer to the rest");
  }

public:
  /// `callback`: a function pointer or a callable of up to two words (16 bytes) that moves without throwing,
  /// called as callback(routine&).
  template<class F>
    requires(!std::same_as<std::remove_cvref_t<F>, routine>)
  explicit routine(F&& callback)
      : routine_task(&run, detail::routine_callback(std::forward<F>(callback))) {
    check<std::decay_t<F>>();
  }
  routine(routine const&) = delete;
  routine& operator=(routine const&) = delete;
  ~routine() {
    if (!state_.is_idle()) end_of_life();
  }

  /// Sets the callback of the next run. In the callback it takes effect when that returns.
  template<class F>
  void set_callback(F&& callback) {
    check<std::decay_t<F>>();
    replace_callback(detail::routine_callback(std::forward<F>(callback)));
  }

  /// Runs the callback when the deadline passes that was set since the last post, or at once if none was set.
  /// Terminates with a message if the routine is posted already. Throws cancelled if the pool refuses the
  /// post, as pool::enqueue() does, or if the routine would wait in a pool that discards. If the pool closes
  /// or discards between a post in the routine's own callback and the end of the callback, the routine is
  /// idle afterwards. The pool must exist until post() and the callback that calls it have returned.
  void post(pool& p);
  /// set_deadline(t), then post(p).
  void post_at(pool& p, time_point t) {
    set_deadline(t);
    post(p);
  }
  /// post_at() a duration from now. A d beyond the clock's range means never.
  void post_after(pool& p, detail::delay d) { post_at(p, detail::deadline_after(d)); }
  /// Posts it without a deadline: it runs when it is woken or signalled.
  void post_wait(pool& p) { post_at(p, never); }

  /// Sets the deadline of the next post that succeeds, and of no other. While the routine waits, its present
  /// wait keeps the deadline with which it was posted.
  void set_deadline(time_point t) noexcept {
    next_due_ = t;
    has_deadline_ = true;
  }
  /// set_deadline() a duration from now. A d beyond the clock's range means never.
  void set_delay(detail::delay d) noexcept { set_deadline(detail::deadline_after(d)); }
  /// No deadline: the next post runs it when it is woken or signalled.
  void set_wait() noexcept { set_deadline(never); }
  /// Sets the deadline of the next post to t if that is earlier. Without a deadline a post runs at once,
  /// which counts as earlier.
  void tighten_deadline(time_point t) noexcept {
    if (has_deadline_ && t < next_due_) set_deadline(t);
  }

  /// In the callback: true if the deadline has passed. It may have been woken or signalled too.
  [[nodiscard]] bool expired() const noexcept { return state_.has_expired(); }

  /// Ends its wait, so that it runs soon. If it is idle or in its callback, its next post runs at once,
  /// whatever the deadline. The routine must live until the call returns.
  void wake() noexcept {
    if (state_.raise(detail::routine_flag::woken)) go_on();
  }
  /// Wakes it and sets a flag, in one step. Until receive_signal() clears the flag, every post runs at once.
  /// signal() does not touch the routine after that step, so the callback may destroy it.
  void signal() noexcept {
    if (state_.raise(detail::routine_flag::signalled)) go_on();
  }
  /// In the callback, or while it is idle: clears the flag, and returns true if it was set. Then the routine
  /// may be destroyed, unless other threads may still call wake() or signal().
  [[nodiscard]] bool receive_signal() noexcept { return state_.receive(); }
};

static_assert(sizeof(routine) <= 128, "the documentation promises that");

/// An event with manual reset. Coroutines wait until it is set; while it is set, no wait blocks. Thread-safe.
/// A waiter may destroy it as soon as its wait has succeeded. set() takes O(waiters), each other member O(1).
class event {
  detail::gate gate_;

public:
  constexpr event() noexcept = default;
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  ~event() = default;

  /// Sets it, and ends all waits. A resumed waiter may destroy the event: set() no longer touches it then.
  void set() noexcept { gate_.open(); }
  /// Clears it: later waits block until the next set().
  void reset() noexcept { gate_.close(); }
  /// True after set() and before reset().
  [[nodiscard]] bool is_set() const noexcept { return gate_.is_open(); }

  /// co_await wait(): waits until it is set. Throws cancelled if the task is stopped meanwhile.
  auto wait() noexcept { return gate_.wait(); }
  /// co_await wait_until(t): wait(), until t at the latest. Yields false if it is not set by then, or if the
  /// task is stopped or its pool begins to drain during the wait. If that was so before the wait, it throws
  /// cancelled, unless the event is set.
  [[nodiscard]] task<bool> wait_until(std::chrono::steady_clock::time_point t) {
    return with_deadline(wait(), t);
  }
  /// co_await wait_for(d): wait_until(), for at most `d`.
  [[nodiscard]] task<bool> wait_for(detail::delay d) { return wait_until(detail::deadline_after(d)); }
};

} // namespace rubato
