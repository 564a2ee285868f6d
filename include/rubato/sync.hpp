// Locks, semaphores, latches and barriers for coroutines: whoever waits holds no thread. Also brings what
// else they wait for and with.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/channel.hpp" // IWYU pragma: export
#include "rubato/detail/mutex.hpp"
#include "rubato/detail/permits.hpp"
#include "rubato/detail/wait_list.hpp"
#include "rubato/detail/waiter.hpp"
#include "rubato/generator.hpp" // IWYU pragma: export
#include "rubato/select.hpp"    // IWYU pragma: export
#include "rubato/spawn.hpp"     // IWYU pragma: export
#include "rubato/time.hpp"      // IWYU pragma: export
#include "rubato/when.hpp"      // IWYU pragma: export

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

// What they have in common. Every member may be called by any thread, from a coroutine or not; what has to be
// awaited by a coroutine of Rubato, or with block_on(). Those who wait come first in, first out. Each goes on
// on its own pool. A wait costs no allocation. A stop request ends it with `cancelled`; what was there for it
// at that moment goes to the next. The object must outlive those who wait for it. docs/design/async-sync.md

namespace rubato {

namespace detail {

/// A coroutine waits for a permit.
class permit_waiter : public waiter {
  permits& from_;

  [[nodiscard]] bool insert() noexcept override { return from_.add(*this); }
  [[nodiscard]] bool remove() noexcept override { return from_.remove(*this); }
  [[nodiscard]] bool insert_again() noexcept override {
    woken next;
    return was_called() && !from_.retry(*this, next);
  }

protected:
  /// By the destructor of the derived class, after retire(): a stop request may call remove() before that.
  ~permit_waiter() {
    // It was given one, or called, but the coroutine was destroyed before it could go on.
    if (!was_taken() && !was_called()) return;
    woken next;
    if (was_called())
      from_.abandon(next);
    else
      static_cast<void>(from_.give(1, permits::most, next));
  }

public:
  explicit permit_waiter(permits& p) noexcept
      : from_(p) {}
  permit_waiter(permit_waiter&&) = delete;
  /// It goes on: with the permit, or stopped.
  void finish() {
    if (retire()) throw cancelled();
    settle();
  }
  [[nodiscard]] permits& from() const noexcept { return from_; }
};
/// The same outside a race.
class permit_wait final : public permit_waiter {
public:
  using permit_waiter::permit_waiter;
  ~permit_wait() { retire(); }
};

template<class Result>
class permit_awaiter;

/// The same in a race.
template<class Result>
class raced_permit final : public permit_waiter {
public:
  explicit raced_permit(permit_awaiter<Result>&& a) noexcept;
  raced_permit(raced_permit const&) = delete;
  raced_permit& operator=(raced_permit const&) = delete;
  ~raced_permit() { this->retire(); }
  [[nodiscard]] bool await_ready() const noexcept { return from().try_take(); }
  Result await_resume() {
    finish();
    if constexpr (!std::is_void_v<Result>) return Result(from());
  }
};

/// co_await of one permit. Result: what is made from the permits, or void.
template<class Result>
class [[nodiscard(
    "rubato: nothing is locked or acquired before it is awaited, with co_await")]] permit_awaiter
    : public own_awaitable {
  friend class raced_permit<Result>;
  permits& from_;
  std::optional<permit_wait> wait_; // most often there was one free

public:
  using raced_type = raced_permit<Result>;
  explicit permit_awaiter(permits& p) noexcept
      : from_(p) {}
  permit_awaiter(permit_awaiter&& other /*not awaited yet*/) noexcept
      : permit_awaiter(other.from_) {}
  permit_awaiter& operator=(permit_awaiter&&) = delete;
  ~permit_awaiter() = default;

  [[nodiscard]] bool await_ready() noexcept { return from_.try_take(); }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return wait_.emplace(from_).await_suspend(h);
  }
  Result await_resume() {
    if (wait_) wait_->finish();
    if constexpr (!std::is_void_v<Result>) return Result(from_);
  }
};

template<class Result>
raced_permit<Result>::raced_permit(permit_awaiter<Result>&& a) noexcept
    : permit_waiter(a.from_) {}

} // namespace detail

/// Owns the lock of an async_mutex, or nothing. Movable; may be destroyed on any thread.
class [[nodiscard("rubato: a lock without a name is unlocked at once: auto lock = co_await "
                  "mutex.scoped_lock()")]] async_lock {
  friend class async_mutex;
  template<class Result>
  friend class detail::permit_awaiter;
  template<class Result>
  friend class detail::raced_permit;
  detail::permits* held_ = nullptr;

  explicit async_lock(detail::permits& p) noexcept
      : held_(&p) {}

public:
  async_lock() noexcept = default;
  async_lock(async_lock&& other) noexcept
      : held_(std::exchange(other.held_, nullptr)) {}
  async_lock& operator=(async_lock&& other) noexcept {
    async_lock moved(std::move(other));
    moved.swap(*this);
    return *this;
  }
  ~async_lock() {
    if (held_ != nullptr) unlock();
  }
  void swap(async_lock& other) noexcept { std::swap(held_, other.held_); }

  [[nodiscard]] bool owns_lock() const noexcept { return held_ != nullptr; }
  /// Before the end of its life. It must own the lock.
  void unlock() noexcept;
};

/// Excludes coroutines from each other, also across co_await. Belongs to nobody in particular: who locks it
/// and who unlocks it may be on different threads, or be different coroutines. Not recursive. Free, it costs
/// one compare-exchange to lock and one to unlock.
///
/// unlock() makes it free and resumes whoever waits longest. Others that run may lock it before that one
/// does; if it then finds it locked, it is handed the lock by the next unlock(), so it is overtaken no more.
class async_mutex {
  friend class async_lock;
  detail::permits permits_{1};

  static void give_back(detail::permits& p) noexcept {
    if (p.try_give(1, 1)) return;
    detail::woken next;
    if (!p.give(1, 1, next)) detail::misuse("unlock() of an async_mutex that is not locked");
  }

public:
  constexpr async_mutex() noexcept = default;
  async_mutex(async_mutex const&) = delete;
  async_mutex& operator=(async_mutex const&) = delete;
  ~async_mutex() = default;

  /// co_await lock(): to be followed by unlock(), some time.
  auto lock() noexcept { return detail::permit_awaiter<void>(permits_); }
  /// co_await scoped_lock(): an async_lock, which unlocks at the end of its life.
  auto scoped_lock() noexcept { return detail::permit_awaiter<async_lock>(permits_); }
  [[nodiscard]] bool try_lock() noexcept { return permits_.try_take(); }
  /// Terminates with a message if it is not locked.
  void unlock() noexcept { give_back(permits_); }
};

inline void async_lock::unlock() noexcept {
  if (held_ == nullptr) detail::misuse("unlock() of an async_lock that owns nothing");
  async_mutex::give_back(*std::exchange(held_, nullptr));
}

/// A number of permits, to be acquired one by one. Those who wait may be overtaken as with an async_mutex.
class async_semaphore {
  detail::permits permits_;

  [[nodiscard]] static constexpr std::uint64_t checked(std::size_t n) noexcept {
    if (n > detail::permits::most) detail::misuse("an async_semaphore has at most 2^62 - 1 permits");
    return n;
  }

public:
  constexpr explicit async_semaphore(std::size_t free) noexcept
      : permits_(checked(free)) {}
  async_semaphore(async_semaphore const&) = delete;
  async_semaphore& operator=(async_semaphore const&) = delete;
  ~async_semaphore() = default;

  /// co_await acquire(): to be followed by release(), some time.
  auto acquire() noexcept { return detail::permit_awaiter<void>(permits_); }
  [[nodiscard]] bool try_acquire() noexcept { return permits_.try_take(); }
  /// n permits more, whether or not they were acquired before.
  void release(std::size_t n = 1) noexcept {
    if (permits_.try_give(checked(n), detail::permits::most)) return;
    detail::woken next;
    if (!permits_.give(checked(n), detail::permits::most, next))
      detail::misuse("release() of an async_semaphore that has 2^62 - 1 permits already");
  }
};

/// Opens once, when it has been counted down to zero.
class async_latch {
  mutable detail::mutex mutex_;
  std::atomic<std::size_t> left_; // becomes 0 under mutex_
  detail::wait_list waiting_;     // guarded by mutex_

  class [[nodiscard]] awaiter final : public detail::waiter {
    async_latch* latch_;
    [[nodiscard]] bool insert() noexcept override;
    [[nodiscard]] bool remove() noexcept override;

  public:
    explicit awaiter(async_latch& l) noexcept
        : latch_(&l) {}
    awaiter(awaiter&&) noexcept = default;
    ~awaiter() { retire(); }
    [[nodiscard]] bool await_ready() const noexcept { return latch_->try_wait(); }
    void await_resume() {
      if (retire()) throw cancelled();
    }
  };

  void count_down_last(std::size_t n);

public:
  constexpr explicit async_latch(std::size_t count) noexcept
      : left_(count) {}
  async_latch(async_latch const&) = delete;
  async_latch& operator=(async_latch const&) = delete;
  ~async_latch() = default;

  /// Throws std::logic_error if it has less than n left. Whoever is let through by it may destroy the latch
  /// at once.
  void count_down(std::size_t n = 1) {
    std::size_t left = left_.load(std::memory_order_relaxed);
    while (left > n)
      // release: pairs with the last one, who lets through those who are to see what was done before.
      if (left_.compare_exchange_weak(left, left - n, std::memory_order_release, std::memory_order_relaxed))
        return;
    if (n != 0) count_down_last(n);
  }
  /// Is it open?
  [[nodiscard]] bool try_wait() const noexcept;
  /// co_await wait(): until it is open.
  [[nodiscard]] auto wait() noexcept { return awaiter(*this); }
};

/// Lets its participants go on together, phase after phase, whenever all have arrived.
///
/// A participant that is stopped while it waits has not arrived: it may arrive again, or leave with
/// arrive_and_drop(); the others wait for it until then.
class async_barrier {
  detail::mutex mutex_;
  std::size_t expected_; // guarded by mutex_, as is the rest
  std::size_t arrived_ = 0;
  detail::wait_list waiting_;

  class [[nodiscard]] awaiter final : public detail::waiter {
    async_barrier* barrier_;
    [[nodiscard]] bool insert() noexcept override;
    [[nodiscard]] bool remove() noexcept override;

  public:
    explicit awaiter(async_barrier& b) noexcept
        : barrier_(&b) {}
    awaiter(awaiter&&) noexcept = default;
    ~awaiter() { retire(); }
    [[nodiscard]] bool await_ready() { return barrier_->arrive_last(); }
    void await_resume() {
      if (retire()) throw cancelled();
    }
  };

  [[nodiscard]] bool arrive_last();
  void end_phase(detail::woken& all) noexcept;

public:
  /// Throws std::invalid_argument if there are none.
  explicit async_barrier(std::size_t participants);
  async_barrier(async_barrier const&) = delete;
  async_barrier& operator=(async_barrier const&) = delete;
  ~async_barrier() = default;

  /// co_await arrive_and_wait(): arrives when it is awaited; until all have arrived. Throws std::logic_error
  /// if all participants have left.
  [[nodiscard]] auto arrive_and_wait() noexcept { return awaiter(*this); }
  /// One participant less, in this phase and in all that follow; does not wait. Throws std::logic_error if
  /// all have left.
  void arrive_and_drop();
};

} // namespace rubato
