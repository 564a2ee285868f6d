// then(): work that is queued when another result is there. docs/design/futures.md
#pragma once

#include "rubato/detail/job.hpp"
#include "rubato/detail/resident.hpp"

#include <atomic>
#include <concepts>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato {

class pool;
template<class T>
class shared_future;
template<class T>
class promise;

namespace detail {

struct future_access {
  template<class T>
  [[nodiscard]] static future<T> make(state_ref s) noexcept {
    return future<T>(std::move(s));
  }
  template<class T>
  [[nodiscard]] static shared_future<T> make_shared(state_ref s) noexcept {
    return shared_future<T>(std::move(s));
  }
  template<class Future>
  [[nodiscard]] static auto& state(Future& f) noexcept {
    return f.state_;
  }
};

/// A promise's state: nobody's work.
template<class T>
class promise_state final : public state_of<T> {
public:
  promise_state() noexcept
      : state_of<T>(2) {}
  [[nodiscard]] bool is_promised() const noexcept override { return true; }
  void dispose() noexcept override { dispose_state(this); }
};

template<class E>
[[nodiscard]] std::exception_ptr to_exception_ptr(E&& e) {
  if constexpr (std::same_as<std::decay_t<E>, std::exception_ptr>) {
    if (e == nullptr) throw std::invalid_argument("rubato: an empty exception_ptr is no exception");
    return std::forward<E>(e);
  } else
    return std::make_exception_ptr(std::forward<E>(e));
}

/// Queues it: its source is there. `just_made`: by the calling thread, and so where that works; else, and if
/// it is in no pool, where the source was made.
void queue_continuation(future_state& c, future_state& source, bool just_made) noexcept;
/// The same for one that is a resident of the pool where it is to run, or, unless chosen, may run.
void queue_pending(future_state& c, resident& r, pool_core& wanted, bool chosen) noexcept;
/// A pool that ends does not leave its residents behind.
void join_residents(pool_core& core, resident& r) noexcept;

/// What a continuation of a future<T> or a shared_future<T> gets: the value, and the future itself.
template<class T, class Future>
struct passed;
template<class T>
struct passed<T, future<T>> {
  using value = T&&;
};
template<>
struct passed<void, future<void>> {
  using value = void;
};
template<class T>
struct passed<T, shared_future<T>> {
  using value = std::add_lvalue_reference_t<std::add_const_t<T>>;
};
template<>
struct passed<void, shared_future<void>> {
  using value = void;
};

template<class F, class V>
struct takes_value : std::bool_constant<std::is_invocable_v<F, V>> {
  static constexpr bool with_token = std::is_invocable_v<F, std::stop_token, V>;
};
template<class F>
struct takes_value<F, void> : std::bool_constant<std::is_invocable_v<F>> {
  static constexpr bool with_token = std::is_invocable_v<F, std::stop_token>;
};

/// A continuation as a callable without arguments: it knows the state that it consumes.
template<class T, class Future, class F>
class continuation_call {
  using value = typename passed<T, Future>::value;
  using takes = takes_value<F, value>;
  static constexpr bool is_shared = std::same_as<Future, shared_future<T>>;

  [[no_unique_address]] F f_;

public:
  /// Set once the result is there.
  state_ref source;

  template<class G>
  explicit continuation_call(G&& g)
      : f_(std::forward<G>(g)) {}

  decltype(auto) operator()(std::stop_token token)
    requires(takes::with_token)
  {
    return with_value(std::move(token));
  }
  decltype(auto) operator()()
    requires(!takes::with_token && takes::value)
  {
    return with_value();
  }
  decltype(auto) operator()(std::stop_token token)
    requires(!takes::with_token && !takes::value && std::is_invocable_v<F, std::stop_token, Future>)
  {
    return std::invoke(std::move(f_), std::move(token), whole());
  }
  decltype(auto) operator()()
    requires(!takes::with_token && !takes::value && !std::is_invocable_v<F, std::stop_token, Future> &&
             std::is_invocable_v<F, Future>)
  {
    return std::invoke(std::move(f_), whole());
  }

private:
  [[nodiscard]] Future whole() noexcept {
    if constexpr (is_shared)
      return future_access::make_shared<T>(std::move(source));
    else
      return future_access::make<T>(std::move(source));
  }

  template<class... Token>
  decltype(auto) with_value(Token&&... token) {
    if constexpr (!std::is_void_v<T>) {
      using flat = flattened<std::invoke_result_t<F, Token..., value>>;
      if constexpr (flat::is_task || flat::is_future) { // the argument lives until that ends, as f_ does
        auto kept = result_of<T>(*source.get());
        if constexpr (is_shared)
          return std::invoke(std::move(f_), std::forward<Token>(token)..., kept.look());
        else
          return std::invoke(std::move(f_), std::forward<Token>(token)..., kept.lend());
      }
    }
    state_ref const s = std::move(source);
    auto slot = result_of<T>(*s.get());
    if constexpr (std::is_void_v<T>) {
      static_cast<void>(slot.look());
      return std::invoke(std::move(f_), std::forward<Token>(token)...);
    } else if constexpr (is_shared) {
      return std::invoke(std::move(f_), std::forward<Token>(token)..., slot.look());
    } else {
      return std::invoke(std::move(f_), std::forward<Token>(token)..., slot.take());
    }
  }
};

/// A job that is queued when its source has its result, where that was made.
template<class Job>
class continuation : public Job, future_waiter {
protected:
  using callable_type = std::remove_cvref_t<decltype(std::declval<Job&>().callable())>;

private:
  std::atomic<future_state*> source_; // a hold on it, until it begins; see busy()
  future_state* next_to_ask_ = nullptr;
  bool const owns_; // the source was a future, not a shared one
  bool begun_ = false;

  static void queue(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<continuation&>(base);
    queue_continuation(self, self.source(), true);
  }

  /// Cancelled, does it not wait for the source? In a strand it does, or it would overtake.
  [[nodiscard]] static bool may_leave(future_state const& source, bool owned) noexcept {
    if constexpr (requires { callable_type::ends_with_source; })
      return false;
    else
      return ends_without(source, owned);
  }

  /// In place of the source while somebody looks at it, for an instant.
  [[nodiscard]] static future_state* busy() noexcept { return reinterpret_cast<future_state*>(1); }
  /// Null: it is gone.
  [[nodiscard]] future_state* source_now() const noexcept {
    future_state* s = nullptr;
    // acquire: pairs with with_source().
    while ((s = source_.load(std::memory_order_acquire)) == busy()) std_policy::pause();
    return s;
  }
  /// Before it begins.
  [[nodiscard]] future_state& source() const noexcept { return *source_now(); }
  /// Does f(source), which must be short, unless the source is gone.
  template<class F>
  void with_source(F f) noexcept {
    future_state* s = source_now();
    while (s != nullptr &&
           !source_.compare_exchange_weak(s, busy(), std::memory_order_acquire, std::memory_order_relaxed))
      s = source_now();
    if (s == nullptr) return;
    f(*s);
    source_.store(s, std::memory_order_release); // pairs with source_now()
  }
  /// Empty: it is gone.
  [[nodiscard]] state_ref held_source() noexcept {
    state_ref input;
    with_source([&](future_state& s) {
      s.hold();
      input = state_ref(&s);
    });
    return input;
  }
  [[nodiscard]] state_ref take_source() noexcept {
    future_state* s = source_now();
    while (!source_.compare_exchange_weak(s, nullptr, std::memory_order_acquire, std::memory_order_relaxed))
      s = source_now();
    return state_ref(s);
  }

protected:
  using fire_type = void (*)(future_waiter&, completions&) noexcept;
  template<class F>
  continuation(fire_type how, state_ref source, bool owns, F&& f)
      : Job(2, std::forward<F>(f))
      , future_waiter(how)
      , source_(source.let_go())
      , owns_(owns) {}
  /// It has not begun, and its source was broken off.
  [[nodiscard]] bool follows_nothing() const noexcept {
    if (begun_) return false;
    future_state const* const s = source_now();
    return s != nullptr && s->broken_off;
  }
  [[nodiscard]] bool has_source() const noexcept { return source_now() != nullptr; }
  /// Before it is attached. By the caller that has made it without one.
  void follow(state_ref source) noexcept {
    source_.store(source.let_go(), std::memory_order_release); // pairs with source_now()
  }
  [[nodiscard]] static continuation& of(future_waiter& w) noexcept { return static_cast<continuation&>(w); }
  /// False: the source is there already, and the caller queues this.
  [[nodiscard]] bool await_source() noexcept { return source().waiters.add(*this); }
  /// False: the source is there.
  [[nodiscard]] bool leave_source() noexcept {
    bool left = false;
    with_source([&](future_state& s) { left = s.waiters.remove(*this); });
    return left;
  }

public:
  /// The source is, or was, some pool's work.
  template<class F>
  continuation(state_ref source, bool owns, F&& f)
      : continuation(&queue, std::move(source), owns, std::forward<F>(f)) {
    this->settle(
        this->source().home()); // where it will most likely run, for those who wait before that is known
  }
  /// Once, right after construction: from now on it may run.
  void attach() noexcept {
    if (!await_source()) queue_continuation(*this, source(), false);
  }

  void resume(member& runner) noexcept override {
    if (!std::exchange(begun_, true)) this->callable().source = take_source();
    Job::resume(runner);
  }
  [[nodiscard]] bool runs_to_end() const noexcept override { return false; } // it may never be queued
  /// Lets go of its source, or a long chain that was never run would be destroyed by recursion.
  void drop() noexcept override {
    state_ref const source = std::exchange(begun_, true) ? state_ref() : take_source();
    Job::drop();
  }
  void cancel_inputs(cancellation& all) noexcept override {
    if (state_ref const input = held_source()) {
      if (owns_) all.add(*input.get());
      if (may_leave(*input.get(), owns_) && leave_source()) {
        completions none; // it is queued, and ends in its turn, as cancelled
        this->fire(*this, none);
      }
    }
    Job::cancel_inputs(all);
  }
  [[nodiscard]] future_state** next_to_ask() noexcept override { return &next_to_ask_; }
  [[nodiscard]] future_state* pending_input(std::size_t& index) noexcept override {
    if (index++ != 0) return nullptr;
    state_ref input = held_source();
    return !input || input->done() ? nullptr : input.let_go();
  }
  void dispose() noexcept override { dispose_state(this); }
};

/// The same where it is wanted, if it says so or cannot tell by the source.
template<class Job>
class placed_continuation final : public continuation<Job> {
  using base = continuation<Job>;
  resident pending_{static_cast<future_state&>(*this)}; // beside that of a coroutine, which has not begun
  pool_core& wanted_;
  bool const chosen_; // it says so

  static void queue(future_waiter& w, completions& /*more*/) noexcept {
    static_cast<placed_continuation&>(base::of(w)).enqueue();
  }
  void enqueue() noexcept { queue_pending(*this, pending_, wanted_, chosen_); }

public:
  template<class F>
  placed_continuation(pool_core& wanted, bool chosen, state_ref source, bool owns, F&& f)
      : base(&queue, std::move(source), owns, std::forward<F>(f))
      , wanted_(wanted)
      , chosen_(chosen) {
    this->settle(&wanted);
  }
  /// Behind that; empty: it may begin at once.
  void attach(state_ref source) noexcept {
    this->follow(std::move(source));
    attach();
  }
  void attach() noexcept {
    join_residents(wanted_, pending_);
    if (!this->has_source() || !this->await_source()) enqueue();
  }
  // Once it has been fired it may be a coroutine that runs elsewhere, though the place where it was to run is
  // not left yet.
  [[nodiscard]] bool withdraw(resident const& as) noexcept override {
    return &as == &pending_ ? this->leave_source() : base::withdraw(as);
  }
  void resume(member& runner) noexcept override {
    if constexpr (requires { base::callable_type::ends_with_source; }) {
      if (this->follows_nothing()) {
        this->broken_off = true;
        this->drop();
        return;
      }
    }
    base::resume(runner);
  }
  void dispose() noexcept override { dispose_state(this); }
};

/// Can then() take it? Says so where it cannot.
template<class T, class Future, class F>
[[nodiscard]] consteval bool can_continue() {
  constexpr bool called = fits<continuation_call<T, Future, std::decay_t<F>>>;
  static_assert(can_be_kept<F>,
                "rubato: then(f): f is copied unless it is passed as an rvalue: std::move what "
                "cannot be copied");
  if constexpr (can_be_kept<F>)
    static_assert(called, "rubato: then(f): f must be callable as f(value), f() if there is none, or as "
                          "f(future)");
  return can_be_kept<F> && called;
}

/// future::then(). `where` null: where the source is made.
template<class T, template<class> class Future, class F>
auto attach(state_ref source, pool* where, F&& f);

} // namespace detail

} // namespace rubato
