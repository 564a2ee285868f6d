// Threads: start, name, pin, and observe another thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>
#include <sys/types.h>

namespace rubato::os {

class cpu_mask;
class scheduling;

struct thread_options {
  std::string name{};         ///< at most 15 bytes are kept; empty: the creator's
  std::size_t stack_size = 0; ///< in bytes, beside what the system takes of it; 0: the system's default
  /// All signals but those that a thread causes itself (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT,
  /// SIGSYS) are blocked there; false: the mask is the creator's.
  bool blocks_signals = false;
  /// Its signal mask, scheduling class and nice value; null: the creator's. Read before the constructor
  /// returns.
  scheduling const* like = nullptr;
  /// Where it may run; null or empty: where its creator may, or might before pin(). Read before the
  /// constructor returns.
  cpu_mask const* cpus = nullptr;
};

/// A thread of the system. Unlike std::thread it has a name and a stack size, and unless told it starts on
/// all the CPUs that its creator had before the creator was pinned by pin(). Like std::thread it must be
/// joined or detached before it is destroyed or assigned to.
class thread {
  pthread_t handle_{};
  bool joinable_ = false;

public:
  thread() noexcept = default;
  /// Runs entry(arg), which must not throw. Throws std::system_error if there is no thread to be had.
  thread(thread_options const& options, void (*entry)(void*), void* arg);
  thread(thread&& other) noexcept;
  thread& operator=(thread&& other) noexcept;
  ~thread();

  [[nodiscard]] bool joinable() const noexcept { return joinable_; }
  /// Waits for its end. Throws std::system_error: invalid_argument if not joinable,
  /// resource_deadlock_would_occur if it is the caller itself.
  void join();
  /// Joins it if it has ended altogether; false: it has not. Throws as join().
  [[nodiscard]] bool try_join();
  /// Lets it go on alone. Throws std::system_error (invalid_argument) if not joinable.
  void detach();
};

/// A function that is called at the end of each thread that awaits it, after its thread-local objects have
/// gone, and not at the end of the program. It takes no thread-local memory.
class end_of_thread {
  pthread_key_t key_{};
  bool const made_;

public:
  explicit end_of_thread(void (*f)(void*)) noexcept
      : made_(::pthread_key_create(&key_, f) == 0) {}
  /// For the calling thread, from now on. False: there is no room.
  [[nodiscard]] bool await_here() const noexcept { return keep(this); }
  /// The same, with a value of the calling thread's that f gets; null: f is not called.
  [[nodiscard]] bool keep(void const* value) const noexcept {
    return made_ && ::pthread_setspecific(key_, value) == 0;
  }
  /// Null: the calling thread keeps nothing.
  [[nodiscard]] void* kept() const noexcept { return made_ ? ::pthread_getspecific(key_) : nullptr; }
};

using thread_id = pid_t;

/// The kernel's number of the calling thread. Asked every time, since a fork changes it.
[[nodiscard]] thread_id this_thread_id() noexcept;

/// The CPU on which the calling thread runs at this moment; -1: unknown. No system call.
[[nodiscard]] int current_cpu() noexcept;

/// Ties the calling thread to one CPU. False, and nothing changed, if the kernel refuses: offline, not in its
/// cpuset. affinity_cpus() and new threads go by the set from before the pin.
bool pin(int cpu) noexcept;
/// Undoes every pin() of the calling thread: it gets back the set from before the first. True if it was not
/// pinned.
bool unpin() noexcept;

/// The size of the calling thread's stack, cut to between 64 KiB and 1 GiB. An estimate: the main thread's
/// limit may be changed at any time, and it may have none.
[[nodiscard]] std::size_t stack_bytes() noexcept;

/// The address in the middle of the calling thread's stack, or at least 128 KiB above its end. The highest
/// address if the stack is unknown.
[[nodiscard]] std::uintptr_t middle_of_stack() noexcept;

enum class thread_state : unsigned char {
  runs,   ///< or is ready to run, or has just ended
  sleeps, ///< in the kernel, or is stopped
  unknown ///< there is no such thread, no /proc, or no free descriptor
};
/// Of a thread of this process.
[[nodiscard]] thread_state state_of(thread_id thread) noexcept;

/// The CPU time that a thread of this process has used. Zero if there is no such thread.
[[nodiscard]] std::chrono::nanoseconds cpu_time(thread_id thread) noexcept;
/// How long it was ready to run, and waited for a CPU. Zero if there is no such thread, or the kernel does
/// not count it (no /proc/PID/schedstat).
[[nodiscard]] std::chrono::nanoseconds time_without_cpu(thread_id thread) noexcept;
/// How often it has left its CPU to wait in the kernel. Zero if that is not known.
[[nodiscard]] std::uint64_t waits_in_kernel(thread_id thread) noexcept;

/// How late the kernel may make the calling thread's timed sleeps in order to save wake-ups (50 us unless
/// told); at least 1 ns.
void set_timer_slack(std::chrono::nanoseconds slack) noexcept;

} // namespace rubato::os
