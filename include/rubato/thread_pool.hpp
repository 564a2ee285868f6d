// The pool: its workers, its queued tasks, its start and its shutdown.
//
//   #include <rubato/thread_pool.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(rubato::no_workers); // queued tasks wait
//     pool.enqueue([] { std::puts("done"); }); // -> done
//     pool.resize(2);
//     pool.wait_idle();
//     std::printf("%u workers\n", pool.size()); // -> 2 workers
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/sched/blocking_region.hpp"
#include "rubato/detail/sched/callable.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "rubato/future.hpp"
#include "rubato/pool_options.hpp"
#include "rubato/priority.hpp"
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

namespace detail {
void lose_core(pool& p, unsigned workers) noexcept;
} // namespace detail

/// min(affinity mask, quota of the nested control groups v1 and v2, rounded up), never 0. Reads /proc and
/// /sys.
[[nodiscard]] unsigned usable_cpus();

/// The type of `drain`.
struct drain_t {
  explicit constexpr drain_t() = default;
};
/// The type of `discard`.
struct discard_t {
  explicit constexpr discard_t() = default;
};
/// The type of `no_workers`.
struct no_workers_t {
  explicit constexpr no_workers_t() = default;
};
/// The type of `deterministic`.
struct deterministic_t {
  explicit constexpr deterministic_t() = default;
};
/// Tag: the pool ends when its work has run. See pool::shutdown().
inline constexpr drain_t drain{};
/// Tag: the pool drops tasks that have not begun and cancels waits. See pool::shutdown().
inline constexpr discard_t discard{};
/// Tag: a pool that starts without workers.
inline constexpr no_workers_t no_workers{};
/// Tag: a result that is the same to the bit with any number of workers. See reduce().
inline constexpr deterministic_t deterministic{};

/// The calling thread belongs to the pool while this object lives. Neither movable nor usable by another
/// thread.
class [[nodiscard("a membership ends with this object: give it a name")]] membership {
  friend class pool;
  detail::thread_context* previous_;
  detail::thread_context* mine_;
  explicit membership(pool& p);

public:
  membership(membership const&) = delete;
  membership& operator=(membership const&) = delete;
  ~membership();
};

/// A set of workers and the tasks queued for them. Every member function except the constructors and the
/// destructor may be called from any thread, and from tasks unless it says otherwise.
class pool {
  friend void detail::lose_core(pool& p, unsigned workers) noexcept;
  friend class membership;
  friend detail::pool_core* detail::core_of(pool& p);
  static constexpr unsigned by_machine = ~0U;

  // Null until the first use, and again in the child after fork().
  std::atomic<detail::pool_core*> core_{nullptr};
  unsigned workers_ = by_machine;
  pool_options* options_ = nullptr;
  bool immortal_ = false; ///< the global pool

public:
  /// usable_cpus() workers, started at the first use. Usable in constant initialisation.
  constexpr pool() noexcept = default;
  /// No workers until resize(): queued tasks wait, and a thread that waits for the pool's work runs it.
  constexpr explicit pool(no_workers_t) noexcept
      : workers_(0) {}
  /// Starts `workers` threads, at most 1,024. Throws std::invalid_argument above that, std::system_error if a
  /// thread cannot be made.
  explicit pool(unsigned workers);
  explicit pool(pool_options options);
  /// Shuts the pool down as shutdown(drain) does. A pool without workers discards its tasks. Called from a
  /// task of this pool, it terminates the program with a message.
  ~pool();

  /// The pool of the whole program: usable_cpus() workers, started at the first use, never destroyed. An exit
  /// handler drains it; tasks queued later are discarded.
  static pool& global();

  /// Sets the number of workers and returns the old number, without waiting: a surplus worker leaves when its
  /// task ends. Restarts a pool that was shut down. 0: see no_workers.
  unsigned resize(unsigned workers);
  /// The number of workers that the constructor or the last resize() asked for.
  [[nodiscard("size() only reads the number of workers: resize() changes it")]] unsigned size() const;
  /// Every current_worker() is below it: the highest possible number of threads, spares and guests included.
  [[nodiscard]] unsigned slots() const;
  /// The number of tasks queued and not begun. Approximate while the pool works.
  [[nodiscard]] std::size_t pending() const;

  /// Ends the pool's work and leaves the pool empty; resize() restarts it. In a pool without workers the
  /// caller runs the tasks. From a task of this pool it throws
  /// std::system_error(resource_deadlock_would_occur).
  ///
  /// drain: every stop token of the pool's tasks shows a stop. Waits for time end as cancelled.
  /// Queued tasks run, and so do the tasks that they spawn. A closure that waits, in get() or a scope, counts
  /// as running: shutdown() waits for it, however long. Once nothing runs, the pool destroys coroutines that
  /// are still suspended in Rubato's operations and breaks their futures. Threads outside the pool may queue
  /// 1,024 more tasks meanwhile; after that try_enqueue() returns false, and enqueue(), spawn() and submit()
  /// throw cancelled and leave the callable untouched.
  ///
  /// After one second it prints to standard error what it waits for.
  void shutdown(drain_t = drain);
  /// discard: drops tasks that have not begun and asks every other task to stop: waits for futures, locks and
  /// time end as cancelled, those for channels by a value that says so. Waits for borrowed work (scopes,
  /// join, loops, run, blocking, block_on) end with that work. shutdown() waits for running tasks.
  void shutdown(discard_t);
  /// A drain that becomes a discard after `grace`. Returns true if no discard began: waits for time ended
  /// early and suspended coroutines were destroyed all the same. A pool that was shut down has nothing to do.
  template<class Rep, class Period>
  bool shutdown(drain_t /*how*/, std::chrono::duration<Rep, Period> grace) {
    return shutdown_until(detail::deadline_after(grace));
  }
  /// The same without waiting, from any thread, also from tasks, stop callbacks and on_stall. A discard may
  /// follow a drain.
  void request_shutdown(drain_t);
  void request_shutdown(discard_t);

  /// Queues f(std::stop_token) if f accepts a token, as f(auto...) does, else f(). The result is dropped; an
  /// exception goes to on_unhandled. A task or future that f returns goes on, and f lives until it ends.
  /// Waits while max_queued tasks are queued. f is decay-copied. Throws std::bad_alloc.
  template<class F>
  void enqueue(F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::pool_core& c = core();
      detail::acquire_capacity(c);
      detail::queue_within_capacity(c, std::forward<F>(f));
    }
  }
  /// The same for a coroutine.
  template<class T>
  void enqueue(task<T> t);
  /// The same in a class: see priority. It says which queued task begins first, and does not pass over
  /// max_queued.
  template<class F>
  void enqueue(priority p, F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::pool_core& c = core();
      detail::acquire_capacity(c);
      detail::queue_within_capacity(c, std::forward<F>(f), p);
    }
  }
  template<class T>
  void enqueue(priority p, task<T> t);
  /// The same, but returns false and leaves f untouched if max_queued tasks are queued.
  template<class F>
  [[nodiscard("false: f was not queued")]] bool try_enqueue(F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::pool_core& c = core();
      if (!detail::try_acquire_capacity(c)) return false;
      detail::queue_within_capacity(c, std::forward<F>(f));
    }
    return true;
  }
  /// Queues f(0) ... f(n - 1) in one step and with one allocation. They run in any order on any threads, and
  /// several threads call f at once. They count as one queued task.
  template<class F>
  void enqueue_bulk(std::size_t n, F&& f);

  /// Queues f(std::stop_token, args...) if f accepts a token, else f(args...), and returns the future of its
  /// result. A future or task that f returns is awaited first, and f and its arguments live until it ends. f
  /// and the arguments are decay-copied and passed as rvalues. One allocation. Waits while max_queued tasks
  /// are queued.
  template<class F, class... Args>
  auto spawn(F&& f, Args&&... args);
  /// The same for a coroutine.
  template<class T>
  future<T> spawn(task<T> t);
  /// The same in a class: see priority. Each resumption, and what then() appends, has that class too. A
  /// thread that waits for the result may run the task at once, whatever its class.
  template<class F, class... Args>
  auto spawn(priority p, F&& f, Args&&... args);
  template<class T>
  future<T> spawn(priority p, task<T> t);
  /// The same on one seat only; a coroutine is resumed there too. Throws std::out_of_range unless seat <
  /// size(). A seat's number is not current_worker(), which numbers threads; threads change seats.
  template<class F>
  auto spawn_on(unsigned seat, F&& f);
  /// As spawn, for code that needs a std::future; two allocations. A task must not wait for it: the wait
  /// would keep its seat from other threads.
  template<class F, class... Args>
  auto submit(F&& f, Args&&... args);
  /// Runs a task, or waits for a future or any other awaitable, and returns its result. A thread of this pool
  /// begins a task on its own stack.
  template<class A>
  decltype(auto) block_on(A&& awaitable);

  /// Queues f(), or f(std::stop_token), after `d` or at `t`, never earlier. The handle can cancel it, and the
  /// end of the pool does. An exception goes to on_unhandled. Not limited by max_queued.
  template<class Rep, class Period, class F>
  timer_handle enqueue_after(std::chrono::duration<Rep, Period> d, F&& f) {
    return enqueue_at(detail::deadline_after(d), std::forward<F>(f));
  }
  /// The same at a point in time.
  template<class F>
  timer_handle enqueue_at(std::chrono::steady_clock::time_point t, F&& f);

  /// Runs f once per seat, each time on a thread that occupies that seat, and waits. Returns the results by
  /// seat; in a pool without workers, none. One thread may serve several seats in turn: per-thread setup
  /// belongs in pool_options::on_start(). The first exception is thrown after all calls have ended.
  template<class F>
  auto broadcast(F&& f);

  /// Runs f on the calling thread as a thread of the pool, and waits for a task or future that f returns;
  /// returns f's result. The caller occupies a free or sleeping seat if there is one, so that size() threads
  /// run in all, else it runs f at once as a guest. At most 65,535 threads from outside may be in one pool at
  /// the same time, by run(), by join_as_member(), and by scopes and loops with a pool argument; above that
  /// it throws std::system_error.
  template<class F>
  auto run(F&& f) -> detail::brought_if_fits_t<F>;
  /// The same for the lifetime of the result.
  membership join_as_member();

  /// Waits for a moment in which nothing is queued or running, no timer is armed and no closure waits; always
  /// returns true. Coroutines that await anything but time do not count. Throws std::system_error
  /// (resource_deadlock_would_occur) from a task of this pool.
  bool wait_idle();
  /// The same for at most `d`; returns false if the pool was busy all the time.
  template<class Rep, class Period>
  bool wait_idle(std::chrono::duration<Rep, Period> d) {
    return wait_idle_until(detail::deadline_after(d));
  }

  /// The pool's counters, in total and by seat.
  [[nodiscard("stats() only reads counters")]] pool_stats stats() const;
  /// How many jobs and tasks moved to another thread: handed + taken + stolen.
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

/// The calling thread's number in the pool whose code it runs: unique among that pool's threads, constant
/// within a task, below slots(). Outside any pool, nullopt.
[[nodiscard]] inline std::optional<unsigned> current_worker() noexcept {
  if (detail::current->core == nullptr) return std::nullopt;
  return detail::current->index;
}
/// The pool whose code the calling thread runs, or null.
[[nodiscard]] pool* current_pool() noexcept;

namespace detail {

/// The pool that free functions use: the caller's own, else the global one.
[[nodiscard]] pool& pool_or_current(pool* p);

struct blocking_fn {
  /// Calls f(), which may block in the kernel; meanwhile another thread occupies the caller's seat. Outside a
  /// pool it only calls f. Returns the result of f, or of the task or future that f returns.
  ///
  /// If many consecutive calls of the same callable were brief, such as reads of a cached file, the caller
  /// keeps its seat, because leaving it would take longer. If one of them blocks after all, the tasks queued
  /// behind it, or bound to its seat, and what the caller has forked and spawned start after 10 ms, on a
  /// thread without a seat.
  template<class F>
  auto operator()(F&& f) const -> brought_if_fits_t<F> {
    static_assert(fits<F>, "rubato: blocking(f): f must be callable as f()");
    if constexpr (!fits<F>) {
      return {};
    } else {
      thread_context& me = *current;
      if (me.core == nullptr) return static_cast<brought_t<F>>(call_and_wait(me, std::forward<F>(f)));
      blocking_region const guard(me, history_of<std::remove_cvref_t<F>>);
      return static_cast<brought_t<F>>(call_and_wait(me, std::forward<F>(f)));
    }
  }
};

struct enqueue_fn : pool_forms<enqueue_fn> {
  /// pool::enqueue on the current pool.
  template<class F>
  static void on(pool* p, F&& f) {
    pool_or_current(p).enqueue(std::forward<F>(f));
  }
  /// The same in a class.
  template<class F>
  static void on(pool* p, priority c, F&& f) {
    pool_or_current(p).enqueue(c, std::forward<F>(f));
  }
};

} // namespace detail

inline constexpr detail::blocking_fn blocking{};
inline constexpr detail::enqueue_fn enqueue{};

} // namespace rubato

#include "rubato/detail/pool/thread_pool_impl.hpp"
