// The pool: its workers, what is queued on it, its life.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/away.hpp"
#include "rubato/detail/callable.hpp"
#include "rubato/detail/flattened.hpp"
#include "rubato/detail/pool_access.hpp"
#include "rubato/detail/unattended.hpp"
#include "rubato/future.hpp"
#include "rubato/pool_options.hpp"
#include "rubato/stats.hpp"
#include "rubato/timer_handle.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato {

template<class T>
class task;

/// min(affinity mask, quota of the control groups v1 and v2, nested, rounded up), never 0. Reads /proc and
/// /sys.
[[nodiscard]] unsigned usable_cpus();

/// Tags: how a pool ends; a pool that starts without workers; and a result that is the same to the bit
/// whatever the number of workers.
struct drain_t {
  explicit constexpr drain_t() = default;
};
struct discard_t {
  explicit constexpr discard_t() = default;
};
struct no_workers_t {
  explicit constexpr no_workers_t() = default;
};
struct deterministic_t {
  explicit constexpr deterministic_t() = default;
};
inline constexpr drain_t drain{};
inline constexpr discard_t discard{};
inline constexpr no_workers_t no_workers{};
inline constexpr deterministic_t deterministic{};

/// The calling thread is a member of a pool as long as this lives. Neither movable nor for another thread.
class [[nodiscard("a membership ends with this object: give it a name")]] membership {
  friend class pool;
  detail::member* previous_;
  detail::member* mine_;
  explicit membership(pool& p);

public:
  membership(membership const&) = delete;
  membership& operator=(membership const&) = delete;
  ~membership();
};

/// A set of workers and what is queued for them. Every member function may be called from any thread, from
/// tasks too unless it says otherwise, but for the constructors and the destructor.
class pool {
  friend class detail::pool_core;
  friend class membership;
  friend detail::pool_core* detail::core_of(pool& p);
  static constexpr unsigned by_machine = ~0U;

  // Null until the first use, and again in the child after fork().
  std::atomic<detail::pool_core*> core_{nullptr};
  unsigned workers_ = by_machine;
  pool_options* options_ = nullptr;
  bool immortal_ = false; ///< the global pool

public:
  /// usable_cpus() workers, started at first use. Usable in constant initialisation.
  constexpr pool() noexcept = default;
  /// Empty until resize(): what is queued waits, and a thread that waits for the pool drives it.
  constexpr explicit pool(no_workers_t) noexcept
      : workers_(0) {}
  /// Starts `workers` threads, at most 1,024; std::invalid_argument above, std::system_error if they cannot
  /// be had.
  explicit pool(unsigned workers);
  explicit pool(pool_options options);
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;
  /// Drains: requests stop, runs what is ready and what that spawns, ends the threads. A pool without workers
  /// discards what is queued. From a task of this pool: terminates with a message.
  ~pool();

  /// The pool of the whole program: usable_cpus() workers, started at first use, never destroyed; an exit
  /// handler drains it, and what is queued later is discarded.
  static pool& global();

  /// Sets how many workers there are to be and returns the old number, without waiting: a worker above the
  /// number leaves when its task ends. Starts a pool again that was shut down. 0: see no_workers.
  unsigned resize(unsigned workers);
  [[nodiscard("size() only reads the number of workers: resize() changes it")]] unsigned size() const;
  /// Every current_worker() is below it: the highest number of threads, spares and guests included.
  [[nodiscard]] unsigned slots() const;
  /// How many tasks are queued and not begun. Approximate while the pool works.
  [[nodiscard]] std::size_t pending() const;

  /// Runs what is queued, here if there are no workers, and leaves the pool empty; resize() starts it again.
  /// From a task of this pool it throws std::system_error(resource_deadlock_would_occur).
  ///
  /// drain: every stop token of the pool's tasks shows a stop; waits for time and I/O end as cancelled. What
  /// is queued runs, and what that spawns. A closure that waits, in get() or a scope, counts as running: it
  /// is waited for, however long. Once nothing runs, coroutines that are still suspended on something of
  /// Rubato's are destroyed, and their futures are broken. Threads outside the pool may queue 1,024 more
  /// tasks meanwhile; then try_enqueue() is false, and enqueue(), spawn() and submit() throw cancelled and
  /// leave the callable untouched.
  ///
  /// After a second it says on standard error for what it waits.
  void shutdown(drain_t = drain);
  /// discard: drops what has not begun, and stops each task: its waits for futures, channels, locks, time and
  /// I/O end as cancelled. Waits for borrowed work (scopes, join, loops, run, blocking, block_on) end with
  /// that work. What runs is waited for.
  void shutdown(discard_t);
  /// A drain that becomes a discard after `grace`. True: it drained.
  template<class Rep, class Period>
  bool shutdown(drain_t /*how*/, std::chrono::duration<Rep, Period> grace) {
    return shutdown_until(detail::deadline_after(grace));
  }
  /// The same without waiting, from anywhere: from tasks, stop callbacks and on_stall too. A discard may
  /// follow a drain.
  void request_shutdown(drain_t);
  void request_shutdown(discard_t);

  /// Queues f(std::stop_token), if it can be called so, as f(auto...) can, else f(); the result is dropped,
  /// an exception goes to on_unhandled. A task or future that f returns goes on, and f lives until it ends.
  /// Waits while max_queued tasks are queued. f is decay-copied. Throws std::bad_alloc.
  template<class F>
  void enqueue(F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::pool_core& c = core();
      detail::acquire_room(c);
      detail::queue_in_room(c, std::forward<F>(f));
    }
  }
  /// The same for a coroutine.
  template<class T>
  void enqueue(task<T> t);
  /// The same, but false if max_queued tasks are queued; then f is left untouched.
  template<class F>
  [[nodiscard("false: f was not queued")]] bool try_enqueue(F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::pool_core& c = core();
      if (!detail::try_acquire_room(c)) return false;
      detail::queue_in_room(c, std::forward<F>(f));
    }
    return true;
  }
  /// Queues f(0) ... f(n - 1), in one step and one allocation; order and thread of each are free. f must bear
  /// being called by several threads at once. It counts as one queued task.
  template<class F>
  void enqueue_bulk(std::size_t n, F&& f);

  /// Queues f(std::stop_token, args...), if it can be called so, else f(args...), and returns the future of
  /// its result; a future or task that f returns is waited for, and f and its arguments live until then. f
  /// and the arguments are decay-copied, and passed as rvalues. One allocation. Waits while max_queued tasks
  /// are queued.
  template<class F, class... Args>
  auto spawn(F&& f, Args&&... args);
  /// The same for a coroutine.
  template<class T>
  future<T> spawn(task<T> t);
  /// The same on the seat of that number alone; a coroutine is resumed there too. std::out_of_range unless
  /// seat < size(). current_worker() is not its number: that is the thread's, and threads change seats.
  template<class F>
  auto spawn_on(unsigned seat, F&& f);
  /// As spawn, for code that wants a std::future; two allocations. A task must not wait for it: it would not
  /// leave its seat to others.
  template<class F, class... Args>
  auto submit(F&& f, Args&&... args);
  /// Runs a task, or waits for a future or anything else that can be awaited, and returns its result. A
  /// member of this pool begins a task on its own stack.
  template<class A>
  decltype(auto) block_on(A&& awaitable);

  /// Queues f(), or f(std::stop_token), after `d`, or at `t`, not before; the handle can call it off, and so
  /// does the end of the pool. An exception goes to on_unhandled. Not limited by max_queued.
  template<class Rep, class Period, class F>
  timer_handle enqueue_after(std::chrono::duration<Rep, Period> d, F&& f) {
    return enqueue_at(detail::deadline_after(d), std::forward<F>(f));
  }
  template<class F>
  timer_handle enqueue_at(std::chrono::steady_clock::time_point t, F&& f);

  /// Runs f once per seat, each on a thread that sits there, and waits; the results by seat. One thread may
  /// serve several seats in turn: what every thread needs belongs in pool_options::on_start(). Of a pool
  /// without workers: nothing. The first exception is thrown after all have ended.
  template<class F>
  auto broadcast(F&& f);

  /// Runs f on the calling thread as a member of the pool, and waits for a task or future that f returns: on
  /// a free or sleeping seat if there is one, so that size() threads run in all, else at once as a guest.
  /// Returns f's result. At most 65,535 threads from outside may be in one pool at the same time, by this, by
  /// join_as_member() and by scopes and loops that are given a pool: std::system_error above.
  template<class F>
  auto run(F&& f) -> detail::brought_if_fits_t<F>;
  /// The same for the lifetime of the result.
  membership join_as_member();

  /// Waits until nothing was queued or running for a moment, no timer armed and no closure in a wait; always
  /// true. Coroutines that await something else than time do not count. Throws std::system_error
  /// (resource_deadlock_would_occur) from a task of this pool.
  bool wait_idle();
  /// The same for at most `d`; false: it was busy all the time.
  template<class Rep, class Period>
  bool wait_idle(std::chrono::duration<Rep, Period> d) {
    return wait_idle_until(detail::deadline_after(d));
  }

  [[nodiscard("stats() only reads counters")]] pool_stats stats() const;
  /// How many jobs and tasks changed hands: handed + taken + stolen.
  [[nodiscard]] std::uint64_t steal_count() const;

private:
  struct immortal {};
  constexpr explicit pool(immortal /*the global one*/) noexcept
      : immortal_(true) {}
  bool wait_idle_until(std::chrono::steady_clock::time_point deadline);
  bool shutdown_until(std::chrono::steady_clock::time_point discard_at);
  detail::pool_core& core() const;
  void end_of_program();
};

/// The number of the calling thread in the pool whose code it runs: unique among that pool's threads,
/// constant within a task, below slots(). Nothing outside any pool.
[[nodiscard]] inline std::optional<unsigned> current_worker() noexcept {
  if (detail::current->core == nullptr) return std::nullopt;
  return detail::current->index;
}
/// The pool whose code the calling thread runs, or null.
[[nodiscard]] pool* current_pool() noexcept;

namespace detail {

/// The pool that free functions act on: the caller's own, else the global one.
[[nodiscard]] pool& pool_or_current(pool* p);

struct blocking_fn {
  /// Calls f(), which may block in the kernel: meanwhile another thread sits on the caller's seat. Outside a
  /// pool it just calls f. Returns the result of f, or of the task or future that f returns.
  ///
  /// Where calls of the same callable have been brief many times in a row, as reads of a cached file are, the
  /// seat is kept: to leave it would take longer. If one blocks after all, what waits behind it is started
  /// after 10 ms, as behind any busy task.
  template<class F>
  auto operator()(F&& f) const -> brought_if_fits_t<F> {
    static_assert(fits<F>, "rubato: blocking(f): f must be callable as f()");
    if constexpr (!fits<F>) {
      return {};
    } else {
      member& me = *current;
      if (me.core == nullptr) return static_cast<brought_t<F>>(call_and_wait(me, std::forward<F>(f)));
      away const guard(me, history_of<std::remove_cvref_t<F>>);
      return static_cast<brought_t<F>>(call_and_wait(me, std::forward<F>(f)));
    }
  }
};

struct enqueue_fn {
  /// pool::enqueue on the current pool.
  template<class F>
  void operator()(F&& f) const {
    pool_or_current(nullptr).enqueue(std::forward<F>(f));
  }
  template<class F>
  void operator()(pool& p, F&& f) const {
    p.enqueue(std::forward<F>(f));
  }
};

} // namespace detail

inline constexpr detail::blocking_fn blocking{};
inline constexpr detail::enqueue_fn enqueue{};

} // namespace rubato

#include "rubato/detail/thread_pool_impl.hpp"
