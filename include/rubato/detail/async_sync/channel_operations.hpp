// The operations of a channel: the awaitables of coroutines, and calls that block or do not wait.
// docs/design/async-sync.md
#pragma once

#include "rubato/detail/async_sync/channel_core.hpp"
#include "rubato/detail/async_sync/channel_value.hpp"
#include "rubato/detail/async_sync/thread_wait.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Held: V, or V&& for a value that the caller keeps unless it is accepted.
template<class V, class Held>
class [[nodiscard(
    "rubato: nothing is sent before it is awaited: co_await channel.send(value)")]] send_awaiter final
    : public channel_core<V>::sender {
  using core_type = channel_core<V>;
  core_type* to_;
  outgoing_value<V, Held> out_;

  [[nodiscard]] bool insert() noexcept override {
    auto& cell = out_.made_cell();
    this->value = std::addressof(cell);
    try {
      switch (to_->put_or_wait(cell, this)) {
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
  static constexpr bool is_one_step = true;
  template<class U>
  explicit send_awaiter(core_type& to, U&& v)
      : to_(&to)
      , out_(std::forward<U>(v)) {}
  send_awaiter(send_awaiter&& other) noexcept
      : to_(other.to_)
      , out_(std::move(other.out_)) {}
  ~send_awaiter() { this->retire(); }

  /// Of the same race, if both offer the same object.
  void share_value_of(send_awaiter& earlier) noexcept
    requires requires { out_.share_cell_of(earlier.out_); }
  {
    out_.share_cell_of(earlier.out_);
  }
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
    return from_->take_or_wait(this->value, this) == core_type::outcome::waits;
  }
  [[nodiscard]] bool remove() noexcept override { return from_->remove(*this); }

public:
  using wait_operation::was_stopped;
  static constexpr bool is_one_step = true;
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

// Outside coroutines.

/// Gives back a value that was not accepted.
[[nodiscard]] bool answer(auto& out, bool accepted) {
  if (!accepted) out.give_back();
  return accepted;
}

template<class V, class U>
[[nodiscard]] bool send_at_once(channel_core<V>& to, U&& value) {
  // Otherwise it would be moved, and moved back.
  if (is_boxed<V> && !to.has_room()) return false;
  outgoing_as<U, V> out(std::forward<U>(value));
  return answer(out, to.put(out.cell()) == channel_outcome::done);
}

template<class V, class U>
[[nodiscard]] bool send_and_wait(channel_core<V>& to, U&& value) {
  outgoing_as<U, V> out(std::forward<U>(value));
  if (auto const o = to.put(out.cell()); o != channel_outcome::waits)
    return answer(out, o == channel_outcome::done);
  thread_wait wait;
  thread_end<typename channel_core<V>::sender> here(wait);
  here.value = std::addressof(out.cell());
  if (auto const o = to.put_or_wait(out.cell(), &here); o != channel_outcome::waits)
    return answer(out, o == channel_outcome::done);
  if (!wait.wait("send_blocking")) static_cast<void>(to.remove(here));
  if (here.error != nullptr) std::rethrow_exception(here.error);
  return answer(out, here.accepted);
}

template<class V>
[[nodiscard]] std::optional<V> receive_at_once(channel_core<V>& from) {
  std::optional<channel_cell_t<V>> value;
  static_cast<void>(from.take(value));
  return received_value<V>(std::move(value));
}

template<class V>
[[nodiscard]] std::optional<V> receive_and_wait(channel_core<V>& from) {
  std::optional<channel_cell_t<V>> value;
  if (from.take(value) != channel_outcome::waits) return received_value<V>(std::move(value));
  thread_wait wait;
  thread_end<typename channel_core<V>::receiver> here(wait);
  if (from.take_or_wait(here.value, &here) == channel_outcome::waits && !wait.wait("receive_blocking"))
    static_cast<void>(from.remove(here));
  return received_value<V>(std::move(here.value));
}

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

template<class T>
inline constexpr bool is_selected = false;
template<class A, class F>
inline constexpr bool is_selected<selected<A, F>> = true;

} // namespace rubato::detail
