// A channel without its types: the buffer, and the waiters at its ends. docs/design/async-sync.md
#pragma once

#include "rubato/detail/async_sync/channel_value.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/chunk_queue.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/sync/room.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

namespace rubato::detail {

/// lost: the caller is in a race that another operation has won, and nothing has changed.
enum class channel_outcome : unsigned char { done, closed, waits, lost };

/// A channel's buffer and the waiters at its ends. While receivers wait, there is nothing to receive; while
/// senders wait, the buffer is full. Cells are moved under a lock.
///
/// The buffer has two parts, with a lock each: senders append to back_, receivers take from front_. A
/// receiver that finds the front empty exchanges the parts. So ends that keep up with each other share no
/// cache line. What is rare takes both locks, the front's first. While receivers wait, both parts are empty:
/// values get into the front only by an exchange.
template<class V>
class channel_core {
  static constexpr std::size_t line = 64;
  static constexpr std::size_t most_pauses = 64;

  std::size_t const capacity_;
  alignas(line) mutable mutex front_mutex_;
  chunk_queue<channel_cell<V>> front_ RUBATO_GUARDED_BY(front_mutex_);
  wait_list senders_ RUBATO_GUARDED_BY(front_mutex_);
  basic_taken_count<std_policy> taken_; // changed under front_mutex_
  alignas(line) mutable mutex back_mutex_;
  bool closed_ RUBATO_GUARDED_BY(back_mutex_) = false;
  chunk_queue<channel_cell<V>> back_ RUBATO_GUARDED_BY(back_mutex_);
  wait_list receivers_ RUBATO_GUARDED_BY(back_mutex_);
  basic_room<std_policy> room_ RUBATO_GUARDED_BY(back_mutex_);

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
      , front_(capacity)
      , back_(capacity)
      , room_(capacity) {}
  channel_core(channel_core const&) = delete;
  channel_core& operator=(channel_core const&) = delete;
  /// A thread whose operation let the caller go on may still be in the unlock of the end that the caller did
  /// not use.
  ~channel_core() {
    {
      lock_guard const front(front_mutex_);
    }
    {
      lock_guard const back(back_mutex_);
    }
  }

  using outcome = channel_outcome;

  // For callers in no race: one lock, unless the buffer is full or empty.

  /// waits: the buffer is full. Throws std::bad_alloc; then nothing has changed.
  [[nodiscard]] outcome put(auto& value) {
    {
      woken one;
      lock_guard const back(back_mutex_);
      auto* const r = static_cast<receiver*>(receivers_.front());
      if (r == nullptr || r->entry().race == nullptr) [[likely]] {
        if (closed_) return outcome::closed;
        if (r != nullptr) {
          RUBATO_ASSERT_STEP(back_.size() == 0, "a receiver waits beside values", back_.size());
          r->value.emplace(std::move(value));
          one.push(*receivers_.pop());
          return outcome::done;
        }
        if (!room_.is_free(taken_)) return outcome::waits;
        back_.push(std::move(value));
        room_.fill();
        return outcome::done;
      }
    }
    return put_or_wait(value, nullptr);
  }
  /// waits: there is no value.
  [[nodiscard]] outcome take(auto& value) noexcept {
    front_mutex_.lock();
    if (front_.size() != 0 && senders_.empty()) [[likely]] {
      take_front(value);
      front_mutex_.unlock();
      return outcome::done;
    }
    return take_with_both(value, nullptr);
  }

  // Whatever the caller or the waiters are in. They lock for themselves, so put() and take() keep their
  // variables in registers. waits: the caller, if there is one, is in the list.

  [[gnu::noinline]] outcome put_or_wait(auto& value, sender* caller) {
    woken one;
    lock_guard const front(front_mutex_);
    lock_guard const back(back_mutex_);
    race_entry const own = entry_of(caller);
    if (closed_) return answer(own, outcome::closed);
    outcome const met = meet(receivers_, own, one, [&value](wait_node& n) {
      static_cast<receiver&>(n).value.emplace(std::move(value));
    });
    if (met != outcome::waits) return met;
    if (room_.is_free(taken_)) {
      claim c(own);
      if (!c.is_open()) return outcome::lost;
      back_.push(std::move(value));
      c.decide();
      room_.fill();
      return outcome::done;
    }
    if (caller != nullptr) senders_.push(*caller);
    return outcome::waits;
  }
  [[nodiscard]] outcome take_or_wait(auto& value, receiver* caller) noexcept {
    front_mutex_.lock();
    return take_with_both(value, caller);
  }

  void close() noexcept {
    woken all;
    lock_guard const front(front_mutex_);
    lock_guard const back(back_mutex_);
    closed_ = true;
    all.claim_all(receivers_);
    all.claim_all(senders_);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    lock_guard const back(back_mutex_);
    return closed_;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// False: put() would refuse a value now.
  [[nodiscard]] bool has_room() noexcept {
    lock_guard const back(back_mutex_);
    return !closed_ && (!receivers_.empty() || room_.is_free(taken_));
  }

  [[nodiscard]] bool remove(sender& s) noexcept {
    lock_guard const front(front_mutex_);
    return senders_.remove(s);
  }
  [[nodiscard]] bool remove(receiver& r) noexcept {
    lock_guard const back(back_mutex_);
    return receivers_.remove(r);
  }

private:
  [[gnu::noinline]] outcome take_with_both(auto& value, receiver* caller) noexcept
      RUBATO_RELEASE(front_mutex_) {
    woken all;
    lock_guard const front(front_mutex_, std::adopt_lock);
    lock_back();
    lock_guard const back(back_mutex_, std::adopt_lock);
    race_entry const own = entry_of(caller);
    if (front_.size() == 0) front_.swap(back_);
    if (front_.size() != 0) {
      if (!take_front_in_race(value, own)) return outcome::lost;
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
  /// If a sender is at work, it may put in more values, which the caller then gets in one exchange: a pause
  /// costs less than a line that moves to and fro for each value. Short where few values find room, because
  /// there the senders would wait for the receiver.
  void lock_back() noexcept RUBATO_ACQUIRE(back_mutex_) RUBATO_NOT_ANALYSED {
    if (back_mutex_.try_lock()) return;
    for (std::size_t i = 0, n = std::min(most_pauses, capacity_ / 16); i != n; ++i) std_policy::pause();
    back_mutex_.lock();
  }
  void take_front(auto& value) noexcept RUBATO_REQUIRES(front_mutex_) {
    value.emplace(std::move(front_.front()));
    front_.pop();
    taken_.add();
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
      RUBATO_REQUIRES(front_mutex_, back_mutex_) {
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
  [[nodiscard]] bool take_front_in_race(auto& value, race_entry own) noexcept RUBATO_REQUIRES(front_mutex_) {
    claim c(own);
    if (!c.is_open()) return false;
    take_front(value);
    c.decide();
    return true;
  }
  /// Moves waiting senders' values into the buffer while it is not full. std::bad_alloc goes to the sender,
  /// not to the receiver.
  void admit(woken& all) noexcept RUBATO_REQUIRES(front_mutex_, back_mutex_) {
    while (!senders_.empty() && room_.is_free(taken_)) {
      auto& s = static_cast<sender&>(*senders_.front());
      race_entry const own = s.entry();
      if (own.race == nullptr || own.race->claim(own.index)) [[likely]] {
        senders_.take(s);
        try {
          back_.push(std::move(*s.value));
          room_.fill();
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
