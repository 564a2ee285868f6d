// Channels pass values from one coroutine to another.
//
//   #include <rubato/channel.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::task<void> count(rubato::channel<int>& out) {
//     bool const sent = co_await out.send(7); // waits while the buffer is full
//     if (sent) out.close();
//   }
//
//   int main() {
//     rubato::channel<int> numbers(4);
//     rubato::future<void> counter = rubato::spawn(count(numbers));
//     while (auto n = numbers.receive_blocking()) std::printf("%d\n", *n); // -> 7
//     counter.get();
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/async_sync/channel_value.hpp"
#include "rubato/detail/async_sync/thread_wait.hpp"
#include "rubato/detail/base/chunk_queue.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/sync/race.hpp"

#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

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
  [[nodiscard]] outcome put(auto& value, sender* who = nullptr) {
    {
      woken one;
      lock_guard const guard(mutex_);
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

  /// waits: there is no value; the receiver, if there is one, is in the list. Not for a receiver in a race.
  [[nodiscard]] outcome take(auto& value, receiver* who = nullptr) noexcept {
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

  // put() and take() for callers or waiters in a race, which must be claimed first. They lock for themselves,
  // so put() and take() keep their variables in registers.
  [[gnu::noinline]] outcome put_in_race(auto& value, sender* who) {
    woken one;
    lock_guard const guard(mutex_);
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
  [[gnu::noinline]] outcome take_in_race(auto& value, receiver* who) noexcept {
    woken all;
    lock_guard const guard(mutex_);
    race_entry const own = entry_of(who);
    if (buffer_.size() != 0) {
      if (!take_buffered(value, own)) return outcome::lost;
      admit(all); // not while our race is locked: each waiter may be in another race
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
  [[nodiscard]] static race_entry entry_of(waiter const* who) noexcept {
    return who != nullptr ? who->entry() : race_entry();
  }
  /// The outcome of the caller's operation, unless another operation has won its race.
  [[nodiscard]] static outcome answer(race_entry own, outcome o) noexcept {
    claim c(own);
    if (!c.is_open()) return outcome::lost;
    c.decide();
    return o;
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

/// Held: V, or V&& for a value that the caller keeps unless it is accepted.
template<class V, class Held>
class [[nodiscard(
    "rubato: nothing is sent before it is awaited: co_await channel.send(value)")]] send_awaiter final
    : public channel_core<V>::sender {
  using core_type = channel_core<V>;
  core_type* to_;
  outgoing_value<V, Held> out_;

  [[nodiscard]] bool insert() noexcept override {
    auto& cell = out_.cell(); // it was made before
    this->value = std::addressof(cell);
    try {
      switch (this->entry().race == nullptr ? to_->put(cell, this) : to_->put_in_race(cell, this)) {
      case core_type::outcome::waits: // the thread that takes it out of the list sets `accepted`
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
  using wait_operation::was_stopped;
  using raced_type = send_awaiter;
  template<class U>
  explicit send_awaiter(core_type& to, U&& v)
      : to_(&to)
      , out_(std::forward<U>(v)) {}
  send_awaiter(send_awaiter&& other) noexcept
      : to_(other.to_)
      , out_(std::move(other.out_)) {}
  ~send_awaiter() { this->retire(); }

  [[nodiscard]] bool await_ready() {
    auto const o = to_->put(out_.cell());
    this->accepted = o == core_type::outcome::done;
    return o != core_type::outcome::waits;
  }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    static_cast<void>(out_.cell()); // a race beside tasks does not call await_ready()
    return wait_operation::await_suspend(h);
  }
  [[nodiscard]] bool await_resume() {
    this->retire();
    if (this->error != nullptr) std::rethrow_exception(this->error);
    if (!this->accepted) out_.give_back();
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
    return (this->entry().race == nullptr
                ? from_->take(this->value, this)
                : from_->take_in_race(this->value, this)) == core_type::outcome::waits;
  }
  [[nodiscard]] bool remove() noexcept override { return from_->remove(*this); }

public:
  using wait_operation::was_stopped;
  using raced_type = receive_awaiter;
  explicit receive_awaiter(core_type& from) noexcept
      : from_(&from) {}
  receive_awaiter(receive_awaiter&& other) noexcept
      : from_(other.from_) {}
  ~receive_awaiter() { this->retire(); }

  [[nodiscard]] bool await_ready() noexcept { return from_->take(this->value) != core_type::outcome::waits; }
  [[nodiscard]] std::optional<V> await_resume() {
    this->retire();
    return received_value<V>(std::move(this->value));
  }
};

} // namespace detail

namespace detail {

/// One operation of a select(), and the callable for its result.
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

/// A first-in, first-out queue between coroutines that holds up to `capacity` values. With capacity 0, a
/// sender waits until a receiver takes its value. Thread-safe: any number of senders and receivers may use
/// it, on any threads and pools. Waiters at either end are served in order of arrival, and each resumes on
/// its own pool. Each operation takes O(1), in a short critical section. A wait allocates nothing; the buffer
/// grows with its content. The channel must outlive its waiters.
///
/// T is a movable object type, a reference, or void. The channel copies, moves and destroys values without
/// holding a lock, so these operations of T may use the channel. A value whose move or destructor is not
/// trivial travels in a block of memory from a cache. If the copy or move into the channel throws, send()
/// throws and has sent nothing. If the move out of it throws, receive() throws and the value is lost.
///
/// A stop request ends a wait as close() does: receive() yields nullopt, send() yields false. Source: the
/// channels of C. A. R. Hoare's CSP (1978).
template<class T>
class channel {
  using core_type = detail::channel_core<detail::value_in_std<T>>;
  core_type core_;

public:
  /// T.
  using value_type = T;
  /// T; std::monostate for void, std::reference_wrapper for a reference.
  using stored_type = detail::value_in_std<T>;

  /// Buffers up to `capacity` values. With 0, each sender waits for a receiver.
  explicit channel(std::size_t capacity) noexcept
      : core_(capacity) {}

  /// co_await send(value): waits while the buffer is full. Yields true when the value is in the buffer or
  /// received. Yields false if the channel is closed or the wait is stopped; then a value that was passed as
  /// an rvalue is moved back into its place. That object must live until the await ends: write co_await
  /// c.send(...) in one expression, or keep the object.
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
  /// co_await receive(): waits while the channel is empty. Yields the next value, or nullopt if the channel
  /// is closed and empty or the wait is stopped.
  auto receive() noexcept { return detail::receive_awaiter<stored_type>(core_); }

  /// For select(): receives, and calls f(std::optional<stored_type>) with the result.
  template<class F>
  [[nodiscard]] auto receiving(F&& f) {
    return detail::selected(receive(), std::forward<F>(f));
  }
  /// For select(): sends, and calls f(bool) with the result.
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

  /// As co_await send(value), but blocks the calling thread. If a task calls it, another thread may take the
  /// task's seat meanwhile. Use it in code that is no coroutine; a waiting coroutine costs less than a
  /// waiting thread.
  [[nodiscard]] bool send_blocking(stored_type&& value) { return send_and_wait(std::move(value)); }
  [[nodiscard]] bool send_blocking(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return send_and_wait(value);
  }
  [[nodiscard]] bool send_blocking()
    requires std::is_void_v<T>
  {
    return send_and_wait(stored_type());
  }
  /// As co_await receive(), but blocks the calling thread. This and send_blocking() throw std::bad_alloc if
  /// there is no memory to wait.
  [[nodiscard]] std::optional<stored_type> receive_blocking() {
    std::optional<detail::channel_cell_t<stored_type>> value;
    if (core_.take(value) != core_type::outcome::waits)
      return detail::received_value<stored_type>(std::move(value));
    detail::thread_wait wait;
    detail::thread_end<typename core_type::receiver> here(wait);
    if (core_.take_in_race(here.value, &here) == core_type::outcome::waits && !wait.wait("receive_blocking"))
      static_cast<void>(core_.remove(here));
    return detail::received_value<stored_type>(std::move(here.value));
  }

  /// Sends without waiting. Returns false and leaves the value in place if the buffer is full or the channel
  /// is closed.
  [[nodiscard]] bool try_send(stored_type&& value) { return send_at_once(std::move(value)); }
  [[nodiscard]] bool try_send(stored_type const& value)
    requires std::copy_constructible<stored_type>
  {
    return send_at_once(value);
  }
  [[nodiscard]] bool try_send()
    requires std::is_void_v<T>
  {
    return send_at_once(stored_type());
  }
  /// Receives without waiting. Returns nullopt if there is no value.
  [[nodiscard]] std::optional<stored_type> try_receive() {
    std::optional<detail::channel_cell_t<stored_type>> value;
    static_cast<void>(core_.take(value));
    return detail::received_value<stored_type>(std::move(value));
  }

  /// Refuses further values. Waiting senders get false, waiting receivers nullopt; buffered values can still
  /// be received.
  void close() noexcept { core_.close(); }
  /// True after close(). The buffer may still hold values.
  [[nodiscard]] bool is_closed() const noexcept { return core_.is_closed(); }
  /// The constructor's argument.
  [[nodiscard]] std::size_t capacity() const noexcept { return core_.capacity(); }

private:
  [[nodiscard]] static bool answer(auto& out, bool accepted) {
    if (!accepted) out.give_back();
    return accepted;
  }
  template<class U>
  [[nodiscard]] bool send_at_once(U&& value) {
    // Otherwise it would be moved, and moved back.
    if (detail::is_boxed<stored_type> && !core_.has_room()) return false;
    detail::outgoing_as<U, stored_type> out(std::forward<U>(value));
    return answer(out, core_.put(out.cell()) == core_type::outcome::done);
  }
  template<class U>
  [[nodiscard]] bool send_and_wait(U&& value) {
    detail::outgoing_as<U, stored_type> out(std::forward<U>(value));
    if (auto const o = core_.put(out.cell()); o != core_type::outcome::waits)
      return answer(out, o == core_type::outcome::done);
    detail::thread_wait wait;
    detail::thread_end<typename core_type::sender> here(wait);
    here.value = std::addressof(out.cell());
    if (auto const o = core_.put_in_race(out.cell(), &here); o != core_type::outcome::waits)
      return answer(out, o == core_type::outcome::done);
    if (!wait.wait("send_blocking")) static_cast<void>(core_.remove(here));
    if (here.error != nullptr) std::rethrow_exception(here.error);
    return answer(out, here.accepted);
  }
};

} // namespace rubato
