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

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/future.hpp"
#include "rubato/pool_options.hpp"
#include "rubato/priority.hpp"
#include "rubato/stats.hpp"
#include "rubato/timer_handle.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace rubato {

template<class T>
class task;

/// How many CPUs this process may use: the size of its affinity mask, or the CPU quota of its control groups
/// (v1 and v2, nested, rounded up) if that is less. Never 0. Reads /proc and /sys.
[[nodiscard]] RUBATO_API unsigned usable_cpus();

/// The type of `drain`.
struct drain_t {
  explicit constexpr drain_t() = default;
};
/// The type of `discard`.
struct discard_t {
  explicit constexpr discard_t() = default;
};
/// The type of `deterministic`.
struct deterministic_t {
  explicit constexpr deterministic_t() = default;
};
/// The type of `per_thread`.
struct per_thread_t {
  explicit constexpr per_thread_t() = default;
};
/// Tag: once on each thread. See pool::broadcast().
inline constexpr per_thread_t per_thread{};
/// Tag: a pool ends when its work has run. See pool::shutdown().
inline constexpr drain_t drain{};
/// Tag: a pool drops tasks that have not begun, and ends waits. See pool::shutdown().
inline constexpr discard_t discard{};
/// Tag: a result that is the same to the bit with any number of workers. See reduce().
inline constexpr deterministic_t deterministic{};

/// The result of pool::join_as_member(): the calling thread is a member of the pool while this object lives.
/// Not movable. The thread that made it must destroy it.
class [[nodiscard("a membership ends with this object: give it a name")]] RUBATO_API membership {
  friend class pool;
  friend class detail::owned_pool;
  detail::thread_context* previous_;
  detail::thread_context* mine_;
  explicit membership(pool& p, bool as_worker = false);

public:
  membership(membership const&) = delete;
  membership& operator=(membership const&) = delete;
  ~membership();
};

/// A set of workers and the tasks queued for them. Thread-safe, except for the constructors and the
/// destructor. Tasks may call all members, unless the member says otherwise. Each function that queues work
/// throws std::bad_alloc if there is no memory, and std::system_error if it is the first use of the pool and
/// a thread cannot be made.
///
/// Source: work stealing (R. D. Blumofe, C. E. Leiserson, JACM 46(5), 1999); seats as the P of Go's scheduler
/// (D. Vyukov, 2012).
class RUBATO_API pool {
  friend void detail::lose_core(pool& p, unsigned workers) noexcept;
  friend class membership;
  friend detail::pool_core* detail::core_of(pool& p);
  friend bool detail::sleeps(pool* p) noexcept;
  static constexpr unsigned by_machine = ~0U;

  // Null until the first use, and again in the child after fork().
  detail::published<detail::pool_core*> core_;
  unsigned workers_ = by_machine;
  std::shared_ptr<pool_options const> options_; ///< null: the defaults
  bool immortal_ = false;                       ///< the global pool

public:
  /// A pool of usable_cpus() workers, which start at the first use. Usable in constant initialisation.
  constexpr pool() noexcept = default;
  /// A pool without workers until resize(). Queued tasks wait. A thread that waits for the pool's work runs
  /// it.
  constexpr explicit pool(no_workers_t) noexcept
      : workers_(0) {}
  /// Starts `workers` threads, at most 1,024. Throws std::invalid_argument if there are more, or if it is 0
  /// (a pool without workers is made with no_workers), and std::system_error if a thread cannot be made.
  explicit pool(unsigned workers);
  explicit pool(pool_options options);
  pool(pool const&) = delete;
  pool& operator=(pool const&) = delete;
  /// Shuts the pool down as shutdown(drain) does. A pool without workers discards its tasks. Called from a
  /// task of this pool, it terminates the program with a message.
  ~pool();

  /// The pool of the whole program: usable_cpus() workers, started at the first use, never destroyed. An exit
  /// handler drains it. Tasks that are queued afterwards are dropped. Functions that take no pool, such as
  /// for_each(range, f), use it when they are called outside any pool: beside a pool of the program's own it
  /// doubles the number of threads. configure_global() changes that.
  static pool& global();
  /// The options of the global pool, with which it starts at its first use. workers(no_workers): what uses it
  /// runs on the thread that waits. A later call replaces the options of an earlier one. Any thread may call
  /// it. Throws std::logic_error if the pool has been used, and otherwise as the constructor does. In the
  /// child after fork() the pool keeps its options, and counts as unused until its first use there.
  static void configure_global(pool_options options);

  /// Sets the number of workers and returns the old number. Does not wait: a surplus worker leaves when its
  /// task ends. Restarts a pool that was shut down. 0: see no_workers. Throws std::invalid_argument above
  /// 1,024, std::bad_alloc, and std::system_error if no thread can be made; then the number of workers has
  /// not changed. After a system_error a pool that was shut down has been restarted, without workers.
  unsigned resize(unsigned workers);
  /// The number of workers that the constructor or the last resize() asked for; 0 after a shutdown.
  [[nodiscard("size() only reads the number of workers: resize() changes it")]] unsigned size() const;
  /// The highest possible number of threads, spares and guests included. Every current_worker() is below it.
  [[nodiscard]] unsigned slots() const;
  /// The number of tasks queued and not begun. Approximate while the pool works.
  [[nodiscard]] std::size_t pending() const;

  /// Ends the pool's work and its threads. Afterwards the pool is closed: until resize() restarts it, it
  /// refuses new work from any thread, as described below. In a pool without workers the caller runs the
  /// tasks. From a task of this pool it throws std::system_error(resource_deadlock_would_occur): tasks call
  /// request_shutdown(). docs/shutdown.md lists what becomes of each wait.
  ///
  /// drain: every stop token of the pool's tasks shows a stop. Waits for time and I/O end early. Queued tasks
  /// run, and so do the tasks that they spawn. A closure that waits, in get() or a scope, counts as running:
  /// shutdown() waits for it, however long. When nothing runs any more, the pool destroys coroutines that are
  /// still suspended on an object of Rubato, and their futures throw broken_promise. Threads outside the pool
  /// may queue 1,024 more tasks meanwhile. Beyond these, try_enqueue() returns false, and enqueue(), spawn()
  /// and submit() throw cancelled and leave the callable untouched. A closed pool refuses all new work in
  /// this way. What is not new, such as a continuation whose input becomes ready, stays queued until
  /// resize(), or until a thread waits for it; the destructor drops it.
  ///
  /// After one second it prints to standard error what it waits for.
  void shutdown(drain_t = drain);
  /// discard: drops tasks that have not begun, and asks every other task to stop. Waits for futures, locks
  /// and time end with cancelled, waits for channels with a value that says so. Waits for borrowed work
  /// (scopes, join, loops, run, blocking, block_on) end with that work. shutdown() waits for running tasks.
  void shutdown(discard_t);
  /// A drain that becomes a discard after `grace`. Returns true if no discard began; even then, waits for
  /// time ended early and suspended coroutines were destroyed. On a pool that was shut down it does nothing
  /// and returns true.
  bool shutdown(drain_t /*how*/, detail::delay grace) {
    return shutdown_until(detail::deadline_after(grace));
  }
  /// Begins a shutdown and does not wait. Tasks, stop callbacks and on_stall may call it too. A discard may
  /// follow a drain.
  void request_shutdown(drain_t);
  void request_shutdown(discard_t);

  /// Queues f(std::stop_token) if f accepts a token, as f(auto...) does, otherwise f(). f is decay-copied.
  /// The result is dropped; an exception goes to pool_options::on_unhandled(), unless it is a cancelled with
  /// which a wait of f ended because the pool ends. f may be a task. If f returns a task or future, its work
  /// goes on, and f lives until that work ends. Without memory to begin a task on_unhandled() gets the
  /// bad_alloc. While max_queued() tasks are queued, enqueue() waits. Throws
  /// cancelled, and leaves f untouched, if the pool refuses tasks because it ends or was shut down.
  template<class F>
  void enqueue(F&& f) {
    enqueue(priority::normal, std::forward<F>(f));
  }
  /// enqueue(f) with a priority, which says which queued task begins first. max_queued() applies to all
  /// priorities.
  template<class F>
  void enqueue(priority p, F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::arrival in(core());
      detail::queue_detached(in.core(), &in, std::forward<F>(f), p);
    }
  }
  /// Does not compile: f takes no arguments here.
  template<class F, class Arg, class... Args>
  void enqueue(F&& /*f*/, Arg&& /*arg*/, Args&&... /*args*/) {
    detail::explain_enqueue<F>();
  }
  /// enqueue(f), but does not wait: returns false and leaves f untouched if max_queued() tasks are queued, or
  /// if the pool refuses tasks because it ends or was shut down.
  template<class F>
  [[nodiscard("false: f was not queued")]] bool try_enqueue(F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      detail::arrival in(core(), detail::arrival::at_once());
      if (in.is_refused()) return false;
      detail::queue_detached(in.core(), &in, std::forward<F>(f));
    }
    return true;
  }
  /// Queues f(0) ... f(n - 1) in one step and with one allocation. They run in any order, and several threads
  /// call f at once. They count as one queued task. Waits and throws as enqueue() does.
  template<class F>
  void enqueue_bulk(std::size_t n, F&& f);

  /// Queues f(std::stop_token, args...) if f accepts a token, otherwise f(args...), and returns the future of
  /// its result. f and the arguments are decay-copied, and the arguments are passed as rvalues. f may be
  /// a task. A future or task that f returns is awaited first, and f and its arguments live until it ends.
  /// Waits and throws as enqueue() does. One allocation.
  template<class F, class... Args>
  auto spawn(F&& f, Args&&... args);
  /// spawn() with a priority. Resumptions, and callables that then() appends, have that priority too. A
  /// thread that waits for the result may run the task at once, whatever its priority.
  template<class F, class... Args>
  auto spawn(priority p, F&& f, Args&&... args);
  /// spawn(f) on one seat only. A coroutine is resumed there too. Throws std::out_of_range unless seat <
  /// size(). The number of a seat is not current_worker(), which numbers threads: threads change seats, at
  /// a co_await too. If the thread of the seat sleeps in the kernel for 10 ms, another one runs what is bound
  /// to it meanwhile. So tasks of one seat may overlap: what must not overlap takes a `strand`.
  template<class F>
  auto spawn_on(unsigned seat, F&& f);
  /// As spawn(), for code that needs a std::future. Dropping that future stops nothing. A task must not wait
  /// for it, because the wait would keep the task's seat. Four allocations.
  template<class F, class... Args>
  auto submit(F&& f, Args&&... args);
  /// Runs a task, or waits for a future or any other awaitable, and returns its result or throws its
  /// exception. A thread of this pool begins a task on its own stack.
  template<class A>
  decltype(auto) block_on(A&& awaitable);

  /// Queues f(), or f(std::stop_token), after `d`, never earlier. The handle can cancel the call, and the end
  /// of the pool cancels it. An exception goes to on_unhandled(). max_queued() does not apply. Throws
  /// cancelled, and leaves f untouched, if the pool was shut down.
  template<class F>
  timer_handle enqueue_after(detail::delay d, F&& f) {
    return enqueue_at(detail::deadline_after(d), std::forward<F>(f));
  }
  /// enqueue_after(), at `t`, never earlier.
  template<class F>
  timer_handle enqueue_at(std::chrono::steady_clock::time_point t, F&& f);

  /// Runs f once per seat, each time on a thread that occupies that seat, or serves it while its thread
  /// sleeps in the kernel (spawn_on()), and waits. Returns a vector of the results by seat, or nothing if f
  /// returns void; in a pool without workers f never runs. One thread may serve several seats in turn, so
  /// per-thread setup belongs in pool_options::on_start(). Throws the first exception after all calls have
  /// ended. A task may call it, too. If the pool is discarded meanwhile, or no thread is left that could take
  /// a seat, the caller makes that seat's call.
  template<class F>
  auto broadcast(F&& f);
  /// Runs f once on each of the pool's own threads, which are at least size() if the system has that many,
  /// and waits. Returns a vector of the results in the order of the threads' numbers (current_worker()), or
  /// nothing if f returns void. A thread runs f between two tasks, or in a wait: so f must not need a lock
  /// that a task may hold while it waits. A thread that blocks in the kernel delays the call. Throws the
  /// first exception after all calls have ended, and cancelled if the pool is closed or discarded.
  template<class F>
  auto broadcast(per_thread_t /*where*/, F&& f);

  /// Runs f on the calling thread as a member of the pool, and returns f's result. If f returns a task or
  /// future, run() waits for it. If a seat is free or its worker sleeps, the caller occupies that seat, so
  /// that size() threads run in all. Otherwise the caller runs f at once, as an additional thread without a
  /// seat. At most 65,535 threads from outside may be members of one pool at the same time, by run(), by
  /// join_as_member(), and by scopes and loops with a pool argument. Above that it throws std::system_error.
  template<class F>
  auto run(F&& f) -> detail::brought_if_fits_t<F>;
  /// Makes the calling thread a member of the pool until the result is destroyed.
  membership join_as_member();

  /// Waits for a moment at which nothing is queued or running, no timer is armed and no closure waits.
  /// Returns true. Suspended coroutines do not count, unless they wait for time or I/O. From a task of this
  /// pool it throws std::system_error(resource_deadlock_would_occur).
  bool wait_idle();
  /// wait_idle() for at most `d`. Returns false if the pool was busy all the time.
  bool wait_idle(detail::delay d) { return wait_idle_until(detail::deadline_after(d)); }

  /// The pool's counters, in total and by seat. Takes O(threads that there ever were): for reports.
  [[nodiscard("stats() only reads counters")]] pool_stats stats() const;
  /// How many jobs and tasks moved to another thread: handed + taken + stolen.
  [[nodiscard]] std::uint64_t steal_count() const;

private:
  struct immortal {};
  constexpr explicit pool(immortal /*the global one*/) noexcept
      : immortal_(true) {}
  bool wait_idle_until(std::chrono::steady_clock::time_point deadline);
  bool shutdown_until(std::chrono::steady_clock::time_point discard_at);
  /// Starts the pool at its first use.
  detail::pool_core& core() const {
    detail::pool_core* const c = core_.get();
    return c != nullptr ? *c : start();
  }
  detail::pool_core& start() const;
  detail::pool_core* start_with(std::shared_ptr<pool_options const> const& chosen,
                                pool_options options) const;
  static unsigned workers_of(pool_options const& options) noexcept;
  void end_of_program();
};

/// The calling thread's number in the pool whose task it runs: unique among that pool's threads, constant
/// within a task, below slots(). Outside any pool, nullopt.
[[nodiscard]] inline std::optional<unsigned> current_worker() noexcept {
  if (detail::current->core == nullptr) return std::nullopt;
  return detail::current->index;
}
/// The pool whose task the calling thread runs, or null.
[[nodiscard]] RUBATO_API pool* current_pool() noexcept;

namespace detail {

struct blocking_fn {
  /// Calls f(), which may block in the kernel. Meanwhile another thread may occupy the caller's seat. Outside
  /// a pool it only calls f. Returns the result of f, or of the task or future that f returns.
  ///
  /// After several brief calls of the same callable, such as reads of a cached file, the caller keeps its
  /// seat, because leaving it would take longer. If such a call blocks after all, the tasks queued behind it
  /// or bound to its seat, and the work that the caller has forked or spawned, start after 10 ms, on a thread
  /// without a seat.
  template<class F>
  auto operator()(F&& f) const -> brought_if_fits_t<F>;
};

struct enqueue_fn : pool_forms<enqueue_fn> {
  /// pool::enqueue, also with a priority, on the current pool: the caller's own, else the global one.
  template<class... Args>
  static void on(pool* p, Args&&... args) {
    pool_or_current(p).enqueue(std::forward<Args>(args)...);
  }
};

} // namespace detail

inline constexpr detail::blocking_fn blocking{};
inline constexpr detail::enqueue_fn enqueue{};

} // namespace rubato

#include "rubato/detail/pool/thread_pool_impl.hpp"
