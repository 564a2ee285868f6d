// A value that changes, and the receivers that have seen it so far. docs/design/async-sync.md
#pragma once

#include "rubato/detail/async_sync/publication.hpp"
#include "rubato/detail/async_sync/published_value.hpp"
#include "rubato/detail/base/counted_ref.hpp"
#include "rubato/detail/memory/slab.hpp"

#include <cstdint>
#include <utility>

namespace rubato::detail {

/// The state of a watch, which its receivers share.
template<class V>
class watch_core final : public publication {
  published_ref<V> value_ RUBATO_GUARDED_BY(mutex_);

public:
  explicit watch_core(published_ref<V> first) noexcept
      : value_(std::move(first)) {}
  void release() noexcept {
    if (holders_.release()) free_in_slab(this);
  }

  /// False: it is closed, and keeps its value.
  [[nodiscard]] bool set(published_ref<V> next) noexcept {
    published_ref<V> before; // destroyed after the unlock, as `next` is
    woken all;
    lock_guard const guard(mutex_);
    if (closed_) return false;
    before = std::exchange(value_, std::move(next));
    tell(all);
    return true;
  }
  [[nodiscard]] V value() const {
    std::uint64_t seen = 0;
    published_ref<V> const now = get(seen);
    return std::as_const(now->value);
  }
  /// `seen`: how often it was set before, this value included.
  [[nodiscard]] published_ref<V> get(std::uint64_t& seen) const noexcept {
    lock_guard const guard(mutex_);
    seen = published_;
    return value_;
  }
  [[nodiscard]] std::uint64_t number() const noexcept {
    lock_guard const guard(mutex_);
    return published_;
  }
};

/// What one receiver of a watch has seen.
template<class V>
class watch_reader {
  counted_ref<watch_core<V>> of_;
  std::uint64_t seen_ = 0;

public:
  explicit watch_reader(counted_ref<watch_core<V>> of) noexcept
      : of_(std::move(of))
      , seen_(of_->number()) {}

  [[nodiscard]] watch_core<V>& source() const noexcept { return present(of_); }
  [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }
  [[nodiscard]] V get() {
    std::uint64_t now = 0;
    published_ref<V> const v = source().get(now);
    V made(std::as_const(v->value)); // if the copy throws, it has not seen the value
    seen_ = now;
    return made;
  }
  /// True: it was set since. After a stop nothing has been seen.
  [[nodiscard]] bool take_news(bool is_awaited) noexcept {
    if (!is_awaited) return false;
    std::uint64_t const before = std::exchange(seen_, source().number());
    return before != seen_;
  }
};

} // namespace rubato::detail
