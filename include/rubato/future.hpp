// Results that will be there: futures, promises, continuations.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/continuation.hpp"
#include "rubato/detail/deadline.hpp"
#include "rubato/detail/future_state.hpp"
#include "rubato/detail/job.hpp"

#include <chrono>
#include <concepts>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class shared_future;
template<class T>
class promise;

/// The result of work that may not have been done yet. Movable; one thread at a time. get(), then(), share()
/// and detach() leave it invalid; on an invalid one everything but valid(), assignment and destruction throws
/// std::future_error(no_state).
///
/// Dropped, it asks the work to stop, and work that has not begun is not begun; detach() means otherwise. A
/// continuation never runs inside get(), wait(), cancel() or promise::set_value(): it is queued.
template<class T>
class [[nodiscard(
    "a future that is dropped asks its work to stop: keep it, get() it, or detach() it")]] future {
  friend struct detail::future_access;
  detail::state_ref state_;

  explicit future(detail::state_ref s) noexcept
      : state_(std::move(s)) {}

  [[nodiscard]] detail::future_state& state() const {
    if (!state_) detail::throw_no_state("rubato: a future that has no state");
    return *state_.get();
  }

public:
  using value_type = T;

  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&& other) noexcept {
    future(std::move(other)).swap(*this);
    return *this;
  }
  ~future() {
    if (state_ && !state_->done()) state_->cancel();
  }
  void swap(future& other) noexcept { std::swap(state_, other.state_); }

  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  /// Is the result there? An invalid one is not ready.
  [[nodiscard]] bool ready() const noexcept { return state_ && state_->done(); }

  /// Waits for the result and returns it, or throws the exception. A task may call it: work that nobody has
  /// begun is run in place, and otherwise the calling thread leaves its seat to others. Throws what the work
  /// threw; besides,
  ///   - cancelled, if the work was cancelled;
  ///   - cancelled as well, if the calling task was stopped while it waited, or its pool ends, nothing there
  ///     goes on any more, and this waits for a promise: then nothing else has changed, and the future is
  ///     still valid;
  ///   - std::future_error(broken_promise), if nobody will bring a result: the promise is gone, or the pool
  ///     ended and dropped the work or broke it off where it waited.
  T get() {
    wait();
    detail::state_ref const s = std::move(state_);
    return static_cast<T>(detail::result_of<T>(*s.get()).take());
  }
  void wait() const {
    if (!state().wait("get")) throw cancelled();
  }
  /// The same, for at most `d`; false: it is not there yet, or the calling task was stopped, or its pool ends
  /// as said above. The work itself is not run in place; but who waits for a pool without workers runs what
  /// that has queued, and so may come back later, by one task.
  template<class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    return state().wait_until(detail::deadline_after(d));
  }
  bool wait_until(std::chrono::steady_clock::time_point t) const { return state().wait_until(t); }

  /// Queues f when the result is there, where it was made: on the pool of the thread that brings it; a result
  /// that was brought outside any pool, or before this call, on the pool whose work it is, for a promise on
  /// the current one. then(pool, f) leaves no question. Returns the future of what f returns; a future
  /// or task that f returns is waited for. f is the first of these that can be called: f(std::stop_token, T),
  /// f(T), f(std::stop_token, future<T>), f(future<T>); without T if it is void. The first two are not called
  /// if there is an exception, which goes on to the result. One allocation.
  template<class F>
  auto then(F&& f) {
    if constexpr (detail::can_continue<T, future, F>())
      return detail::attach<T, rubato::future>(take_state(), nullptr, std::forward<F>(f));
    else
      return detail::refused();
  }
  /// The same on another pool.
  template<class F>
  auto then(pool& p, F&& f) {
    if constexpr (detail::can_continue<T, future, F>())
      return detail::attach<T, rubato::future>(take_state(), &p, std::forward<F>(f));
    else
      return detail::refused();
  }

  /// For more than one to wait for.
  shared_future<T> share();
  /// Lets the work go on though nobody wants its result; an exception is dropped.
  void detach() { static_cast<void>(take_state()); }
  /// Asks the work to stop, and what it waits for: what this future was made of by then(), when_all() or
  /// when_any(). Work that has not begun is not begun, and its result is `cancelled`. The result is there
  /// once nothing of the work runs any more, so get() waits for what has begun and does not look at its
  /// token; it does not wait for promises, nor for shared futures. Of a promise's own future: the promise is
  /// asked, by promise::token(), and brings the result as ever.
  void cancel() { state().cancel(); }

private:
  [[nodiscard]] detail::state_ref take_state() {
    static_cast<void>(state());
    return std::move(state_);
  }
};

/// A future whose result any number of threads may wait for. Copies refer to the same result; different
/// threads may use different copies at once. Dropping it asks nobody to stop.
template<class T>
class [[nodiscard("a shared_future is all that is left of a result: keep it")]] shared_future {
  friend struct detail::future_access;
  friend class future<T>;
  detail::state_ref state_;

  explicit shared_future(detail::state_ref s) noexcept
      : state_(std::move(s)) {}

  [[nodiscard]] detail::future_state& state() const {
    if (!state_) detail::throw_no_state("rubato: a shared_future that has no state");
    return *state_.get();
  }

public:
  using value_type = T;
  /// What get() returns: T const&, for a reference the reference, for void nothing.
  using reference =
      std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<std::add_const_t<T>>>;

  shared_future() noexcept = default;
  shared_future(future<T> f)
      : shared_future(f.share()) {}

  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  [[nodiscard]] bool ready() const noexcept { return state_ && state_->done(); }
  /// As future::get(), but the result stays where it is.
  reference get() const {
    wait();
    if constexpr (std::is_void_v<T>)
      static_cast<void>(detail::result_of<T>(*state_.get()).look());
    else
      return detail::result_of<T>(*state_.get()).look();
  }
  void wait() const {
    if (!state().wait("get")) throw cancelled();
  }
  template<class Rep, class Period>
  bool wait_for(std::chrono::duration<Rep, Period> d) const {
    return state().wait_until(detail::deadline_after(d));
  }
  bool wait_until(std::chrono::steady_clock::time_point t) const { return state().wait_until(t); }

  /// As future::then(), any number of times; f gets a T const& or a shared_future<T>.
  template<class F>
  auto then(F&& f) const {
    static_cast<void>(state());
    if constexpr (detail::can_continue<T, shared_future, F>())
      return detail::attach<T, rubato::shared_future>(state_, nullptr, std::forward<F>(f));
    else
      return detail::refused();
  }
  template<class F>
  auto then(pool& p, F&& f) const {
    static_cast<void>(state());
    if constexpr (detail::can_continue<T, shared_future, F>())
      return detail::attach<T, rubato::shared_future>(state_, &p, std::forward<F>(f));
    else
      return detail::refused();
  }
};

template<class T>
shared_future<T> future<T>::share() {
  return shared_future<T>(take_state());
}

/// The other end of a future, for results that are brought by hand. Movable. Every member may be called from
/// any thread, but one at a time, except that set_value() and set_exception() may race with everything that
/// is done to the future.
template<class T>
class promise {
  detail::future_state* state_; // null: moved from; holds until the result is set
  bool retrieved_ = false;
  bool set_ = false;

  template<class... U>
  void set(U&&... value) {
    detail::future_state& s = to_set();
    try {
      detail::result_of<T>(s).emplace(std::forward<U>(value)...);
    } catch (...) {
      set_ = false;
      throw;
    }
    s.complete();
  }
  [[nodiscard]] detail::future_state& to_set() {
    if (state_ == nullptr) detail::throw_no_state("rubato: a promise that was moved from");
    if (std::exchange(set_, true)) throw std::future_error(std::future_errc::promise_already_satisfied);
    return *state_;
  }

public:
  promise()
      : state_(detail::make_state<detail::promise_state<T>>()) {}
  promise(promise&& other) noexcept
      : state_(std::exchange(other.state_, nullptr))
      , retrieved_(other.retrieved_)
      , set_(other.set_) {}
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  /// A promise that was not kept is broken: whoever waits gets std::future_error(broken_promise).
  ~promise() {
    if (state_ == nullptr) return;
    if (!set_) state_->drop();
    if (!retrieved_) state_->release();
  }
  void swap(promise& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(retrieved_, other.retrieved_);
    std::swap(set_, other.set_);
  }

  /// Once.
  future<T> get_future() {
    if (state_ == nullptr) detail::throw_no_state("rubato: a promise that was moved from");
    if (std::exchange(retrieved_, true)) throw std::future_error(std::future_errc::future_already_retrieved);
    return detail::future_access::make<T>(detail::state_ref(state_));
  }

  /// Stop is requested when nobody wants the result any more: the future was cancelled or dropped, or what
  /// was made of it. Shared futures never request it. What is registered with it runs inside that cancel().
  /// Once the result is set, a token that no stop ever reaches.
  [[nodiscard]] std::stop_token token() const {
    if (state_ == nullptr) detail::throw_no_state("rubato: a promise that was moved from");
    return set_ ? std::stop_token() : state_->stop.token(std::stop_token());
  }

  /// Once, either of these two; runs no continuation in place, so locks may be held. If copying or moving the
  /// value throws, that is thrown and nothing is set.
  template<class U = T>
    requires(!std::is_void_v<T>)
  void set_value(U&& value) {
    set(std::forward<U>(value));
  }
  void set_value()
    requires(std::is_void_v<T>)
  {
    set();
  }
  /// `e`: an exception or an exception_ptr.
  template<class E>
  void set_exception(E&& e) {
    std::exception_ptr error = detail::to_exception_ptr(std::forward<E>(e));
    detail::future_state& s = to_set();
    s.fail(std::move(error));
    s.complete();
  }
};

namespace detail {
struct as_given {}; // the type of a value says what its future is of
} // namespace detail

/// A future that is ready and holds this value: make_ready_future(v), or make_ready_future<T>(v).
template<class T = detail::as_given, class U>
  requires(!std::is_void_v<T>)
auto make_ready_future(U&& value) {
  using type = std::conditional_t<std::is_same_v<T, detail::as_given>, std::decay_t<U>, T>;
  promise<type> p;
  p.set_value(std::forward<U>(value));
  return p.get_future();
}
/// A future that is ready, of void.
template<class T = void>
  requires(std::is_void_v<T>)
future<void> make_ready_future() {
  promise<void> p;
  p.set_value();
  return p.get_future();
}

/// A future that is ready and holds an exception: `e`, an exception or an exception_ptr.
template<class T, class E>
future<T> make_exceptional_future(E&& e) {
  promise<T> p;
  p.set_exception(std::forward<E>(e));
  return p.get_future();
}

} // namespace rubato

#include "rubato/detail/future_impl.hpp"
