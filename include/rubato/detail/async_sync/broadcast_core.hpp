// The last values of a broadcast channel, and its receivers' places among them. docs/design/async-sync.md
//
// Value n is in slot n modulo the capacity until value n + capacity takes its place, or all receivers that
// were there when it was sent have passed it. Invariant: `left` of a retained value is the number of
// receivers that will still read it, or overlook it because they are gone.
#pragma once

#include "rubato/detail/async_sync/publication.hpp"
#include "rubato/detail/async_sync/published_value.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/counted_ref.hpp"
#include "rubato/detail/memory/slab.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rubato::detail {

/// A receiver's place: guarded by nothing, as one coroutine at a time uses the receiver.
struct broadcast_place {
  std::uint64_t next = 0; ///< the value that it reads next
  std::uint64_t lost = 0; ///< values that were overwritten before it could, and of which it has not been told
};

/// The state of a broadcast channel, which its receivers share.
template<class V>
class broadcast_core final : public publication {
  struct slot {
    published_ref<V> value;
    std::size_t left = 0;
  };
  std::size_t const capacity_;
  std::unique_ptr<slot[]> const ring_; // the slots: guarded by mutex_
  std::size_t receivers_ RUBATO_GUARDED_BY(mutex_) = 0;

  [[nodiscard]] static std::size_t checked(std::size_t capacity) {
    if (capacity == 0) throw std::invalid_argument("rubato: a broadcast_channel of capacity 0");
    return capacity;
  }
  [[nodiscard]] slot& at(std::uint64_t n) noexcept RUBATO_REQUIRES(mutex_) { return ring_[n % capacity_]; }
  void skip_overwritten(broadcast_place& p) noexcept RUBATO_REQUIRES(mutex_) {
    std::uint64_t const oldest = published_ - std::min<std::uint64_t>(published_, capacity_);
    if (p.next >= oldest) return;
    p.lost += oldest - p.next;
    p.next = oldest;
  }
  /// The value at a place, which moves on. The last receiver takes it out of the ring.
  [[nodiscard]] published_ref<V> pass(broadcast_place& p) noexcept RUBATO_REQUIRES(mutex_) {
    slot& s = at(p.next++);
    RUBATO_ASSERT(s.left != 0 && s.value, "a receiver of a broadcast reads a value twice", p.next,
                  published_);
    if (--s.left == 0) return std::move(s.value);
    return s.value;
  }

public:
  explicit broadcast_core(std::size_t capacity)
      : capacity_(checked(capacity))
      , ring_(std::make_unique<slot[]>(capacity)) {}
  void release() noexcept {
    if (holders_.release()) free_in_slab(this);
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  /// False: send() would drop a value now.
  [[nodiscard]] bool is_received() const noexcept {
    lock_guard const guard(mutex_);
    return !closed_ && receivers_ != 0;
  }
  /// Returns the number of receivers; 0: the value was dropped.
  std::size_t send(published_ref<V> v) noexcept {
    published_ref<V> overwritten; // destroyed after the unlock, as `v` is
    woken all;
    lock_guard const guard(mutex_);
    if (closed_ || receivers_ == 0) return 0;
    slot& s = at(published_);
    overwritten = std::exchange(s.value, std::move(v));
    s.left = receivers_;
    tell(all);
    return receivers_;
  }

  // For receivers.
  [[nodiscard]] broadcast_place enter() noexcept {
    lock_guard const guard(mutex_);
    ++receivers_;
    return {published_, 0};
  }
  /// Empty: there is no value at that place yet.
  [[nodiscard]] published_ref<V> take(broadcast_place& p) noexcept {
    lock_guard const guard(mutex_);
    skip_overwritten(p);
    if (p.next == published_) return {};
    return pass(p);
  }
  [[nodiscard]] std::uint64_t take_lost(broadcast_place& p) noexcept {
    lock_guard const guard(mutex_);
    skip_overwritten(p);
    return std::exchange(p.lost, 0);
  }
  /// The receiver goes. Values that only it would have read are destroyed, one at a time: not under the lock.
  void leave(broadcast_place p) noexcept {
    std::uint64_t const end = stop_counting();
    for (bool more = true; more;) more = pass_unread(p, end);
  }

private:
  /// Values that are sent from now on do not count a receiver. Returns the number of those before.
  [[nodiscard]] std::uint64_t stop_counting() noexcept {
    lock_guard const guard(mutex_);
    --receivers_;
    return published_;
  }
  [[nodiscard]] bool pass_unread(broadcast_place& p, std::uint64_t end) noexcept {
    published_ref<V> unread; // destroyed after the unlock
    lock_guard const guard(mutex_);
    skip_overwritten(p);
    if (p.next >= end) return false;
    unread = pass(p);
    return true;
  }
};

/// One receiver of a broadcast channel.
template<class V>
class broadcast_reader {
  counted_ref<broadcast_core<V>> of_;
  broadcast_place place_;

  void leave() noexcept {
    if (of_) of_->leave(place_);
  }

public:
  explicit broadcast_reader(counted_ref<broadcast_core<V>> of) noexcept
      : of_(std::move(of))
      , place_(of_->enter()) {}
  broadcast_reader(broadcast_reader&& other) noexcept = default;
  broadcast_reader& operator=(broadcast_reader&& other) noexcept {
    broadcast_reader moved(std::move(other));
    std::swap(of_, moved.of_);
    std::swap(place_, moved.place_);
    return *this;
  }
  ~broadcast_reader() { leave(); }

  [[nodiscard]] broadcast_core<V>& source() const noexcept { return present(of_); }
  [[nodiscard]] std::uint64_t seen() const noexcept { return place_.next; }
  /// Throws exceptions of the value's copy; then the value is lost for this receiver.
  [[nodiscard]] std::optional<V> take() {
    published_ref<V> v = source().take(place_);
    if (!v) return std::nullopt;
    return std::optional<V>(copy_or_move_out(std::move(v)));
  }
  /// A stop takes nothing.
  [[nodiscard]] std::optional<V> take_news(bool is_awaited) {
    if (is_awaited) return take();
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t take_lost() noexcept { return source().take_lost(place_); }
};

} // namespace rubato::detail
