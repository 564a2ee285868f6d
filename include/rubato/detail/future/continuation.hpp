// then(): work that is queued when another result is ready. docs/design/futures.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <concepts>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// Of make_ready_future(): the future's type follows from the value's type.
struct as_given {};

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

/// A promise's state, which is no pool's work.
template<class T>
class promise_state final : public state_of<T> {
public:
  promise_state() noexcept
      : state_of<T>(2) {}
  [[nodiscard]] bool is_promised() const noexcept override { return true; }
  [[nodiscard]] bool may_report() const noexcept override { return false; }
};

template<class E>
[[nodiscard]] std::exception_ptr to_exception_ptr(E&& e) {
  if constexpr (std::same_as<std::decay_t<E>, std::exception_ptr>) {
    if (e == nullptr) throw std::invalid_argument("rubato: an empty exception_ptr is no exception");
    return std::forward<E>(e);
  } else
    return std::make_exception_ptr(std::forward<E>(e));
}

/// Queues it: its source is ready. `just_made`: the calling thread made the result, so the continuation runs
/// on that thread's pool; else, or if that thread is in no pool, on the source's pool.
RUBATO_API void queue_continuation(future_state& c, future_state& source, bool just_made) noexcept;
/// The same for one that is an owned task of the pool `wanted`, where it runs if `chosen`, and else may run.
RUBATO_API void queue_pending(future_state& c, owned_task& r, pool_core& wanted, bool chosen) noexcept;
/// Gives the priority of a strand's task to those that it waits for, from the newest on, up to the first that
/// has it. Moves the one that is queued.
RUBATO_API void raise_before(future_state& c) noexcept;
/// The future of this result is detached. Throws std::bad_alloc.
RUBATO_API void detach_result(future_state& s);
/// The future of this result, which is not ready or has failed, was dropped: asks the work to stop.
RUBATO_API void drop_result(future_state& s) noexcept;
/// Its future was dropped, and a continuation that has been stopped hides its exception.
RUBATO_API void report_hidden(future_state& source) noexcept;
/// Adds it to the owned tasks, which the pool's end destroys.
RUBATO_API void join_owned_tasks(pool_core& core, owned_task& r) noexcept;

/// Is a continuation called with the value of type V, void: with nothing, and with a stop token before it?
template<class F, class V>
struct takes_value {
  static constexpr bool without_token = std::is_invocable_v<F, V>;
  static constexpr bool with_token = std::is_invocable_v<F, std::stop_token, V>;
};
template<class F, class V>
  requires std::is_void_v<V>
struct takes_value<F, V> {
  static constexpr bool without_token = std::is_invocable_v<F>;
  static constexpr bool with_token = std::is_invocable_v<F, std::stop_token>;
};

/// A continuation as a callable without arguments, which refers to the source's state. It is called in the
/// first of the forms that future::then() names.
template<class T, class Future, class F>
class continuation_call {
  static constexpr bool is_shared = is_shared_future<Future>::value;
  using value = std::conditional_t<is_shared, std::add_lvalue_reference_t<std::add_const_t<T>>,
                                   std::add_rvalue_reference_t<T>>;
  using takes = takes_value<F, value>;
  enum class form : unsigned char { none, token_and_value, value, token_and_future, future };
  // One question at a time: it would instantiate the body of a generic callable that does not fit.
  static consteval form choose() {
    if constexpr (takes::with_token)
      return form::token_and_value;
    else if constexpr (takes::without_token)
      return form::value;
    else if constexpr (std::is_invocable_v<F, std::stop_token, Future>)
      return form::token_and_future;
    else if constexpr (std::is_invocable_v<F, Future>)
      return form::future;
    else
      return form::none;
  }
  static constexpr form chosen = choose();
  static constexpr bool gets_value = chosen == form::token_and_value || chosen == form::value;
  static constexpr bool gets_token = chosen == form::token_and_value || chosen == form::token_and_future;
  static constexpr bool fits = chosen != form::none;

  [[no_unique_address]] F f_;

public:
  /// Set once the result is ready.
  state_ref source;

  template<class G>
  explicit continuation_call(G&& g)
      : f_(std::forward<G>(g)) {}

  decltype(auto) operator()(std::stop_token token)
    requires gets_token
  {
    return run(std::move(token));
  }
  decltype(auto) operator()()
    requires(!gets_token && fits)
  {
    return run();
  }

private:
  [[nodiscard]] Future whole() noexcept {
    if constexpr (is_shared)
      return future_access::make_shared<T>(std::move(source));
    else
      return future_access::make<T>(std::move(source));
  }

  template<class... Token>
  decltype(auto) run(Token&&... token) {
    if constexpr (gets_value)
      return with_value(std::forward<Token>(token)...);
    else
      return std::invoke(std::move(f_), std::forward<Token>(token)..., whole());
  }
  template<class... Token>
  decltype(auto) with_value(Token&&... token) {
    if constexpr (!std::is_void_v<T>) {
      using flat = flattened<std::invoke_result_t<F, Token..., value>>;
      if constexpr (flat::is_task || flat::is_future) { // the argument lives until it ends, like f_
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

/// A job that is queued when its source's result is ready, on the pool where that was made.
template<class Job>
class continuation : public Job, future_waiter {
protected:
  using callable_type = std::remove_cvref_t<decltype(std::declval<Job&>().callable())>;

private:
  pinned_ptr<future_state> source_; // owns a reference until the job begins
  future_state* next_to_ask_ = nullptr;
  bool const owns_; // the source was a future, not a shared one
  bool begun_ = false;

  static void queue(future_waiter& base, completions& /*more*/) noexcept {
    auto& self = static_cast<continuation&>(base);
    queue_continuation(self, self.source(), true);
  }

  /// True if a cancelled continuation need not wait for the source. In a strand it waits, or it would
  /// overtake.
  [[nodiscard]] static bool may_leave(future_state const& source, bool owned) noexcept {
    if constexpr (requires { callable_type::ends_with_source; })
      return false;
    else
      return ends_without(source, owned);
  }

  /// Only before it begins.
  [[nodiscard]] future_state& source() const noexcept { return *source_.get(); }
  /// What the result of its source tells about its own. A stopped one may not have waited for its source.
  void inherit(future_state& source) noexcept {
    if (source.done() && source.has_failed()) [[unlikely]]
      this->was_cut = source.is_cut();
  }
  /// The drop of its future marks it, then requests the stop that the caller has seen.
  void skipped() noexcept override {
    future_state* const source = this->callable().source.get();
    if (!owns_ || source == nullptr || !this->unwanted.get()) return;
    if (source->done() && source->has_failed()) report_hidden(*source);
  }
  /// By any thread. Empty: the source was taken.
  [[nodiscard]] state_ref held_source() noexcept {
    return source_.use([](future_state& s) {
      s.hold();
      return state_ref(&s);
    });
  }
  [[nodiscard]] state_ref take_source() noexcept { return state_ref(source_.clear()); }

protected:
  using fire_type = void (*)(future_waiter&, completions&) noexcept;
  template<class F>
  continuation(fire_type how, state_ref source, bool owns, F&& f)
      : Job(2, nullptr, std::forward<F>(f))
      , future_waiter(how)
      , owns_(owns) {
    future_state* const s = source.take();
    if (s == nullptr) return; // a strand, which gives it a priority itself
    source_.set(*s);
    this->queued.set_priority(s->queued.level());
  }
  /// True if it has not begun and the pool's end has destroyed its source.
  [[nodiscard]] bool follows_nothing() const noexcept {
    if (begun_) return false;
    future_state const* const s = source_.get();
    return s != nullptr && s->broken_off;
  }
  [[nodiscard]] bool has_source() const noexcept { return source_.get() != nullptr; }
  /// Sets the source of a continuation that was made without one, before it is attached.
  void follow(state_ref source) noexcept {
    if (source) source_.link(*source.take()); // see queue_state::linked_priority()
  }
  [[nodiscard]] static continuation& of(future_waiter& w) noexcept { return static_cast<continuation&>(w); }
  /// False: the source is ready, and the caller queues this.
  [[nodiscard]] bool await_source() noexcept { return source().waiters.add(*this); }
  /// False: the source is ready.
  [[nodiscard]] bool leave_source() noexcept {
    return source_.use([this](future_state& s) { return s.waiters.remove(*this); });
  }

public:
  /// The source is, or was, some pool's work.
  template<class F>
  continuation(state_ref source, bool owns, F&& f)
      : continuation(&queue, std::move(source), owns, std::forward<F>(f)) {
    this->set_home(
        this->source().home()); // the pool where it will most likely run, for threads that wait for it early
  }
  /// Called once, right after construction: from now on it may run.
  void attach() noexcept {
    if (!await_source()) queue_continuation(*this, source(), false);
  }

  void resume(thread_context& runner) noexcept override {
    if (!std::exchange(begun_, true)) {
      this->callable().source = take_source();
      if (owns_) inherit(*this->callable().source.get());
    }
    Job::resume(runner);
  }
  [[nodiscard]] bool runs_to_end() const noexcept override { return false; } // it may never be queued
  /// Releases its source first: a long chain that never ran would be destroyed by recursion otherwise.
  void drop() noexcept override {
    state_ref const source = std::exchange(begun_, true) ? state_ref() : take_source();
    Job::drop();
  }
  void cancel_inputs(cancellation& all) noexcept override {
    if (state_ref const input = held_source()) {
      if (owns_) all.add(*input.get());
      if (may_leave(*input.get(), owns_) && leave_source()) {
        completions none; // it is queued, and ends in its turn as cancelled
        this->fire(*this, none);
      }
    }
    Job::cancel_inputs(all);
  }
  [[nodiscard]] future_state** next_to_ask() noexcept override { return &next_to_ask_; }
  [[nodiscard]] future_state* owned_source() noexcept override {
    return owns_ ? held_source().take() : nullptr;
  }
  [[nodiscard]] future_state* pending_input(std::size_t& index) noexcept override {
    if (index++ != 0) return nullptr;
    state_ref input = held_source();
    return !input || input->done() ? nullptr : input.take();
  }
};

/// The same on a given pool, if one was chosen or the source does not tell one.
template<class Job>
class placed_continuation final : public continuation<Job> {
  using base = continuation<Job>;
  owned_task pending_{static_cast<future_state&>(*this)}; // beside the coroutine's own, which has not begun
  pool_core& wanted_;
  bool const chosen_; // then() named the pool

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
    this->set_home(&wanted);
  }
  /// Appends it to `source`; empty: it may begin at once. What waits before it gets its priority, unless its
  /// own is lower.
  void attach(state_ref source) noexcept {
    priority const before = source ? source->queued.level() : priority::high;
    this->follow(std::move(source));
    // A later append may have raised this already, and have found no link.
    if (this->queued.linked_priority() < before) raise_before(*this);
    attach();
  }
  void attach() noexcept {
    join_owned_tasks(wanted_, pending_);
    if (!this->has_source() || !this->await_source()) enqueue();
  }
  // Once fired, it may be a coroutine that runs elsewhere although this pool's entry is not removed yet.
  [[nodiscard]] bool withdraw(owned_task const& as) noexcept override {
    return &as == &pending_ ? this->leave_source() : base::withdraw(as);
  }
  void resume(thread_context& runner) noexcept override {
    if constexpr (requires { base::callable_type::ends_with_source; }) {
      if (this->follows_nothing()) {
        this->broken_off = true;
        this->drop();
        return;
      }
    }
    base::resume(runner);
  }
};

/// True if then() accepts it; otherwise an assertion fails with a message.
template<class T, class Future, class F>
[[nodiscard]] consteval bool can_continue() {
  constexpr bool called = fits<continuation_call<T, Future, std::decay_t<F>>>;
  static_assert(can_be_kept<F>,
                "rubato: then(f): f is copied unless it is passed as an rvalue: std::move what "
                "cannot be copied");
  if constexpr (can_be_kept<F>)
    static_assert(called, "rubato: then(f): f must be callable as f(value), f() if there is none, or as "
                          "f(future)");
  if constexpr (can_be_kept<F> && called)
    return can_be_returned<call_result_t<continuation_call<T, Future, std::decay_t<F>>>>();
  else
    return false;
}

/// future::then(). `where` null: the pool where the source is made.
template<class T, class Future, class F>
auto attach(state_ref source, pool* where, F&& f);

} // namespace detail

} // namespace rubato
