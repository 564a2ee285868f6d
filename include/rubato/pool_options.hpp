// How a pool is to be.
#pragma once

#include "rubato/detail/config.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato {

namespace detail {
class pool_core;
}

/// Where workers are pinned: nowhere; one per physical core first, node by node; or with the memory nodes in
/// turn.
enum class placement : unsigned char { free, cores, numa };

/// Who waits for whom, when nothing in the pool can go on. The default handler prints it once.
struct stall_report {
  struct waiter {
    unsigned thread;                   ///< its current_worker()
    char const* waits_in;              ///< "join", "scope", "loop", "get", "broadcast", "enqueue", "co_await"
    std::optional<unsigned> waits_for; ///< the thread that has what it waits for, if one has
  };
  std::string pool;
  std::vector<waiter> waiters;
  std::size_t ready = 0;     ///< tasks that no thread is left for
  std::size_t suspended = 0; ///< coroutines that wait, for anything
};

/// Setters return the object, so that they chain. An unset option has the default that its setter states.
class pool_options {
  friend class detail::pool_core;
  friend class pool;
  std::optional<unsigned> workers_;
  std::string name_ = "rubato";
  placement place_ = placement::free;
  std::vector<int> cpus_;
  unsigned spares_ = 1024;
  std::size_t stack_size_ = 0;
  bool inherit_scheduling_ = false;
  std::optional<std::chrono::nanoseconds> search_time_;
  std::optional<std::size_t> max_queued_;
  std::function<void(std::exception_ptr)> on_unhandled_;
  std::function<void(unsigned)> on_start_, on_exit_;
  std::function<void(stall_report const&)> on_stall_;

  /// A std::function even of what is only movable.
  template<class Signature, class F>
  static std::function<Signature> callback(F&& f) {
    using type = std::decay_t<F>;
    if constexpr (std::is_copy_constructible_v<type>) {
      return std::function<Signature>(std::forward<F>(f));
    } else {
      return [p = std::make_shared<type>(std::forward<F>(f))](auto&&... args) {
        std::invoke(*p, std::forward<decltype(args)>(args)...);
      };
    }
  }

public:
  /// How many workers; at most 1,024. Unset: as many as cpus() names, else usable_cpus().
  pool_options& workers(unsigned n) & { return workers_ = n, *this; }
  pool_options&& workers(unsigned n) && { return std::move(workers(n)); }
  /// Threads are called name/0, name/1, ... The system keeps 15 characters, so a longer name is shortened,
  /// and the number kept: engine-work~/12.
  pool_options& name(std::string n) & { return name_ = std::move(n), *this; }
  pool_options&& name(std::string n) && { return std::move(name(std::move(n))); }
  pool_options& place(placement p) & { return place_ = p, *this; }
  pool_options&& place(placement p) && { return std::move(place(p)); }
  /// Worker i runs on cpus[i % size] only. A CPU that this process may not use: std::invalid_argument from
  /// the pool.
  pool_options& cpus(std::vector<int> c) & { return cpus_ = std::move(c), *this; }
  pool_options&& cpus(std::vector<int> c) && { return std::move(cpus(std::move(c))); }
  /// How many threads beyond workers() may be made to stand in for waiting ones. With all of them waiting,
  /// what is queued stays there until one comes back: a thread that waits runs only what it waits for.
  pool_options& spares(unsigned n = 1024) & { return spares_ = n, *this; }
  pool_options&& spares(unsigned n = 1024) && { return std::move(spares(n)); }
  /// Of each thread, in bytes; 0: the system's default.
  pool_options& stack_size(std::size_t bytes) & { return stack_size_ = bytes, *this; }
  pool_options&& stack_size(std::size_t bytes) && { return std::move(stack_size(bytes)); }
  /// Threads are made when they are needed, by any thread of the program. Unset: they have the scheduling
  /// class SCHED_OTHER, the nice value of the thread that made the program's first pool, and all signals
  /// blocked but those that a thread causes itself; a child process inherits that mask, so what starts one in
  /// a task resets it, and a profiler by signals sees no worker. Set: what the thread has that causes them.
  /// on_start may change all that.
  pool_options& inherit_scheduling(bool on = true) & { return inherit_scheduling_ = on, *this; }
  pool_options&& inherit_scheduling(bool on = true) && { return std::move(inherit_scheduling(on)); }
  /// How long a worker without work searches, awake, before it sleeps. Unset: about the cost of a wake.
  pool_options& search_time(std::chrono::nanoseconds t) & { return search_time_ = t, *this; }
  pool_options&& search_time(std::chrono::nanoseconds t) && { return std::move(search_time(t)); }
  /// With so many tasks queued, enqueue waits and try_enqueue refuses. Unset: no limit; 0:
  /// std::invalid_argument from the pool.
  pool_options& max_queued(std::size_t n) & { return max_queued_ = n, *this; }
  pool_options&& max_queued(std::size_t n) && { return std::move(max_queued(n)); }
  /// A fire-and-forget task threw. Called on its thread. Unset: the program ends with a message.
  template<class F>
  pool_options& on_unhandled(F&& f) & {
    constexpr bool fits = std::is_invocable_v<std::decay_t<F>&, std::exception_ptr>;
    static_assert(fits, "rubato: pool_options::on_unhandled(f): f must be callable as f(std::exception_ptr)");
    if constexpr (fits) on_unhandled_ = callback<void(std::exception_ptr)>(std::forward<F>(f));
    return *this;
  }
  template<class F>
  pool_options&& on_unhandled(F&& f) && {
    return std::move(on_unhandled(std::forward<F>(f)));
  }
  /// Called by each thread of the pool, with its number, before its first task and after its last.
  template<class F>
  pool_options& on_start(F&& f) & {
    constexpr bool fits = std::is_invocable_v<std::decay_t<F>&, unsigned>;
    static_assert(fits, "rubato: pool_options::on_start(f): f must be callable as f(unsigned)");
    if constexpr (fits) on_start_ = callback<void(unsigned)>(std::forward<F>(f));
    return *this;
  }
  template<class F>
  pool_options&& on_start(F&& f) && {
    return std::move(on_start(std::forward<F>(f)));
  }
  template<class F>
  pool_options& on_exit(F&& f) & {
    constexpr bool fits = std::is_invocable_v<std::decay_t<F>&, unsigned>;
    static_assert(fits, "rubato: pool_options::on_exit(f): f must be callable as f(unsigned)");
    if constexpr (fits) on_exit_ = callback<void(unsigned)>(std::forward<F>(f));
    return *this;
  }
  template<class F>
  pool_options&& on_exit(F&& f) && {
    return std::move(on_exit(std::forward<F>(f)));
  }
  /// Nothing in the pool can go on: every thread that runs something sleeps in a wait for the pool's own
  /// work, which no thread outside can end, and nothing is queued. Called once per stall, on one of the
  /// waiting threads, with the whole wait graph. It is an error of the program. f can log the report and end
  /// the program, or end a wait: cancel a future, set a promise, or call pool::request_shutdown(discard). A
  /// wait for a coroutine, a task of a strand or a promise may be ended from outside, and so is no stall.
  template<class F>
  pool_options& on_stall(F&& f) & {
    constexpr bool fits = std::is_invocable_v<std::decay_t<F>&, stall_report const&>;
    static_assert(fits, "rubato: pool_options::on_stall(f): f must be callable as f(stall_report const&)");
    if constexpr (fits) on_stall_ = callback<void(stall_report const&)>(std::forward<F>(f));
    return *this;
  }
  template<class F>
  pool_options&& on_stall(F&& f) && {
    return std::move(on_stall(std::forward<F>(f)));
  }
};

} // namespace rubato
