// The options of a pool: workers, names, pinning, limits, handlers.
//
//   #include <rubato/pool.hpp>
//   #include <rubato/pool_options.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(rubato::pool_options()
//                           .workers(1)
//                           .name("engine") // threads engine/0, ...
//                           .max_queued(100)
//                           .on_unhandled([](std::exception_ptr) { std::puts("a task failed"); }));
//     pool.enqueue([] { throw 1; }); // -> a task failed
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/base/set_function.hpp"
#include "rubato/detail/base/thread_host.hpp"
#include "rubato/detail/base/worker_count.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato {

namespace detail {
class pool_core;
class stall_watch;
class thread_registry;
struct options_access;
} // namespace detail

/// The type of `no_workers`.
struct no_workers_t {
  explicit constexpr no_workers_t() = default;
};
/// Tag: a pool that starts without workers. Its queued tasks wait for pool::resize(), or for a thread that
/// waits for their results and runs them.
inline constexpr no_workers_t no_workers{};

/// Where workers are pinned.
enum class placement : unsigned char {
  free,  ///< nowhere
  cores, ///< to distinct physical cores first, node by node, then to their second hardware threads
  numa   ///< the same, but the memory nodes take turns
};

/// The wait graph of a stalled pool. The default handler prints it once.
struct stall_report {
  /// A thread that waits.
  struct waiter {
    unsigned thread; ///< its current_worker()
    /// Where it waits: "join", "scope", "loop", "get", "timed wait", "broadcast", "enqueue", "race", "hedge",
    /// "graph", "pipeline", "send_blocking" or "receive_blocking".
    char const* waits_in;
    std::optional<unsigned> waits_for; ///< the thread that runs the awaited work, if one does
    std::string node; ///< the first 48 bytes of the name of the task_graph's node that waits, if one does
  };
  std::string pool;            ///< its name
  std::vector<waiter> waiters; ///< every thread that waits in a task of the pool
  std::size_t ready = 0;       ///< ready tasks that no thread is left to run
  std::size_t suspended = 0;   ///< suspended coroutines
  /// Tasks are ready, and no thread can be made for them: pool_options::spares() allows no other one, or the
  /// system has none left. A thread outside the pool might still end one of the waits.
  bool spares_used_up = false;
};

/// The options of a pool, a value type. Setters return the object, so they chain. *Unset* is the default of
/// an option.
///
/// No option says how the threads are scheduled. Like a std::thread each thread of the pool starts with the
/// signal mask, the scheduling class and the nice value of the thread that started the pool: that made it,
/// used it first, or gave it workers when it had none. Where the kernel does not permit that class or
/// nice value, the thread has those of the thread that makes it, which may be any thread of the program.
/// on_start() may change them.
class pool_options {
  friend class detail::pool_core;
  friend class detail::thread_registry;
  friend class detail::stall_watch;
  friend class pool;
  friend struct detail::options_access;
  std::optional<unsigned> workers_; // 0: no_workers
  detail::thread_host host_;
  std::string name_ = "rubato";
  placement place_ = placement::free;
  std::vector<int> cpus_;
  unsigned spares_ = 1024;
  std::size_t stack_size_ = 0;
  std::optional<std::chrono::nanoseconds> search_time_;
  std::optional<std::size_t> max_queued_;
  std::function<void(std::exception_ptr)> on_unhandled_;
  std::function<void(unsigned)> on_start_, on_exit_;
  std::function<void(stall_report const&)> on_stall_;

public:
  /// The number of workers, at most 1,024. Throws std::invalid_argument if it is 0, which a program seldom
  /// means: tasks of such a pool would run only in threads that wait for them. Unset: the number of CPUs in
  /// cpus(), else usable_cpus().
  pool_options& workers(unsigned n) & { return workers_ = detail::at_least_one_worker(n), *this; }
  pool_options&& workers(unsigned n) && { return std::move(workers(n)); }
  /// No workers until pool::resize().
  pool_options& workers(no_workers_t) & noexcept { return workers_ = 0, *this; }
  pool_options&& workers(no_workers_t none) && noexcept { return std::move(workers(none)); }
  /// Threads are named name/0, name/1, ... The system keeps 15 characters, so a longer name is shortened in
  /// front of the number: engine-work~/12. Unset: "rubato".
  pool_options& name(std::string n) & { return name_ = std::move(n), *this; }
  pool_options&& name(std::string n) && { return std::move(name(std::move(n))); }
  /// Where its threads are pinned. Unset: placement::free.
  pool_options& place(placement p) & { return place_ = p, *this; }
  pool_options&& place(placement p) && { return std::move(place(p)); }
  /// Worker i runs only on c[i % c.size()]. If this process may not use a CPU of the list, the pool's
  /// constructor throws std::invalid_argument. Unset: see place().
  pool_options& cpus(std::vector<int> c) & { return cpus_ = std::move(c), *this; }
  pool_options&& cpus(std::vector<int> c) && { return std::move(cpus(std::move(c))); }
  /// The number of threads beyond workers() that the pool may make: in place of waiting threads, and for the
  /// copies of race() and hedge(). If all workers and spares wait, queued tasks stay queued until a thread
  /// returns from its wait, because a waiting thread runs only the work that it waits for. on_stall() tells
  /// of that, unless one waits for a promise or a channel, in blocking(), or with a limit. Unset: 1,024.
  pool_options& spares(unsigned n = 1024) & { return spares_ = n, *this; }
  pool_options&& spares(unsigned n = 1024) && { return std::move(spares(n)); }
  /// The stack size of each thread in bytes, beside the program's thread-local memory, which the system puts
  /// there too; 0: the system's default. A signal handler of the program that
  /// has no stack of its own (sigaltstack(2)) runs on the stack of the thread that the signal interrupts:
  /// leave room for it.
  pool_options& stack_size(std::size_t bytes) & { return stack_size_ = bytes, *this; }
  pool_options&& stack_size(std::size_t bytes) && { return std::move(stack_size(bytes)); }
  /// How long a worker without work searches before it sleeps. Unset: 40 us, which is about the cost of a
  /// wake.
  pool_options& search_time(detail::delay t) & { return search_time_ = t.in_clock, *this; }
  pool_options&& search_time(detail::delay t) && { return std::move(search_time(t)); }
  /// The limit on queued tasks. At the limit enqueue() and spawn() wait, and try_enqueue() returns false.
  /// Unset: no limit. With 0, and with a negative number, the pool's constructor throws
  /// std::invalid_argument.
  pool_options& max_queued(std::size_t n) & { return max_queued_ = n, *this; }
  pool_options&& max_queued(std::size_t n) && { return std::move(max_queued(n)); }
  /// f(std::exception_ptr) is called with the exception of a task that has no future, or whose future was
  /// detached or dropped, on a thread of the pool; several threads may call it at once. Unset: the program
  /// terminates with a message, except for a future that was dropped. A cancelled with which the end of the
  /// pool has ended a wait of the task is no failure, and goes nowhere.
  template<class F>
  pool_options& on_unhandled(F&& f) & {
    static_assert(std::is_invocable_v<std::decay_t<F>&, std::exception_ptr>,
                  "rubato: pool_options::on_unhandled(f): f must be callable as f(std::exception_ptr)");
    return detail::set_function(on_unhandled_, std::forward<F>(f)), *this;
  }
  template<class F>
  pool_options&& on_unhandled(F&& f) && {
    return std::move(on_unhandled(std::forward<F>(f)));
  }
  /// Each thread of the pool calls f(number) before its first task, with its current_worker(). Several
  /// threads may call it at once.
  template<class F>
  pool_options& on_start(F&& f) & {
    static_assert(std::is_invocable_v<std::decay_t<F>&, unsigned>,
                  "rubato: pool_options::on_start(f): f must be callable as f(unsigned)");
    return detail::set_function(on_start_, std::forward<F>(f)), *this;
  }
  template<class F>
  pool_options&& on_start(F&& f) && {
    return std::move(on_start(std::forward<F>(f)));
  }
  /// Each thread of the pool calls f(number) after its last task, as in on_start().
  template<class F>
  pool_options& on_exit(F&& f) & {
    static_assert(std::is_invocable_v<std::decay_t<F>&, unsigned>,
                  "rubato: pool_options::on_exit(f): f must be callable as f(unsigned)");
    return detail::set_function(on_exit_, std::forward<F>(f)), *this;
  }
  template<class F>
  pool_options&& on_exit(F&& f) && {
    return std::move(on_exit(std::forward<F>(f)));
  }
  /// f(stall_report const&) is called when the pool stalls: every thread that runs a task sleeps in a wait
  /// for the pool's own work, no thread outside can end such a wait, and nothing is queued. One of the
  /// waiting threads calls f, once per stall, with the whole wait graph. A stall is an error in the program.
  /// f can log the report and end the program, or end a wait: cancel a future, set a promise, or call
  /// pool::request_shutdown(discard). A wait for a coroutine, a task of a strand or a promise is no stall,
  /// because a thread outside the pool may end it. There is one exception: if all spares are used up, and
  /// each thread has waited for the pool's own work for a second, while tasks were ready that no thread is
  /// left to run, f is called (stall_report::spares_used_up). Such a task may be the alarm of a
  /// with_deadline() for which one of them waits. Unset: the report is printed on standard error.
  template<class F>
  pool_options& on_stall(F&& f) & {
    static_assert(std::is_invocable_v<std::decay_t<F>&, stall_report const&>,
                  "rubato: pool_options::on_stall(f): f must be callable as f(stall_report const&)");
    return detail::set_function(on_stall_, std::forward<F>(f)), *this;
  }
  template<class F>
  pool_options&& on_stall(F&& f) && {
    return std::move(on_stall(std::forward<F>(f)));
  }
};

} // namespace rubato
