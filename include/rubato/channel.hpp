// Values on their way from one coroutine to another.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/chunk_queue.hpp"
#include "rubato/detail/mutex.hpp"
#include "rubato/detail/value_in_std.hpp"
#include "rubato/detail/waiter.hpp"

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// A channel's buffer and those who wait at its ends. While receivers wait there is nothing to receive; while
/// senders wait the buffer is full. Values are moved under the lock, so that a move that throws has changed
/// nothing.
template<class V>
class channel_core {
  mutable mutex mutex_;
  std::size_t const capacity_;
  bool closed_ = false; // guarded by mutex_, as is the rest
  chunk_queue<V> buffer_;
  wait_list senders_, receivers_;

public:
  struct sender : waiter {
    V* value = nullptr;
    bool accepted = false;
    std::exception_ptr error;

  protected:
    sender() noexcept = default;
    ~sender() = default;
  };
  struct receiver : waiter {
    std::optional<V> value;
    std::exception_ptr error;

  protected:
    receiver() noexcept = default;
    ~receiver() = default;
  };

  explicit channel_core(std::size_t capacity) noexcept
      : capacity_(capacity)
      , buffer_(capacity) {}

  enum class outcome : unsigned char { done, closed, waits };

  /// waits: there is no room; the sender, if there is one, is in the list. Throws what moving the value
  /// throws, or std::bad_alloc.
  [[nodiscard]] outcome put(V& value, sender* who = nullptr) {
    woken one;
    std::lock_guard const guard(mutex_);
    if (closed_) return outcome::closed;
    if (auto* const r = static_cast<receiver*>(receivers_.front())) {
      r->value.emplace(std::move(value));
      one.push(*receivers_.pop());
      return outcome::done;
    }
    if (buffer_.size() < capacity_) {
      buffer_.push(std::move(value));
      return outcome::done;
    }
    if (who != nullptr) senders_.push(*who);
    return outcome::waits;
  }

  /// waits: there is nothing; the receiver, if there is one, is in the list. Throws what moving the value
  /// throws.
  [[nodiscard]] outcome take(std::optional<V>& value, receiver* who = nullptr) {
    woken all;
    std::lock_guard const guard(mutex_);
    if (buffer_.size() != 0) {
      value.emplace(std::move(buffer_.front()));
      buffer_.pop();
      admit(all);
      return outcome::done;
    }
    if (auto* const s = static_cast<sender*>(senders_.front())) { // only if nothing is ever buffered
      value.emplace(std::move(*s->value));
      s->accepted = true;
      all.push(*senders_.pop());
      return outcome::done;
    }
    if (closed_) return outcome::closed;
    if (who != nullptr) receivers_.push(*who);
    return outcome::waits;
  }

  void close() noexcept {
    woken all;
    std::lock_guard const guard(mutex_);
    closed_ = true;
    all.take(receivers_);
    all.take(senders_);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    std::lock_guard const guard(mutex_);
    return closed_;
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] bool remove(sender& s) noexcept {
    std::lock_guard const guard(mutex_);
    return senders_.remove(s);
  }
  [[nodiscard]] bool remove(receiver& r) noexcept {
    std::lock_guard const guard(mutex_);
    return receivers_.remove(r);
  }

private:
  /// There is room for those who wait. A value that cannot be moved is its sender's, not the receiver's who
  /// made the room.
  void admit(woken& all) noexcept {
    while (!senders_.empty() && buffer_.size() < capacity_) {
      auto& s = static_cast<sender&>(*senders_.pop());
      try {
        buffer_.push(std::move(*s.value));
        s.accepted = true;
      } catch (...) {
        s.error = std::current_exception();
      }
      all.push(s);
    }
  }
};

/// Held: V, or V&& for a value that stays the caller's until it is accepted.
template<class V, class Held>
class [[nodiscard]] send_awaiter final : public channel_core<V>::sender {
  using core_type = channel_core<V>;
  core_type* to_;
  Held held_;

  [[nodiscard]] bool insert() noexcept override {
    try {
      switch (to_->put(*this->value, this)) {
      case core_type::outcome::waits: // in the list: whoever takes it out answers, perhaps already
        return true;
      case core_type::outcome::done:
        this->accepted = true;
        break;
      case core_type::outcome::closed:
        break;
      }
      return false;
    } catch (...) {
      this->error = std::current_exception();
      return false;
    }
  }
  [[nodiscard]] bool remove() noexcept override { return to_->remove(*this); }

public:
  using suspension::was_stopped;
  template<class U>
  explicit send_awaiter(core_type& to, U&& v)
      : to_(&to)
      , held_(std::forward<U>(v)) {}
  send_awaiter(send_awaiter&& other) noexcept(std::is_nothrow_constructible_v<Held, Held&&>)
      : to_(other.to_)
      , held_(static_cast<Held&&>(other.held_)) {}
  ~send_awaiter() { this->retire(); }

  [[nodiscard]] bool await_ready() {
    this->value = std::addressof(held_);
    auto const o = to_->put(held_);
    this->accepted = o == core_type::outcome::done;
    return o != core_type::outcome::waits;
  }
  [[nodiscard]] bool await_resume() {
    this->retire();
    if (this->error != nullptr) std::rethrow_exception(this->error);
    return this->accepted;
  }
};

template<class V>
class [[nodiscard]] receive_awaiter final : public channel_core<V>::receiver {
  using core_type = channel_core<V>;
  core_type* from_;

  [[nodiscard]] bool insert() noexcept override {
    try {
      return from_->take(this->value, this) == core_type::outcome::waits;
    } catch (...) {
      this->error = std::current_exception();
      return false;
    }
  }
  [[nodiscard]] bool remove() noexcept override { return from_->remove(*this); }

public:
  using suspension::was_stopped;
  explicit receive_awaiter(core_type& from) noexcept
      : from_(&from) {}
  receive_awaiter(receive_awaiter&& other) noexcept
      : from_(other.from_) {}
  ~receive_awaiter() { this->retire(); }

  [[nodiscard]] bool await_ready() { return from_->take(this->value) != core_type::outcome::waits; }
  [[nodiscard]] std::optional<V> await_resume() {
    this->retire();
    if (this->error != nullptr) std::rethrow_exception(this->error);
    return std::move(this->value);
  }
};

} // namespace detail

/// A queue between coroutines, first in, first out, with room for `capacity` values; with none a sender waits
/// until a receiver takes its value from it. Any number of senders and receivers, on any threads and pools;
/// who waits at either end is served in order, and goes on on its own pool. A wait costs no allocation; the
/// buffer grows with what is in it. The channel must outlive those who wait for it.
///
/// T is an object type that can be moved, a reference, or void. Values are moved under the channel's lock, so
/// their moves must not use the channel. Where moving one throws, that is thrown by send() or receive() of
/// whoever was second to come, and nothing else has changed.
///
/// A stop request ends a wait as close() would: receive() with nullopt, send() with false.
template<class T>
class channel {
  using core_type = detail::channel_core<detail::value_in_std<T>>;
  core_type core_;

public:
  using value_type = T;
  /// T; std::monostate for void, std::reference_wrapper for a reference.
  using stored_type = detail::value_in_std<T>;

  explicit channel(std::size_t capacity) noexcept
      : core_(capacity) {}

  /// co_await send(value): true when the value is in the buffer or has been received; false, and the value is
  /// where it was, if the channel is closed or the wait was stopped. A value that is passed as an rvalue
  /// must last until then: await it in the same expression, or keep it.
  [[nodiscard]] auto send(stored_type&& value) noexcept {
    return detail::send_awaiter<stored_type, stored_type&&>(core_, std::move(value));
  }
  [[nodiscard]] auto send(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return detail::send_awaiter<stored_type, stored_type>(core_, value);
  }
  [[nodiscard]] auto send() noexcept
    requires std::is_void_v<T>
  {
    return detail::send_awaiter<stored_type, stored_type>(core_, stored_type());
  }
  /// co_await receive(): the next value; nullopt if the channel is closed and empty, or the wait was stopped.
  [[nodiscard]] auto receive() noexcept { return detail::receive_awaiter<stored_type>(core_); }

  /// Without waiting. False, and the value is where it was: there is no room, or the channel is closed.
  [[nodiscard]] bool try_send(stored_type&& value) { return core_.put(value) == core_type::outcome::done; }
  [[nodiscard]] bool try_send(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    stored_type copy(value);
    return core_.put(copy) == core_type::outcome::done;
  }
  [[nodiscard]] bool try_send()
    requires std::is_void_v<T>
  {
    stored_type nothing;
    return core_.put(nothing) == core_type::outcome::done;
  }
  /// Without waiting. nullopt: there is nothing.
  [[nodiscard]] std::optional<stored_type> try_receive() {
    std::optional<stored_type> value;
    static_cast<void>(core_.take(value));
    return value;
  }

  /// No more values: who waits with one is refused; what is in the buffer can still be received.
  void close() noexcept { core_.close(); }
  [[nodiscard]] bool is_closed() const noexcept { return core_.is_closed(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return core_.capacity(); }
};

} // namespace rubato
