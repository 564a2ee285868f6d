// What coroutines wait for until it is open: an event, or a latch. docs/design/async-sync.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/sync/wait_list.hpp"

namespace rubato::detail {

/// Any thread may call any member. A waiter may destroy it as soon as its wait has ended without a stop.
class RUBATO_API gate {
  mutable mutex mutex_;
  relaxed<bool> open_; // changes under mutex_
  wait_list waiting_ RUBATO_GUARDED_BY(mutex_);

  class [[nodiscard("rubato: nothing waits before it is awaited, with co_await")]] awaiter final
      : public waiter {
    gate* gate_;
    [[nodiscard]] bool insert() noexcept override;
    [[nodiscard]] bool remove() noexcept override;

  public:
    explicit awaiter(gate& g) noexcept
        : gate_(&g) {}
    awaiter(awaiter&&) noexcept = default;
    ~awaiter() { retire(); }
    [[nodiscard]] bool await_ready() const noexcept { return gate_->is_open(); }
    void await_resume() {
      if (retire()) throw cancelled();
    }
  };

public:
  constexpr explicit gate(bool is_open = false) noexcept
      : open_(is_open) {}

  /// Ends all waits. The caller does not touch it afterwards.
  void open() noexcept;
  void close() noexcept;
  /// True: the caller sees what came before open(), and may destroy the gate.
  [[nodiscard]] bool is_open() const noexcept;
  /// co_await wait(): until it is open. Throws cancelled if the task is stopped meanwhile.
  auto wait() noexcept { return awaiter(*this); }
};

} // namespace rubato::detail
