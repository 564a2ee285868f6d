// Locks, semaphores, latches and barriers for coroutines: a waiter blocks no thread. Also includes
// broadcast_channel.hpp, channel.hpp, generator.hpp, select.hpp, spawn.hpp, time.hpp, watch.hpp and when.hpp.
//
//   #include <rubato/scope.hpp>
//   #include <rubato/sync.hpp>
//
//   #include <cstdio>
//
//   rubato::task<void> add(rubato::async_mutex& m, int& sum) {
//     rubato::async_lock const lock = co_await m.scoped_lock(); // blocks no thread while it waits
//     ++sum;
//   }
//
//   int main() {
//     rubato::async_mutex m;
//     int sum = 0;
//     rubato::with_scope([&](rubato::scope& s) {
//       for (int i = 0; i != 100; ++i) s.spawn(add(m, sum));
//     });
//     std::printf("%d\n", sum); // -> 100
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/broadcast_channel.hpp" // IWYU pragma: export
#include "rubato/channel.hpp"           // IWYU pragma: export
#include "rubato/detail/async_sync/permit_awaiter.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/coro/gate.hpp"
#include "rubato/generator.hpp" // IWYU pragma: export
#include "rubato/select.hpp"    // IWYU pragma: export
#include "rubato/spawn.hpp"     // IWYU pragma: export
#include "rubato/time.hpp"      // IWYU pragma: export
#include "rubato/watch.hpp"     // IWYU pragma: export
#include "rubato/when.hpp"      // IWYU pragma: export

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace rubato {

/// Owns the lock of an async_mutex, or that of an async_shared_mutex alone, or nothing, like
/// std::unique_lock. Movable; may be unlocked or destroyed on any thread.
class [[nodiscard("rubato: a lock without a name is unlocked at once: auto lock = co_await "
                  "mutex.scoped_lock()")]] async_lock {
  friend class async_mutex;
  friend class async_shared_mutex;
  template<class Result>
  friend class detail::permit_awaiter;
  detail::permits* held_ = nullptr;
  std::uint64_t permits_ = 0; ///< all that there are

  async_lock(detail::permits& p, std::uint64_t all) noexcept
      : held_(&p)
      , permits_(all) {}

public:
  async_lock() noexcept = default;
  /// Takes the lock over: the other one owns nothing then.
  async_lock(async_lock&& other) noexcept
      : held_(std::exchange(other.held_, nullptr))
      , permits_(other.permits_) {}
  /// Unlocks first what it owns.
  async_lock& operator=(async_lock&& other) noexcept {
    async_lock moved(std::move(other));
    moved.swap(*this);
    return *this;
  }
  ~async_lock() {
    if (held_ != nullptr) unlock();
  }
  /// Exchanges what they own.
  void swap(async_lock& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(permits_, other.permits_);
  }

  /// False: it owns nothing.
  [[nodiscard]] bool owns_lock() const noexcept { return held_ != nullptr; }
  /// Unlocks early. Terminates with a message if it owns no lock.
  void unlock() noexcept {
    if (held_ == nullptr) detail::misuse("unlock() of an async_lock that owns nothing");
    detail::give_permits(*std::exchange(held_, nullptr), permits_, permits_,
                         "an async_lock is unlocked whose mutex is not locked");
  }
};

/// A mutual exclusion lock for coroutines, which may be held across co_await. Thread-safe. No thread or
/// coroutine owns it: one coroutine may acquire it and another one release it, on different threads. Not
/// recursive: a second acquire() or scoped_lock() by its holder waits for ever. Without contention it costs
/// one compare-exchange to acquire and one to release. A wait blocks no thread and allocates nothing. Its
/// lock() is deleted, so std::lock_guard, which could not wait, does not compile.
///
/// **Order.** release() frees the mutex and resumes the longest waiter. Another coroutine may acquire it
/// before that waiter does. If the waiter then finds it locked, the next release() hands it the lock. So
/// waiters get the lock in order of arrival. Other coroutines can overtake a waiter only from the release()
/// that resumes it to the first release() after it has run.
///
/// **Stops.** A stop request ends a wait, which throws cancelled, unless the waiter has already been handed
/// the lock. The same holds for the other classes of this header. The object must outlive its waiters.
class async_mutex {
  detail::permits permits_{1};

public:
  constexpr async_mutex() noexcept = default;

  /// co_await scoped_lock(): locks, waiting if need be, and yields an async_lock, whose destructor unlocks.
  auto scoped_lock() noexcept { return detail::permit_awaiter<async_lock>(permits_, 1); }
  /// co_await acquire(): locks. The caller calls release() later, and also if it fails or is stopped in
  /// between: prefer scoped_lock().
  auto acquire() noexcept { return detail::permit_awaiter<void>(permits_, 1); }
  /// Locks without waiting. Returns true if it did.
  [[nodiscard]] bool try_acquire() noexcept { return permits_.try_take(); }
  /// Unlocks, after acquire() or try_acquire(). Terminates with a message if it is not locked.
  void release() noexcept {
    detail::give_permits(permits_, 1, 1, "release() of an async_mutex that is not locked");
  }

  // For the compiler's message: std::lock_guard could not wait.
  void lock() = delete;   // write: auto const lock = co_await mutex.scoped_lock();
  void unlock() = delete; // write: auto const lock = co_await mutex.scoped_lock();
};

/// Shares the lock of an async_shared_mutex, or owns nothing, like std::shared_lock. Movable; may be unlocked
/// or destroyed on any thread.
class [[nodiscard("rubato: a lock without a name is unlocked at once: auto lock = co_await "
                  "mutex.scoped_shared_lock()")]] async_shared_lock {
  friend class async_shared_mutex;
  template<class Result>
  friend class detail::permit_awaiter;
  detail::permits* held_ = nullptr;

  async_shared_lock(detail::permits& p, std::uint64_t /*one*/) noexcept
      : held_(&p) {}

public:
  async_shared_lock() noexcept = default;
  /// Takes the share over: the other one owns nothing then.
  async_shared_lock(async_shared_lock&& other) noexcept
      : held_(std::exchange(other.held_, nullptr)) {}
  /// Unlocks first what it owns.
  async_shared_lock& operator=(async_shared_lock&& other) noexcept {
    async_shared_lock moved(std::move(other));
    moved.swap(*this);
    return *this;
  }
  ~async_shared_lock() {
    if (held_ != nullptr) unlock();
  }
  /// Exchanges what they own.
  void swap(async_shared_lock& other) noexcept { std::swap(held_, other.held_); }

  /// False: it owns nothing.
  [[nodiscard]] bool owns_lock() const noexcept { return held_ != nullptr; }
  /// Unlocks early. Terminates with a message if it owns no lock.
  void unlock() noexcept {
    if (held_ == nullptr) detail::misuse("unlock() of an async_shared_lock that owns nothing");
    detail::give_permits(*std::exchange(held_, nullptr), 1, detail::permits::most,
                         "an async_shared_lock is unlocked whose mutex is not locked");
  }
};

/// A lock that either one coroutine holds alone, or any number of coroutines share. Thread-safe. As with
/// async_mutex, no thread or coroutine owns it, it is not recursive, a wait blocks no thread and allocates
/// nothing, a stop ends a wait, and the members of std's locks are deleted. A coroutine that shares the lock
/// cannot exchange its share for the lock alone, and one that shares it twice may wait for ever behind a
/// writer.
///
/// **Order.** Strictly that of arrival: no coroutine overtakes a waiter, not even one that would share the
/// lock with the present holders. So a waiting writer blocks the readers that come after it, and neither
/// kind starves. If a waiting writer is stopped, the readers behind it go on. Without contention it costs one
/// compare-exchange to lock and one to unlock. Readers change the same word: shared locks pay if they are
/// held across a wait, or for long. Source: the semaphore of permits of which a writer takes all, as in
/// tokio's RwLock; P. J. Courtois, F. Heymans, D. L. Parnas, "Concurrent control with readers and writers"
/// (1971), for the problem.
class async_shared_mutex {
  static constexpr std::uint64_t all = detail::permits::most;
  detail::permits permits_{all};

public:
  constexpr async_shared_mutex() noexcept = default;

  /// co_await scoped_lock(): locks alone, waiting if need be, and yields an async_lock, whose destructor
  /// unlocks.
  auto scoped_lock() noexcept {
    return detail::permit_awaiter<async_lock>(permits_, all, detail::permit_order::by_turn);
  }
  /// co_await scoped_shared_lock(): shares the lock, waiting if need be, and yields an async_shared_lock,
  /// whose destructor unlocks.
  auto scoped_shared_lock() noexcept {
    return detail::permit_awaiter<async_shared_lock>(permits_, 1, detail::permit_order::by_turn);
  }
  /// Locks alone without waiting. The result owns nothing if the lock is held, or a coroutine waits for it.
  async_lock try_scoped_lock() noexcept {
    return permits_.try_take(all) ? async_lock(permits_, all) : async_lock();
  }
  /// Shares the lock without waiting. The result owns nothing if a writer holds the lock or waits for it.
  async_shared_lock try_scoped_shared_lock() noexcept {
    return permits_.try_take() ? async_shared_lock(permits_, 1) : async_shared_lock();
  }

  // For the compiler's message: std::lock_guard and std::shared_lock could not wait.
  void lock() = delete;          // write: auto const lock = co_await mutex.scoped_lock();
  void unlock() = delete;        // write: auto const lock = co_await mutex.scoped_lock();
  void lock_shared() = delete;   // write: auto const lock = co_await mutex.scoped_shared_lock();
  void unlock_shared() = delete; // write: auto const lock = co_await mutex.scoped_shared_lock();
};

/// Owns permits of an async_semaphore, or nothing. Movable; may be released or destroyed on any thread.
class [[nodiscard("rubato: permits without a name are released at once: auto permits = co_await "
                  "semaphore.scoped_acquire()")]] async_permits {
  template<class Result>
  friend class detail::permit_awaiter;
  detail::permits* from_ = nullptr;
  std::uint64_t count_ = 0;

  async_permits(detail::permits& p, std::uint64_t n) noexcept
      : from_(&p)
      , count_(n) {}

public:
  async_permits() noexcept = default;
  /// Takes the permits over: the other one owns none then.
  async_permits(async_permits&& other) noexcept
      : from_(other.from_)
      , count_(std::exchange(other.count_, 0)) {}
  /// Releases first what it owns.
  async_permits& operator=(async_permits&& other) noexcept {
    async_permits moved(std::move(other));
    moved.swap(*this);
    return *this;
  }
  ~async_permits() { release(); }
  /// Exchanges what they own.
  void swap(async_permits& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(count_, other.count_);
  }

  /// The number of permits that it owns.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Gives them back early. No effect if it owns none.
  void release() noexcept;
};

/// A counting semaphore: a number of permits. Thread-safe. Stops and cost are those of async_mutex.
///
/// **Order.** As with async_mutex. A waiter for n permits is served before the waiters that came later, also
/// before those that need fewer: while it is the first, each permit that is given is kept for it. If it is
/// stopped, these permits go to the next waiters.
class async_semaphore {
  friend class async_permits;
  detail::permits permits_;

  [[nodiscard]] static constexpr std::uint64_t checked(std::size_t n) noexcept {
    if (n > detail::permits::most) detail::misuse("an async_semaphore has at most 2^62 - 1 permits");
    return n;
  }
  static void give_back(detail::permits& p, std::uint64_t n) noexcept {
    detail::give_permits(p, n, detail::permits::most,
                         "release() of an async_semaphore that has 2^62 - 1 permits already");
  }

public:
  /// Starts with `free` permits, at most 2^62 - 1.
  constexpr explicit async_semaphore(std::size_t free) noexcept
      : permits_(checked(free)) {}

  /// co_await scoped_acquire(n): takes n permits, all at once, and yields an async_permits, whose destructor
  /// gives them back. With n = 0 it does not wait. If there are never so many, it waits for ever.
  auto scoped_acquire(std::size_t n = 1) noexcept {
    return detail::permit_awaiter<async_permits>(permits_, checked(n));
  }
  /// co_await acquire(n): the same. The caller calls release(n) later, and also if it fails or is stopped in
  /// between: prefer scoped_acquire().
  auto acquire(std::size_t n = 1) noexcept { return detail::permit_awaiter<void>(permits_, checked(n)); }
  /// Takes n permits without waiting. Returns true if it did.
  [[nodiscard]] bool try_acquire(std::size_t n = 1) noexcept { return permits_.try_take(checked(n)); }
  /// Adds n permits, whether or not they were acquired before.
  void release(std::size_t n = 1) noexcept { give_back(permits_, checked(n)); }
};

inline void async_permits::release() noexcept {
  if (count_ != 0) async_semaphore::give_back(*from_, std::exchange(count_, 0));
}

/// A latch that opens once, when its count reaches zero. Thread-safe. Stops as with async_mutex.
class async_latch {
  detail::countdown<std::size_t> left_;
  detail::gate gate_;

public:
  /// The latch opens after `count` counts. With 0 it is open at once.
  constexpr explicit async_latch(std::size_t number) noexcept
      : left_(number)
      , gate_(number == 0) {}

  /// Subtracts n counts. Throws std::logic_error if fewer than n are left. A waiter that it releases may
  /// destroy the latch at once.
  void count_down(std::size_t n = 1) {
    std::size_t const left = left_.arrive_unless_fewer(n);
    if (n > left) throw std::logic_error("rubato: async_latch::count_down() by more than was left");
    if (n == left && n != 0) gate_.open();
  }
  /// True if the latch is open.
  [[nodiscard]] bool try_wait() const noexcept { return gate_.is_open(); }
  /// co_await wait(): waits until the latch is open.
  [[nodiscard]] auto wait() noexcept { return gate_.wait(); }
};

/// A barrier with any number of phases: it releases its participants when all have arrived. Thread-safe. A
/// phase takes O(participants).
///
/// A participant that is stopped while it waits has not arrived: it may arrive again, or leave with
/// arrive_and_drop(). The other participants wait for it until then.
class RUBATO_API async_barrier {
  detail::mutex mutex_;
  std::size_t expected_ RUBATO_GUARDED_BY(mutex_);
  std::size_t arrived_ RUBATO_GUARDED_BY(mutex_) = 0;
  detail::wait_list waiting_ RUBATO_GUARDED_BY(mutex_);

  class awaiter; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final
  [[nodiscard]] bool arrive_last();
  void end_phase(detail::woken& all) noexcept RUBATO_REQUIRES(mutex_);

public:
  /// Throws std::invalid_argument if `participants` is 0.
  explicit async_barrier(std::size_t participants);

  /// co_await arrive_and_wait(): arrives when it is awaited, and waits until all participants have arrived.
  /// Throws std::logic_error if all participants have left.
  [[nodiscard]] auto arrive_and_wait() noexcept;
  /// Removes one participant from this phase and all later ones, without waiting. Throws std::logic_error if
  /// all participants have left.
  void arrive_and_drop();
};

} // namespace rubato

#include "rubato/detail/async_sync/sync_impl.hpp"
