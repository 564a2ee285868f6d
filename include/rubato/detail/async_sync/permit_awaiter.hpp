// Waits of coroutines for permits: of a lock, of a semaphore. docs/design/async-sync.md
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

/// A waiter in the list of a number of permits.
class permit_waiter : public waiter, public permit_demand {
protected:
  permit_waiter(std::uint64_t n, permit_order o) noexcept
      : permit_demand(n, o) {}
  ~permit_waiter() = default;
};
using permits = basic_permits<std_policy, permit_waiter>;

/// A coroutine's wait for permits.
class permit_wait final : public permit_waiter {
  permits& from_;

  [[nodiscard]] bool insert() noexcept override { return from_.add(*this); }
  [[nodiscard]] bool remove() noexcept override {
    woken next;
    return from_.remove(*this, next);
  }
  [[nodiscard]] bool insert_again() noexcept override {
    woken next;
    return was_called() && !from_.retry(*this, next);
  }

public:
  permit_wait(permits& p, std::uint64_t n, permit_order o) noexcept
      : permit_waiter(n, o)
      , from_(p) {}
  permit_wait(permit_wait&&) = delete;
  ~permit_wait() {
    retire();
    // It has its permits or was called, but the coroutine was destroyed before it resumed.
    if (!was_taken() && !was_called()) return;
    woken next;
    if (was_called())
      from_.abandon(next);
    else
      static_cast<void>(from_.give(needed(), permits::most, next));
  }
  /// The coroutine resumes: with the permits, or stopped.
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

/// Waits for permits. Result: void, or a type that is made from them.
template<class Result>
class [[nodiscard(
    "rubato: nothing is locked or acquired before it is awaited, with co_await")]] permit_awaiter
    : public own_awaitable {
  permits& from_;
  std::uint64_t const needed_;
  permit_order const order_;
  std::optional<permit_wait> wait_; // empty if the permits were free at once, the common case

  permit_wait& make_wait() noexcept { return wait_.emplace(from_, needed_, order_); }

public:
  static constexpr bool is_one_step = true;
  permit_awaiter(permits& p, std::uint64_t n, permit_order o = permit_order::by_call) noexcept
      : from_(p)
      , needed_(n)
      , order_(o) {}
  permit_awaiter(permit_awaiter&& other /*not awaited yet*/) noexcept
      : permit_awaiter(other.from_, other.needed_, other.order_) {}
  permit_awaiter& operator=(permit_awaiter&&) = delete;
  ~permit_awaiter() = default;

  /// It has its permits, and the coroutine is queued before it goes on: if it is destroyed there, they go
  /// back.
  void keep_while_queued() noexcept { make_wait().take(); }
  /// Its part in a race, before it is awaited there.
  [[nodiscard]] waiter& racer() noexcept { return make_wait(); }
  [[nodiscard]] bool await_ready() noexcept { return from_.try_take(needed_); }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return (wait_ ? *wait_ : make_wait()).await_suspend(h);
  }
  Result await_resume() {
    if (wait_) wait_->finish();
    if constexpr (!std::is_void_v<Result>) return Result(from_, needed_);
  }
};

} // namespace rubato::detail
