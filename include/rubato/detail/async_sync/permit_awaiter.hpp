// Waits of coroutines for a permit: of a lock, of a semaphore. docs/design/async-sync.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/sync/permits.hpp"

#include <concepts>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace rubato::detail {

/// A coroutine's wait for a permit.
class permit_wait final : public waiter {
  permits& from_;

  [[nodiscard]] bool insert() noexcept override { return from_.add(*this); }
  [[nodiscard]] bool remove() noexcept override { return from_.remove(*this); }
  [[nodiscard]] bool insert_again() noexcept override {
    woken next;
    return was_called() && !from_.retry(*this, next);
  }

public:
  explicit permit_wait(permits& p) noexcept
      : from_(p) {}
  permit_wait(permit_wait&&) = delete;
  ~permit_wait() {
    retire();
    // It has a permit or was called, but the coroutine was destroyed before it resumed.
    if (!was_taken() && !was_called()) return;
    woken next;
    if (was_called())
      from_.abandon(next);
    else
      static_cast<void>(from_.give(1, permits::most, next));
  }
  /// The coroutine resumes: with the permit, or stopped.
  void finish() {
    if (retire()) throw cancelled();
    settle();
  }
};

/// Gives n permits back, and wakes the waiters that they are for. If more than `most` were free then, it is a
/// misuse, which the message explains.
inline void give_permits(permits& to, std::uint64_t n, std::uint64_t most, char const* misused) noexcept {
  if (to.try_give(n, most)) return;
  woken next;
  if (!to.give(n, most, next)) misuse(misused);
}

/// Waits for one permit. Result: void, or a type that is made from the permits.
template<class Result>
class [[nodiscard(
    "rubato: nothing is locked or acquired before it is awaited, with co_await")]] permit_awaiter
    : public own_awaitable {
  permits& from_;
  std::optional<permit_wait> wait_; // empty if a permit was free at once, the common case

public:
  static constexpr bool is_one_step = true;
  explicit permit_awaiter(permits& p) noexcept
      : from_(p) {}
  permit_awaiter(permit_awaiter&& other /*not awaited yet*/) noexcept
      : permit_awaiter(other.from_) {}
  permit_awaiter& operator=(permit_awaiter&&) = delete;
  ~permit_awaiter() = default;

  /// Its part in a race, before it is awaited there.
  [[nodiscard]] waiter& racer() noexcept { return wait_.emplace(from_); }
  [[nodiscard]] bool await_ready() noexcept { return from_.try_take(); }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return (wait_ ? *wait_ : wait_.emplace(from_)).await_suspend(h);
  }
  Result await_resume() {
    if (wait_) wait_->finish();
    if constexpr (!std::is_void_v<Result>) return Result(from_);
  }
};

} // namespace rubato::detail
