// How new work gets into a pool, or is refused. docs/design/lifecycle.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <utility>

namespace rubato::detail {

enum class arriving : unsigned char {
  task,      ///< max_queued applies, and the limit on what comes from outside while the pool ends
  unlimited, ///< only that limit
  timed,     ///< neither, because a pool that ends cancels it
  begun      ///< neither, because it has begun in another pool; a pool that discards refuses it
};

/// The caller is about to queue new work in that pool. Until this ends the pool does not close, and so the
/// work is run. A closed pool refuses the work. Made before anything of the caller's is moved.
class arrival {
  pool_core* core_;
  bool is_announced_ = false; // by a thread that the pool does not count as running
  bool holds_capacity_ = false;

  [[nodiscard]] bool enter(arriving what) noexcept;
  RUBATO_API void leave() noexcept;

public:
  /// Waits while max_queued tasks are queued. Throws cancelled if the pool refuses the work.
  RUBATO_API explicit arrival(pool_core& c, arriving what = arriving::task);
  struct at_once {};
  /// Neither waits nor throws.
  RUBATO_API arrival(pool_core& c, at_once /*tag*/, arriving what = arriving::task) noexcept;
  arrival(arrival const&) = delete;
  arrival& operator=(arrival const&) = delete;
  ~arrival() {
    if (is_announced_ || holds_capacity_) leave();
  }

  [[nodiscard]] bool is_refused() const noexcept { return core_ == nullptr; }
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }
  /// True, once: the task holds the capacity from now on.
  [[nodiscard]] bool give_capacity() noexcept { return std::exchange(holds_capacity_, false); }
};

} // namespace rubato::detail
