// A channel without its types: the buffer, and the waiters at its ends. docs/design/async-sync.md
#pragma once

#include "rubato/detail/async_sync/channel_value.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/chunk_queue.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/sync/race.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace rubato::detail {

/// lost: the caller is in a race that another operation has won, and nothing has changed.
enum class channel_outcome : unsigned char { done, closed, waits, lost };

/// A channel's buffer and the waiters at its ends. While receivers wait, there is nothing to receive; while
/// senders wait, the buffer is full. Cells are moved under the lock.
template<class V>
class channel_core {
  mutable mutex mutex_;
  std::size_t const capacity_;
  bool closed_ RUBATO_GUARDED_BY(mutex_) = false;
  chunk_queue<channel_cell<V>> buffer_ RUBATO_GUARDED_BY(mutex_);
  wait_list senders_ RUBATO_GUARDED_BY(mutex_), receivers_ RUBATO_GUARDED_BY(mutex_);

public:
  struct sender : waiter {
    channel_cell_t<V>* value = nullptr;
    bool accepted = false;
    std::exception_ptr error;

  protected:
    sender() noexcept = default;
    ~sender() = default;
  };
  struct receiver : waiter {
    std::optional<channel_cell_t<V>> value;

  protected:
    receiver() noexcept = default;
    ~receiver() = default;
  };

  explicit channel_core(std::size_t capacity) noexcept
      : capacity_(capacity)
      , buffer_(capacity) {}

  using outcome = channel_outcome;

  /// waits: the buffer is full; the sender, if there is one, is in the list. Not for a sender in a race.
  /// Throws std::bad_alloc; then nothing has changed.
  [[nodiscard]] outcome put(auto& value, sender* caller = nullptr) {
    {
      woken one;
      lock_guard const guard(mutex_);
      auto* const r = static_cast<receiver*>(receivers_.front());
      if (!is_raced(r)) [[likely]] {
        if (closed_) return outcome::closed;
        if (r != nullptr) {
          RUBATO_ASSERT_STEP(buffer_.size() == 0, "a receiver waits beside values", buffer_.size(),
                             capacity_);
          r->value.emplace(std::move(value));
          one.push(*receivers_.pop());
          return outcome::done;
        }
        if (buffer_.size() < capacity_) {
          buffer_.push(std::move(value));
          return outcome::done;
        }
        if (caller != nullptr) senders_.push(*caller);
        return outcome::waits;
      }
    }
    return put_in_race(value, caller);
  }

  /// waits: there is no value; the receiver, if there is one, is in the list. Not for a receiver in a race.
  [[nodiscard]] outcome take(auto& value, receiver* caller = nullptr) noexcept {
    {
      woken all;
      lock_guard const guard(mutex_);
      if (buffer_.size() != 0) {
        value.emplace(std::move(buffer_.front()));
        buffer_.pop();
        if (!senders_.empty()) admit(all);
        return outcome::done;
      }
      auto* const s = static_cast<sender*>(senders_.front()); // non-null only if the capacity is 0
      if (!is_raced(s)) [[likely]] {
        if (s != nullptr) {
          RUBATO_ASSERT_STEP(capacity_ == 0 && !closed_, "a sender waits beside room", capacity_, closed_);
          value.emplace(std::move(*s->value));
          s->accepted = true;
          all.push(*senders_.pop());
          return outcome::done;
        }
        if (closed_) return outcome::closed;
        if (caller != nullptr) receivers_.push(*caller);
        return outcome::waits;
      }
    }
    return take_in_race(value, caller);
  }

  // put() and take() for callers or waiters in a race, which must be claimed first. They lock for themselves,
  // so put() and take() keep their variables in registers.
  [[gnu::noinline]] outcome put_in_race(auto& value, sender* caller) {
    woken one;
    lock_guard const guard(mutex_);
    race_entry const own = entry_of(caller);
    if (closed_) return answer(own, outcome::closed);
    outcome const met = meet(receivers_, own, one, [&value](wait_node& n) {
      static_cast<receiver&>(n).value.emplace(std::move(value));
    });
    if (met != outcome::waits) return met;
    if (buffer_.size() < capacity_) {
      claim c(own);
      if (!c.is_open()) return outcome::lost;
      buffer_.push(std::move(value));
      c.decide();
      return outcome::done;
    }
    if (caller != nullptr) senders_.push(*caller);
    return outcome::waits;
  }
  [[gnu::noinline]] outcome take_in_race(auto& value, receiver* caller) noexcept {
    woken all;
    lock_guard const guard(mutex_);
    race_entry const own = entry_of(caller);
    if (buffer_.size() != 0) {
      if (!take_buffered(value, own)) return outcome::lost;
      admit(all); // not while our race is locked: each waiter may be in another race
      return outcome::done;
    }
    outcome const met = meet(senders_, own, all, [&value](wait_node& n) {
      auto& s = static_cast<sender&>(n);
      value.emplace(std::move(*s.value));
      s.accepted = true;
    });
    if (met != outcome::waits) return met;
    if (closed_) return answer(own, outcome::closed);
    if (caller != nullptr) receivers_.push(*caller);
    return outcome::waits;
  }
  void close() noexcept {
    woken all;
    lock_guard const guard(mutex_);
    closed_ = true;
    all.claim_all(receivers_);
    all.claim_all(senders_);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    lock_guard const guard(mutex_);
    return closed_;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// False: put() would refuse a value now.
  [[nodiscard]] bool has_room() const noexcept {
    lock_guard const guard(mutex_);
    return !closed_ && (buffer_.size() < capacity_ || !receivers_.empty());
  }

  [[nodiscard]] bool remove(sender& s) noexcept {
    lock_guard const guard(mutex_);
    return senders_.remove(s);
  }
  [[nodiscard]] bool remove(receiver& r) noexcept {
    lock_guard const guard(mutex_);
    return receivers_.remove(r);
  }

private:
  [[nodiscard]] static bool is_raced(waiter const* w) noexcept {
    return w != nullptr && w->entry().race != nullptr;
  }
  [[nodiscard]] static race_entry entry_of(waiter const* caller) noexcept {
    return caller != nullptr ? caller->entry() : race_entry();
  }
  /// The outcome of the caller's operation, unless another operation has won its race.
  [[nodiscard]] static outcome answer(race_entry own, outcome o) noexcept {
    claim c(own);
    if (!c.is_open()) return outcome::lost;
    c.decide();
    return o;
  }

  /// Finds the longest waiter whose race is open and not the caller's, and calls hand_over(waiter). waits:
  /// there is none.
  template<class F>
  [[nodiscard]] outcome meet(wait_list& list, race_entry own, woken& all, F hand_over) noexcept
      RUBATO_REQUIRES(mutex_) {
    for (wait_node* n = list.front(); n != nullptr;) {
      claim c(own, n->entry());
      if (c.is_open()) {
        hand_over(*n);
        c.decide();
        list.take(*n);
        all.push(*n);
        return outcome::done;
      }
      if (c.state() == claim::found::own_decided) return outcome::lost;
      n = c.state() == claim::found::same_race ? wait_list::after(*n) : list.lose(*n);
    }
    return outcome::waits;
  }
  [[nodiscard]] bool take_buffered(auto& value, race_entry own) noexcept RUBATO_REQUIRES(mutex_) {
    claim c(own);
    if (!c.is_open()) return false;
    value.emplace(std::move(buffer_.front()));
    c.decide();
    buffer_.pop();
    return true;
  }
  /// Moves waiting senders' values into the buffer while it is not full. std::bad_alloc goes to the sender,
  /// not to the receiver.
  void admit(woken& all) noexcept RUBATO_REQUIRES(mutex_) {
    while (!senders_.empty() && buffer_.size() < capacity_) {
      auto& s = static_cast<sender&>(*senders_.front());
      race_entry const own = s.entry();
      if (own.race == nullptr || own.race->claim(own.index)) [[likely]] {
        senders_.take(s);
        try {
          buffer_.push(std::move(*s.value));
          s.accepted = true;
        } catch (...) {
          s.error = std::current_exception();
        }
        all.push(s);
      } else {
        senders_.lose(s);
      }
    }
  }
};

} // namespace rubato::detail
