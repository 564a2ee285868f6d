// Futures, promises and continuations.
//
//   #include <rubato/future.hpp>
//
//   #include <cstdio>
//   #include <string>
//
//   int main() {
//     rubato::promise<int> p; // any thread may set it
//     auto text = p.get_future().then([](int n) { return std::to_string(n + 1); });
//     p.set_value(41);
//     std::puts(text.get().c_str()); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/future/token_watch.hpp"
#include "rubato/detail/sched/wait/await.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <chrono>
#include <exception>
#include <future>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// The common part of future and shared_future.
class future_base {
  friend struct future_access;

protected:
  state_ref state_;

  future_base() noexcept = default;
  explicit future_base(state_ref s) noexcept
      : state_(std::move(s)) {}

  [[nodiscard]] future_state& state() const {
    if (!state_)
      throw_no_state("rubato: this future refers to no result: it is empty, was moved from, or get(), "
                     "then(), share(), detach() or stop_with() has taken its result before");
    return *state_.get();
  }

public:
  /// True if it refers to a result.
  [[nodiscard]] bool valid() const noexcept { return static_cast<bool>(state_); }
  /// True if the result is ready; false if it is invalid.
  [[nodiscard]] bool ready() const noexcept { return state_ && state_->done(); }
  /// Waits as get() does, and keeps the result.
  void wait() const {
    RUBATO_ASSERT(!state().begins_after_caller(), detail::waits_for_successor);
    if (!detail::await(state(), "get")) throw cancelled();
  }
  /// Waits for at most `d`. Returns false if the result is not ready by then, or if the calling task is
  /// stopped meanwhile. Throws cancelled if the task was stopped before and the result is not ready: so a
  /// loop that tries again ends. The caller does not run the awaited work itself, except in a pool without
  /// workers: there it runs the pool's queued tasks, and may return late by one task.
  bool wait_for(detail::delay d) const { return detail::await_in_task_until(state(), deadline_after(d)); }
  /// wait_for(), until `t`.
  bool wait_until(std::chrono::steady_clock::time_point t) const {
    return detail::await_in_task_until(state(), t);
  }
};

} // namespace detail

/// Asks the work of a future to stop, as future::cancel() does. Copyable. Any thread may call cancel() at any
/// time, several at once too, also while another thread waits in get(), and after the future or the pool has
/// gone. A canceller without a future does nothing. It keeps the memory of the result, and a value that was
/// never taken, until it is destroyed.
class canceller {
  template<class T>
  friend class future;
  detail::state_ref state_;
  explicit canceller(detail::state_ref s) noexcept
      : state_(std::move(s)) {}

public:
  canceller() noexcept = default;
  /// As future::cancel(). Does nothing once the result is ready.
  void cancel() const noexcept {
    if (state_ && !state_->done()) state_->cancel();
  }
};

/// The result of work that may not have ended yet. Movable. One thread at a time may use a future; different
/// futures are independent. get(), then(), share(), detach() and stop_with() leave it invalid. On an invalid
/// future, every member except valid(), ready(), swap(), assignment and destruction throws
/// std::future_error(no_state).
///
/// A dropped future asks its work to stop, and work that has not begun never begins; detach() avoids that. If
/// the work fails nevertheless, or has failed, other than by `cancelled`, the exception goes to
/// pool_options::on_unhandled() of its pool, if that is set. That of a promise does not. A
/// continuation never runs inside get(), wait(), cancel() or promise::set_value(): it is queued. Modelled on
/// std::future and on the continuations of ISO/IEC TS 19571.
template<class T>
class [[nodiscard(
    "a future that is dropped asks its work to stop: keep it, get() it, or detach() it")]] future
    : public detail::future_base {
  friend struct detail::future_access;
  using future_base::future_base;

public:
  /// T.
  using value_type = T;

  future() noexcept = default;
  /// Leaves the other one invalid.
  future(future&&) noexcept = default;
  /// Drops the old result as the destructor does; leaves `other` invalid.
  future& operator=(future&& other) noexcept {
    future(std::move(other)).swap(*this);
    return *this;
  }
  ~future() {
    if (state_ && (!state_->done() || state_->has_failed())) detail::drop_result(*state_.get());
  }
  /// Exchanges the results.
  void swap(future& other) noexcept { std::swap(state_, other.state_); }

  /// Waits for the result and returns it, or throws the exception of the work. A task may call it: the caller
  /// runs work that has not begun in place, and otherwise another thread may take its seat. It also throws
  ///   - cancelled, if the work was cancelled;
  ///   - cancelled, if the calling task is stopped during the wait, by a discard of its pool too: then the
  ///     future stays valid;
  ///   - std::future_error(broken_promise), if there will be no result: the promise was destroyed, or the
  ///     pool ended and dropped the work or destroyed it where it was suspended.
  T get() {
    wait();
    detail::state_ref const s = std::move(state_);
    return static_cast<T>(detail::result_of<T>(*s.get()).take());
  }
  /// Queues f when the result is ready, on the pool of the thread that sets the result. If the result is set
  /// outside any pool, or was set before this call, f is queued on the pool of the work, or, for a promise,
  /// on the current pool. then(pool, f) names the pool instead. Returns the future of f's result; a future or
  /// task that f returns is awaited.
  ///
  /// f is decay-copied, and called in the first of these forms that it accepts: f(std::stop_token, T), f(T),
  /// f(std::stop_token, future<T>), f(future<T>); without T if T is void. If the result is an exception, the
  /// first two forms are skipped, and the exception becomes the result of then(). One allocation.
  template<class F>
  auto then(F&& f) {
    return detail::attach<T, future>(take_state(), nullptr, std::forward<F>(f));
  }
  /// then(f) on the pool p.
  template<class F>
  auto then(pool& p, F&& f) {
    return detail::attach<T, future>(take_state(), &p, std::forward<F>(f));
  }

  /// Returns a shared_future with the result, for several waiters.
  shared_future<T> share();
  /// Lets the work continue, as if enqueue() had begun it: its value is dropped, and its exception goes to
  /// pool_options::on_unhandled() of its pool, which ends the program if that is not set. A `cancelled` of
  /// stopped work is no failure, nor is work that its pool drops. If a promise made this future, or the pool
  /// is gone, nothing is reported.
  void detach() {
    detail::detach_result(state());
    static_cast<void>(take_state());
  }
  /// Asks the work to stop. If then(), when_all() or when_any() made this future, it also asks the work of
  /// their input futures to stop. Work that has not begun never begins, and its result is `cancelled`. The
  /// result becomes ready once no thread runs the work any more. So get() still waits for running work that
  /// ignores its token, but not for promises or shared futures. If a promise made this future,
  /// promise::token() shows the stop, and the promise sets the result as usual.
  void cancel() { state().cancel(); }
  /// A handle whose cancel() other threads may call at any time; the future stays valid. The handle refers to
  /// the work of this future, also after get(), then() or share().
  [[nodiscard]] rubato::canceller canceller() const {
    static_cast<void>(state());
    return rubato::canceller(state_);
  }
  /// Returns the future of the same result, which is cancelled when `token` shows a stop. This leaves the
  /// object invalid. The thread that requests the stop runs cancel(). One allocation.
  [[nodiscard]] future stop_with(std::stop_token token) {
    detail::token_watch::begin(state(), std::move(token));
    return future(take_state());
  }

private:
  [[nodiscard]] detail::state_ref take_state() {
    static_cast<void>(state());
    return std::move(state_);
  }
};

/// A future whose result any number of threads may wait for. Copies refer to the same result. Different
/// threads may use different copies at once, or const members of one. Dropping a copy requests no stop.
template<class T>
class [[nodiscard("a shared_future is all that is left of a result: keep it")]] shared_future
    : public detail::future_base {
  friend struct detail::future_access;
  friend class future<T>;
  using future_base::future_base;

public:
  /// T.
  using value_type = T;
  /// The result of get(): T const&; for a reference, that reference; for void, void.
  using reference =
      std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<std::add_const_t<T>>>;

  shared_future() noexcept = default;
  /// Takes the result as future::share() does.
  shared_future(future<T> f)
      : shared_future(f.share()) {}

  /// As future::get(), but keeps the result.
  reference get() const {
    wait();
    if constexpr (std::is_void_v<T>)
      static_cast<void>(detail::result_of<T>(*state_.get()).look());
    else
      return detail::result_of<T>(*state_.get()).look();
  }

  /// As future::then(), any number of times; f gets a T const& or a shared_future<T>.
  template<class F>
  auto then(F&& f) const {
    static_cast<void>(state());
    return detail::attach<T, shared_future>(state_, nullptr, std::forward<F>(f));
  }
  template<class F>
  auto then(pool& p, F&& f) const {
    static_cast<void>(state());
    return detail::attach<T, shared_future>(state_, &p, std::forward<F>(f));
  }
};

template<class T>
shared_future<T> future<T>::share() {
  return shared_future<T>(take_state());
}

/// Sets the result of a future. Movable. Any thread may use it, one at a time; other threads may use its
/// future meanwhile. On a promise that was moved from, get_future(), token() and the setters throw
/// std::future_error(no_state).
template<class T>
class promise {
  detail::future_state* state_; // null: moved from; owns a reference until the result is set
  bool retrieved_ = false;
  bool set_ = false;

  template<class... U>
  void set(U&&... value);
  [[nodiscard]] detail::future_state& to_set() {
    if (state_ == nullptr) detail::throw_no_state("rubato: a promise that was moved from");
    if (std::exchange(set_, true)) throw std::future_error(std::future_errc::promise_already_satisfied);
    return *state_;
  }

public:
  promise()
      : state_(detail::make_in_slab<detail::promise_state<T>>()) {}
  /// Leaves `other` without a state: it can only be assigned to and destroyed.
  promise(promise&& other) noexcept
      : state_(std::exchange(other.state_, nullptr))
      , retrieved_(other.retrieved_)
      , set_(other.set_) {}
  /// Leaves `other` without a state. If this promise was not set, it is broken, as by the destructor.
  promise& operator=(promise&& other) noexcept {
    promise(std::move(other)).swap(*this);
    return *this;
  }
  /// Breaks the promise if it was not set: the future throws std::future_error(broken_promise).
  ~promise() {
    if (state_ == nullptr) return;
    if (!set_) state_->drop();
    if (!retrieved_) state_->release();
  }
  /// Exchanges the states.
  void swap(promise& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(retrieved_, other.retrieved_);
    std::swap(set_, other.set_);
  }

  /// Returns the future. A second call throws std::future_error(future_already_retrieved).
  future<T> get_future() {
    if (state_ == nullptr) detail::throw_no_state("rubato: a promise that was moved from");
    if (std::exchange(retrieved_, true)) throw std::future_error(std::future_errc::future_already_retrieved);
    return detail::future_access::make<T>(detail::state_ref(state_));
  }

  /// A token that shows a stop when the result is no longer wanted: the promise's future, or a future made
  /// from that one, was cancelled or dropped. Shared futures request no stop. Callbacks that are registered
  /// with the token run in the thread that cancels or drops the future. After the result is set, this returns
  /// a token that never shows a stop.
  [[nodiscard]] std::stop_token token() const {
    if (state_ == nullptr) detail::throw_no_state("rubato: a promise that was moved from");
    return set_ ? std::stop_token() : state_->stop.token(std::stop_token());
  }

  /// Sets the value. A second call of set_value() or set_exception() throws
  /// std::future_error(promise_already_satisfied). Continuations are queued and never run here, so the caller
  /// may hold locks. If copying or moving the value throws, nothing is set, and the exception is thrown.
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

/// A ready future that holds this value: make_ready_future(v), or make_ready_future<T>(v).
template<class T = detail::as_given, class U>
  requires(!std::is_void_v<T>)
auto make_ready_future(U&& value) {
  using type = std::conditional_t<std::is_same_v<T, detail::as_given>, std::decay_t<U>, T>;
  promise<type> p;
  p.set_value(std::forward<U>(value));
  return p.get_future();
}
/// A ready future of void.
template<class T = void>
  requires(std::is_void_v<T>)
future<void> make_ready_future() {
  promise<void> p;
  p.set_value();
  return p.get_future();
}

/// A ready future that holds an exception. `e`: an exception or an exception_ptr.
template<class T, class E>
future<T> make_exceptional_future(E&& e) {
  promise<T> p;
  p.set_exception(std::forward<E>(e));
  return p.get_future();
}

} // namespace rubato

#include "rubato/detail/future/future_impl.hpp"
