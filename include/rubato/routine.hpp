// Routines: callbacks that the pool runs again whenever they are posted, woken or signalled, or their
// deadline passes. An event for coroutines.
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

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/routine/routine_callback.hpp"
#include "rubato/detail/routine/routine_state.hpp"
#include "rubato/detail/sched/task.hpp"
#include "rubato/detail/sched/waiting_routine.hpp"
#include "rubato/detail/sync/wait_list.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"
#include "rubato/time.hpp"

#include <atomic>
#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

namespace rubato {

/// An object of the caller's, whose callback a pool runs each time it is posted: at once, after a deadline,
/// or when it is woken. Neither a post nor a wait allocates. The callback never runs on two threads at once.
/// A callback that wants to run again posts its routine again; the post takes effect when the callback
/// returns.
///
/// wake() and signal() may be called by any thread in any state. All else is for one thread at a time: the
/// callback's while it runs, else the owner's. A callback that throws has ended; the exception goes to
/// pool_options::on_unhandled.
///
/// Posts do not count towards pool_options::max_queued(). With one worker, routines run in the order in which
/// they were posted. With more, those that one thread posts enter one queue in order and are taken oldest
/// first. While a callback blocks its thread, a spare (pool_options::spares()) may run the next ones.
///
/// Destroy a routine in its own callback, which must not use its captures afterwards, or while it is idle:
/// neither posted nor waiting. The destructor waits for a callback that is about to return on another thread;
/// in any other state it terminates with a message.
///
/// When the pool drains, a routine that waits for a deadline runs once more, not expired, and deadlines of
/// later posts never come; routines that still wait when nothing else is left to do are idle again, without a
/// run. When it discards, routines that are queued or wait are idle again at once. A signal stays up
/// meanwhile.
class routine final : detail::task, detail::waiting_routine {
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr time_point at_once = time_point::min(), // no deadline
      first_deadline = at_once + time_point::duration(1);

  // `due` is the deadline of the next post, until that is armed.
  detail::routine_state state_;
  detail::pool_core* core_ = nullptr; ///< where it is posted
  detail::routine_callback callback_;

  static void run(detail::task& base, detail::thread_context* runner) noexcept;
  [[nodiscard]] bool place() noexcept;
  void refuse() noexcept;
  void leave_queued(detail::made_ready_by cause) noexcept;
  void end_of_life() noexcept;
  void replace_callback(detail::routine_callback f) noexcept;

  [[nodiscard]] bool claim() noexcept override;
  void fire() noexcept override;
  [[nodiscard]] bool interrupt() noexcept override;
  [[nodiscard]] bool withdraw() noexcept override;
  void go_on() noexcept override;
  void let_go() noexcept override;

  template<class F>
  static consteval void check() {
    static_assert(std::is_invocable_v<F&, routine&>, "rubato: a routine's callback is called with routine&");
    static_assert(
        !std::is_invocable_v<F&, routine&> || detail::routine_callback::fits<F>,
        "rubato: a routine's callback is a function pointer or a callable of at most two words that "
        "moves without throwing: capture a pointer to the rest");
  }

public:
  /// `callback`: a function pointer or a callable of up to two words, void(routine&).
  template<class F>
    requires(!std::same_as<std::remove_cvref_t<F>, routine>)
  explicit routine(F&& callback)
      : task(&run)
      , callback_(std::forward<F>(callback)) {
    check<std::decay_t<F>>();
    holds_capacity = false;
    due = at_once;
  }
  routine(routine const&) = delete;
  routine& operator=(routine const&) = delete;
  ~routine() {
    if (!state_.is_idle()) end_of_life();
  }

  /// The callback of the next run. Set in the callback, it takes effect when that returns.
  template<class F>
  void set_callback(F&& callback) {
    check<std::decay_t<F>>();
    replace_callback(detail::routine_callback(std::forward<F>(callback)));
  }

  /// Runs it when the deadline passes that was set since it ran last; at once if none was. Terminates with a
  /// message if it is posted already. Throws cancelled if the pool refuses the post, as pool::enqueue(), or
  /// if it would wait in a pool that is closed or discards; in its own callback it is idle then, instead.
  void post(pool& p);
  /// The same, with that deadline.
  void post_at(pool& p, time_point t) {
    set_deadline(t);
    post(p);
  }
  /// The same after a duration, saturating.
  template<class Rep, class Period>
  void post_after(pool& p, std::chrono::duration<Rep, Period> d) {
    post_at(p, detail::deadline_after(d));
  }
  /// The same: runs it when it is woken or signalled.
  void post_wait(pool& p) { post_at(p, never); }

  /// The deadline of the next post. Each run begins with none.
  void set_deadline(time_point t) noexcept { due = t > at_once ? t : first_deadline; }
  /// The same after a duration from now, saturating.
  template<class Rep, class Period>
  void set_delay(std::chrono::duration<Rep, Period> d) noexcept {
    set_deadline(detail::deadline_after(d));
  }
  /// No deadline: the next post runs it when it is woken or signalled.
  void set_wait() noexcept { due = never; }
  /// The earlier of the two. Without a deadline it runs at once, and that is earlier.
  void tighten_deadline(time_point t) noexcept {
    if (t < due) set_deadline(t);
  }

  /// In the callback: true if the deadline had passed. It may have been signalled too.
  [[nodiscard]] bool expired() const noexcept { return state_.has_expired(); }

  /// It runs soon, once more than it would. In its callback: as soon as it is posted again, whatever the
  /// deadline; the same if it is idle. The caller keeps it from being destroyed meanwhile.
  void wake() noexcept {
    if (state_.raise(detail::routine_flag::woken)) go_on();
  }
  /// Wakes it, and puts a flag up, which stays until receive_signal(): until then every post runs at once.
  /// The caller does not touch it afterwards.
  void signal() noexcept {
    if (state_.raise(detail::routine_flag::signalled)) go_on();
  }
  /// In the callback, or while it is idle. True: the flag was up and is down now; unless other threads are
  /// about to wake it or to signal, the routine may be destroyed.
  [[nodiscard]] bool receive_signal() noexcept { return state_.receive(); }
};

static_assert(sizeof(routine) <= 128, "the documentation promises that");

/// Coroutines wait until it is set; then all waits end at once, until it is reset. Any thread may call any
/// member. A waiter may destroy it as soon as its wait has returned true.
class event {
  mutable detail::mutex mutex_;
  std::atomic<bool> set_{false}; // changes under mutex_
  detail::wait_list waiting_;    // guarded by mutex_

  class [[nodiscard("rubato: nothing waits before it is awaited, with co_await")]] awaiter final
      : public detail::waiter {
    event* event_;
    [[nodiscard]] bool insert() noexcept override;
    [[nodiscard]] bool remove() noexcept override;

  public:
    explicit awaiter(event& e) noexcept
        : event_(&e) {}
    awaiter(awaiter&&) noexcept = default;
    ~awaiter() { retire(); }
    [[nodiscard]] bool await_ready() const noexcept { return event_->is_set(); }
    void await_resume() {
      if (retire()) throw cancelled();
    }
  };

public:
  constexpr event() noexcept = default;
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  ~event() = default;

  /// Ends all waits. The caller does not touch it afterwards.
  void set() noexcept;
  /// Later waits wait again, until the next set().
  void reset() noexcept;
  /// True after set() and before reset().
  [[nodiscard]] bool is_set() const noexcept;

  /// co_await wait(): until it is set. Throws cancelled if the task is stopped meanwhile.
  auto wait() noexcept { return awaiter(*this); }
  /// co_await wait_until(t): the same until t at the latest. False: it was not set by then, or the task was
  /// stopped, or its pool began to drain, during the wait. Begun after that, it throws cancelled.
  [[nodiscard]] task<bool> wait_until(std::chrono::steady_clock::time_point t);
  /// The same for at most `d`.
  template<class Rep, class Period>
  [[nodiscard]] task<bool> wait_for(std::chrono::duration<Rep, Period> d) {
    return wait_until(detail::deadline_after(d));
  }
};

} // namespace rubato
