// The awaitable of a barrier. A part of sync.hpp. docs/design/async-sync.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/sync.hpp"

namespace rubato {

class [[nodiscard]] RUBATO_API async_barrier::awaiter final : public detail::waiter {
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

inline auto async_barrier::arrive_and_wait() noexcept { return awaiter(*this); }

} // namespace rubato
