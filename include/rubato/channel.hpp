// Values on their way from one coroutine to another.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/chunk_queue.hpp"
#include "rubato/detail/mutex.hpp"
#include "rubato/detail/race.hpp"
#include "rubato/detail/thread_wait.hpp"
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

  /// lost: the party is in a race, which was decided for another, and nothing has changed.
  enum class outcome : unsigned char { done, closed, waits, lost };

  /// waits: there is no room; the sender, if there is one, is in the list; it is in no race. Throws what
  /// moving the value throws, or std::bad_alloc.
  [[nodiscard]] outcome put(V& value, sender* who = nullptr) {
    {
      woken one;
      std::lock_guard const guard(mutex_);
      auto* const r = static_cast<receiver*>(receivers_.front());
      if (!is_raced(r)) [[likely]] {
        if (closed_) return outcome::closed;
        if (r != nullptr) {
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
    }
    return put_in_race(value, who);
  }

  /// waits: there is nothing; the receiver, if there is one, is in the list; it is in no race. Throws what
  /// moving the value throws.
  [[nodiscard]] outcome take(std::optional<V>& value, receiver* who = nullptr) {
    {
      woken all;
      std::lock_guard const guard(mutex_);
      if (buffer_.size() != 0) {
        value.emplace(std::move(buffer_.front()));
        buffer_.pop();
        if (!senders_.empty()) admit(all);
        return outcome::done;
      }
      auto* const s = static_cast<sender*>(senders_.front()); // only if nothing is ever buffered
      if (!is_raced(s)) [[likely]] {
        if (s != nullptr) {
          value.emplace(std::move(*s->value));
          s->accepted = true;
          all.push(*senders_.pop());
          return outcome::done;
        }
        if (closed_) return outcome::closed;
        if (who != nullptr) receivers_.push(*who);
        return outcome::waits;
      }
    }
    return take_in_race(value, who);
  }

  // The same as put() and take() where races must be claimed first: the calling party's, or a waiter's.
  // With locks of their own: nothing of those two has to stand in memory for them.
  [[gnu::noinline]] outcome put_in_race(V& value, sender* who) {
    woken one;
    std::lock_guard const guard(mutex_);
    race_entry const own = entry_of(who);
    if (closed_) return answer(own, outcome::closed);
    for (wait_node* n = receivers_.front(); n != nullptr;) {
      claim c(own, n->entry());
      if (c.is_open()) {
        static_cast<receiver*>(n)->value.emplace(std::move(value));
        c.decide();
        receivers_.take(*n);
        one.push(*n);
        return outcome::done;
      }
      if (c.state() == claim::found::own_decided) return outcome::lost;
      n = c.state() == claim::found::same_race ? wait_list::after(*n) : receivers_.lose(*n);
    }
    if (buffer_.size() < capacity_) {
      claim c(own);
      if (!c.is_open()) return outcome::lost;
      buffer_.push(std::move(value));
      c.decide();
      return outcome::done;
    }
    if (who != nullptr) senders_.push(*who);
    return outcome::waits;
  }
  [[gnu::noinline]] outcome take_in_race(std::optional<V>& value, receiver* who) {
    woken all;
    std::lock_guard const guard(mutex_);
    race_entry const own = entry_of(who);
    if (buffer_.size() != 0) {
      if (!take_buffered(value, own)) return outcome::lost;
      admit(all); // not while our race is locked: each of those that wait may be in another
      return outcome::done;
    }
    for (wait_node* n = senders_.front(); n != nullptr;) {
      claim c(own, n->entry());
      if (c.is_open()) {
        auto& s = *static_cast<sender*>(n);
        value.emplace(std::move(*s.value));
        s.accepted = true;
        c.decide();
        senders_.take(*n);
        all.push(*n);
        return outcome::done;
      }
      if (c.state() == claim::found::own_decided) return outcome::lost;
      n = c.state() == claim::found::same_race ? wait_list::after(*n) : senders_.lose(*n);
    }
    if (closed_) return answer(own, outcome::closed);
    if (who != nullptr) receivers_.push(*who);
    return outcome::waits;
  }
  void close() noexcept {
    woken all;
    std::lock_guard const guard(mutex_);
    closed_ = true;
    all.claim_all(receivers_);
    all.claim_all(senders_);
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
  [[nodiscard]] static bool is_raced(waiter const* w) noexcept {
    return w != nullptr && w->entry().race != nullptr;
  }
  [[nodiscard]] static race_entry entry_of(waiter const* who) noexcept {
    return who != nullptr ? who->entry() : race_entry();
  }
  /// That is how the party's operation ends, unless its race was decided for another.
  [[nodiscard]] static outcome answer(race_entry own, outcome o) noexcept {
    claim c(own);
    if (!c.is_open()) return outcome::lost;
    c.decide();
    return o;
  }

  [[nodiscard]] bool take_buffered(std::optional<V>& value, race_entry own) {
    claim c(own);
    if (!c.is_open()) return false;
    value.emplace(std::move(buffer_.front()));
    c.decide();
    buffer_.pop();
    return true;
  }
  /// There is room for those who wait. A value that cannot be moved is its sender's, not the receiver's who
  /// made the room.
  void admit(woken& all) noexcept {
    while (!senders_.empty() && buffer_.size() < capacity_) {
      auto& s = static_cast<sender&>(*senders_.front());
      if (!is_raced(&s) || wins_race(s)) [[likely]] {
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
  [[nodiscard]] static bool wins_race(sender const& s) noexcept {
    race_entry const e = s.entry();
    return e.race->claim(e.index);
  }
};

/// Held: V, or V&& for a value that stays the caller's until it is accepted.
template<class V, class Held>
class [[nodiscard(
    "rubato: nothing is sent before it is awaited: co_await channel.send(value)")]] send_awaiter final
    : public channel_core<V>::sender {
  using core_type = channel_core<V>;
  core_type* to_;
  Held held_;

  [[nodiscard]] bool insert() noexcept override {
    this->value = std::addressof(held_);
    try {
      switch (this->entry().race == nullptr ? to_->put(held_, this) : to_->put_in_race(held_, this)) {
      case core_type::outcome::waits: // in the list: the party that takes it out answers, perhaps already
        return true;
      case core_type::outcome::done:
        this->accepted = true;
        break;
      case core_type::outcome::closed:
      case core_type::outcome::lost:
        break;
      }
      return false;
    } catch (...) {
      this->fail_with(this->error, std::current_exception());
      return false;
    }
  }
  [[nodiscard]] bool remove() noexcept override { return to_->remove(*this); }

public:
  using suspension::was_stopped;
  using raced_type = send_awaiter;
  template<class U>
  explicit send_awaiter(core_type& to, U&& v)
      : to_(&to)
      , held_(std::forward<U>(v)) {}
  send_awaiter(send_awaiter&& other) noexcept(std::is_nothrow_constructible_v<Held, Held&&>)
      : to_(other.to_)
      , held_(static_cast<Held&&>(other.held_)) {}
  ~send_awaiter() { this->retire(); }

  [[nodiscard]] bool await_ready() {
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
class [[nodiscard(
    "rubato: nothing is received before it is awaited: co_await channel.receive()")]] receive_awaiter final
    : public channel_core<V>::receiver {
  using core_type = channel_core<V>;
  core_type* from_;

  [[nodiscard]] bool insert() noexcept override {
    try {
      auto const o = this->entry().race == nullptr ? from_->take(this->value, this)
                                                   : from_->take_in_race(this->value, this);
      return o == core_type::outcome::waits;
    } catch (...) {
      this->fail_with(this->error, std::current_exception());
      return false;
    }
  }
  [[nodiscard]] bool remove() noexcept override { return from_->remove(*this); }

public:
  using suspension::was_stopped;
  using raced_type = receive_awaiter;
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

namespace detail {

/// One of the operations of a select(), and what is called if that is what happens.
template<class A, class F>
struct [[nodiscard("rubato: one of select()'s operations, which does nothing by itself")]] selected {
  A step;
  F called;

  template<class G>
  selected(A&& a, G&& g)
      : step(std::move(a))
      , called(std::forward<G>(g)) {}
};
template<class A, class G>
selected(A&&, G&&) -> selected<A, std::decay_t<G>>;

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
  auto send(stored_type&& value) noexcept {
    return detail::send_awaiter<stored_type, stored_type&&>(core_, std::move(value));
  }
  auto send(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return detail::send_awaiter<stored_type, stored_type>(core_, value);
  }
  auto send() noexcept
    requires std::is_void_v<T>
  {
    return detail::send_awaiter<stored_type, stored_type>(core_, stored_type());
  }
  /// co_await receive(): the next value; nullopt if the channel is closed and empty, or the wait was stopped.
  auto receive() noexcept { return detail::receive_awaiter<stored_type>(core_); }

  /// For select(): if that is what happens, f(std::optional<stored_type>), as receive() would yield it.
  template<class F>
  [[nodiscard]] auto receiving(F&& f) {
    return detail::selected(receive(), std::forward<F>(f));
  }
  /// Likewise f(bool), as send() would yield it.
  template<class F>
  [[nodiscard]] auto sending(stored_type&& value, F&& f) {
    return detail::selected(send(std::move(value)), std::forward<F>(f));
  }
  template<class F>
  [[nodiscard]] auto sending(stored_type const& value, F&& f)
    requires std::copy_constructible<stored_type>
  {
    return detail::selected(send(value), std::forward<F>(f));
  }

  /// As co_await send(value), on any thread: sleeps until then. In a task it leaves its seat meanwhile. For
  /// the edge of a program; where coroutines can wait, they cost less.
  [[nodiscard]] bool send_blocking(stored_type&& value) { return send_and_wait(value); }
  [[nodiscard]] bool send_blocking(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    stored_type copy(value);
    return send_and_wait(copy);
  }
  [[nodiscard]] bool send_blocking()
    requires std::is_void_v<T>
  {
    stored_type nothing;
    return send_and_wait(nothing);
  }
  /// As co_await receive(), likewise. Both throw std::bad_alloc if there is no memory for a wait.
  [[nodiscard]] std::optional<stored_type> receive_blocking() {
    std::optional<stored_type> value;
    if (core_.take(value) != core_type::outcome::waits) return value;
    detail::thread_wait wait;
    detail::thread_end<typename core_type::receiver> here(wait);
    if (core_.take_in_race(here.value, &here) == core_type::outcome::waits && !wait.wait("receive_blocking"))
      static_cast<void>(core_.remove(here));
    return std::move(here.value);
  }

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

private:
  [[nodiscard]] bool send_and_wait(stored_type& value) {
    if (auto const o = core_.put(value); o != core_type::outcome::waits) return o == core_type::outcome::done;
    detail::thread_wait wait;
    detail::thread_end<typename core_type::sender> here(wait);
    here.value = std::addressof(value);
    auto const o = core_.put_in_race(value, &here);
    if (o != core_type::outcome::waits) return o == core_type::outcome::done;
    if (!wait.wait("send_blocking")) static_cast<void>(core_.remove(here));
    if (here.error != nullptr) std::rethrow_exception(here.error);
    return here.accepted;
  }
};

} // namespace rubato
