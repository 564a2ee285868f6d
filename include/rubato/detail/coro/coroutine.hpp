// The common part of all coroutines of Rubato, and the awaiters of co_await. docs/design/coroutines.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/future.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

template<class T>
class task_awaiter;

/// A type with await_ready(), await_suspend() and await_resume(), or one that converts to such a type.
template<class A>
decltype(auto) awaiter_of(A&& a) {
  if constexpr (requires { std::forward<A>(a).operator co_await(); })
    return std::forward<A>(a).operator co_await();
  else if constexpr (requires { operator co_await(std::forward<A>(a)); })
    return operator co_await(std::forward<A>(a));
  else
    return static_cast<A&&>(a);
}

/// True if co_await accepts it in a coroutine of Rubato.
template<class A, class Type = std::remove_cvref_t<A>>
concept awaitable =
    is_task<Type>::value || is_future<Type>::value || is_shared_future<Type>::value ||
    std::derived_from<Type, awaited_in_place> || std::derived_from<Type, own_awaitable> || requires(A&& a) {
      std::declval<decltype(awaiter_of(static_cast<A&&>(a)))&>().await_ready();
      std::declval<decltype(awaiter_of(static_cast<A&&>(a)))&>().await_resume();
    };

template<class A>
auto make_awaiter(A&& a);

/// Stands in place of a generator's frame that coroutine_task::destroy() has destroyed, until its owner,
/// which does not know, destroys it too. The mark stands where a frame has the address of its code, which
/// never has this value.
class tombstone {
  [[maybe_unused]] void const* mark_; // read through the address of a frame
  std::size_t bytes_;
  [[gnu::visibility("default")]] static constexpr char is_one = 0;

public:
  /// The frame that the calling thread is destroying in this way.
  [[gnu::tls_model("initial-exec"),
    gnu::visibility("default")]] static inline thread_local constinit void const* wanted_for = nullptr;

  explicit tombstone(std::size_t frame_bytes) noexcept
      : mark_(&is_one)
      , bytes_(frame_bytes) {}
  /// True if that coroutine has been destroyed.
  [[nodiscard]] static bool stands_for(std::coroutine_handle<> h) noexcept {
    void const* first = nullptr;
    std::memcpy(static_cast<void*>(&first), h.address(), sizeof(first));
    return first == &is_one;
  }
  /// For the owner of a coroutine that has begun.
  static void destroy_frame(std::coroutine_handle<> h) noexcept {
    if (!stands_for(h)) [[likely]]
      h.destroy();
    else
      deallocate(h.address(), static_cast<tombstone*>(h.address())->bytes_);
  }
};

/// Destroys a coroutine that has not begun, and so contains only its parameters. They may own another one,
/// and so on: beyond some hundred levels the next is left to the outermost call on this thread, so that a
/// long chain of them uses little stack. Such a coroutine goes after the parameters of those around it.
RUBATO_API void destroy_unbegun(std::coroutine_handle<> h) noexcept;
/// For the owner of a generator, which may have begun.
RUBATO_API void destroy_generator(std::coroutine_handle<> h) noexcept;

/// The frame of a task. It has an owner until it begins; then it frees itself when the coroutine ends.
struct task_frame {
  [[gnu::always_inline]] static void* operator new(std::size_t bytes) {
    return allocate_here(whole_lines(bytes));
  }
  // Not always_inline: without optimisation Clang keeps the variables of an inlined function in the frame,
  // which is gone.
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    deallocate_here(frame, whole_lines(bytes));
  }
  static void destroy(std::coroutine_handle<> h) noexcept { destroy_unbegun(h); }
};

/// The frame of a generator, which has an owner to its end.
struct owned_frame {
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    if (frame == tombstone::wanted_for) [[unlikely]]
      ::new (frame) tombstone(bytes);
    else
      deallocate(frame, bytes);
  }
  static void destroy(std::coroutine_handle<> h) noexcept { destroy_generator(h); }
};

/// Owns a coroutine, or nothing.
template<class Promise>
class frame_owner {
  std::coroutine_handle<Promise> frame_;

public:
  frame_owner() noexcept = default;
  explicit frame_owner(std::coroutine_handle<Promise> h) noexcept
      : frame_(h) {}
  frame_owner(frame_owner&& other) noexcept
      : frame_(other.release()) {}
  frame_owner& operator=(frame_owner other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~frame_owner() {
    if (frame_ != nullptr) Promise::destroy(frame_);
  }
  [[nodiscard]] std::coroutine_handle<Promise> get() const noexcept { return frame_; }
  [[nodiscard]] std::coroutine_handle<Promise> release() noexcept { return std::exchange(frame_, nullptr); }
};

class join_point;

/// The promise of a coroutine that runs within a coroutine task. Its place in the frame is known: in(h).
class own_promise {
  static constexpr std::uintptr_t unbegun = 1, begins_always = 2;
  /// Before it begins: `unbegun`, perhaps with begins_always. Then the address of the frame, or join point,
  /// that goes on when it ends, or no_frame. 0: no coroutine awaits it, a generator.
  std::uintptr_t awaited_by_ = unbegun;

public:
  [[nodiscard]] bool has_begun() const noexcept { return (awaited_by_ & unbegun) == 0; }
  /// After it has begun.
  [[nodiscard, gnu::always_inline]] void* awaiting() const noexcept {
    return reinterpret_cast<void*>(awaited_by_);
  }
  [[nodiscard]] bool is_outermost() const noexcept { return awaited_by_ == no_frame; }
  /// It begins, or goes on, for the coroutine h, which awaits it.
  [[gnu::always_inline]] void awaited_by(std::coroutine_handle<> h) noexcept {
    awaited_by_ = reinterpret_cast<std::uintptr_t>(h.address());
  }
  [[gnu::always_inline]] void awaited_by(join_point& j) noexcept;
  void begins_outermost() noexcept { awaited_by_ = no_frame; }
  void not_awaited() noexcept { awaited_by_ = 0; }

  /// Before it begins: as a group member it begins even if the group was stopped.
  void begin_though_stopped() noexcept { awaited_by_ = unbegun | begins_always; }
  [[nodiscard]] bool begins_though_stopped() const noexcept {
    return awaited_by_ == (unbegun | begins_always);
  }

  [[nodiscard]] static own_promise& in(std::coroutine_handle<> h) noexcept {
    return std::coroutine_handle<own_promise>::from_address(h.address()).promise();
  }
  [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }

  template<class A>
  auto await_transform(A&& a) {
    constexpr bool fits = awaitable<A>; // not the concept: a compiler would explain its parts
    static_assert(fits, "rubato: co_await x: x must be a task, a future, something of Rubato's that is to "
                        "be awaited, or have operator co_await or the members of an awaiter");
    if constexpr (std::derived_from<std::remove_cvref_t<A>, refused>)
      return std::remove_cvref_t<A>();
    else if constexpr (!fits)
      return refused();
    else
      return make_awaiter(std::forward<A>(a));
  }
};

/// Takes the place of an awaiting coroutine, and is resumed instead of one. It begins as both compilers lay
/// out a frame: the function that resumes it, the function that destroys it, its promise.
class join_point {
  [[maybe_unused]] void (*resume_)(void*) noexcept;
  [[maybe_unused]] void (*destroy_)(void*) noexcept = [](void*) noexcept {
  }; // the frame around it destroys it
  own_promise promise_;

protected:
  /// `resumed` gets the join point's address.
  [[gnu::always_inline]] explicit join_point(void (*resumed)(void*) noexcept) noexcept
      : resume_(resumed) {}
  ~join_point() = default;
  [[nodiscard]] own_promise& promise() noexcept { return promise_; }

public:
  join_point(join_point const&) = delete;
  join_point& operator=(join_point const&) = delete;
};

[[gnu::always_inline]] inline void own_promise::awaited_by(join_point& j) noexcept {
  awaited_by_ = reinterpret_cast<std::uintptr_t>(&j);
}

/// The promise of a task. Its result goes to a place that its awaiter has prepared; so nothing is needed of
/// the frame when the coroutine has ended, and it destroys itself.
template<class T>
class result_promise : public own_promise, public task_frame {
  static_assert(alignof(own_promise) <= 2 * sizeof(void*),
                "it stands right behind the two addresses of a frame");
  result_slot<T>* result_; ///< set before it begins

protected:
  [[nodiscard, gnu::always_inline]] result_slot<T>& result() noexcept { return *result_; }

public:
  [[gnu::always_inline]] result_promise() noexcept {} // NOLINT: result_ is written before it is read
  [[gnu::always_inline]] void goes_to(result_slot<T>& s) noexcept { result_ = &s; }
  // The coroutine may throw after co_return, from a destructor, and may catch that and return again.
  void unhandled_exception() noexcept { result_->fail(std::current_exception()); }
  [[nodiscard, gnu::always_inline]] std::suspend_never final_suspend() noexcept {
    own_trampoline.next = this->awaiting();
    return {};
  }
};

template<class T>
class task_promise : public result_promise<T> {
public:
  template<class U = T>
    requires std::convertible_to<U&&, T>
  [[gnu::always_inline]] void return_value(U&& value) {
    // A coroutine that returns again has not failed: at most a value is there.
    if constexpr (!std::is_trivially_destructible_v<T>) this->result().reset();
    this->result().emplace(std::forward<U>(value));
  }
};
template<class T>
class task_promise<T&> : public result_promise<T&> {
public:
  void return_value(T& value) noexcept { this->result().emplace(value); }
};
template<>
class task_promise<void> : public result_promise<void> {
public:
  [[gnu::always_inline]] void return_void() noexcept { result().emplace(); }
};

/// Access to a task's coroutine, for the code that runs it.
struct task_access {
  template<class T>
  [[nodiscard]] static auto frame(rubato::task<T> const& t) noexcept {
    return t.frame_.get();
  }
  /// The same for a task that is about to begin. Throws if there is no coroutine.
  template<class T>
  [[nodiscard, gnu::always_inline]] static auto unbegun(rubato::task<T> const& t) {
    if (!t.valid()) [[unlikely]]
      throw_no_state("rubato: an empty task, or one that was awaited before, cannot be run");
    return t.frame_.get();
  }
  template<class T>
  [[nodiscard]] static auto release(rubato::task<T>& t) noexcept {
    return t.frame_.release();
  }
};

// The awaiters of co_await, by the type of the awaited object.

/// The wait of a coroutine for a result.
class result_wait : public wait_operation, future_waiter {
  future_state& state_;

  static void fire(future_waiter& base, completions& /*more*/) noexcept {
    static_cast<result_wait&>(base).end_wait();
  }
  [[nodiscard]] bool insert() noexcept final {
    RUBATO_ASSERT(!state_.begins_after_caller(), waits_for_successor);
    return state_.waiters.add(*this);
  }
  [[nodiscard]] bool remove() noexcept final { return state_.waiters.remove(*this); }

protected:
  explicit result_wait(future_state& s, ends e = ends::early) noexcept
      : wait_operation(e)
      , future_waiter(&fire)
      , state_(s) {}
  ~result_wait() = default;

public:
  [[nodiscard]] bool await_ready() const noexcept { return state_.done(); }
  [[nodiscard]] awaited_object awaited() const noexcept final { return {.result = &state_}; }
};

/// Waits until that state has its result, even if the coroutine is stopped.
class end_of_work final : public result_wait {
public:
  explicit end_of_work(future_state& s) noexcept
      : result_wait(s, ends::with_children) {}
  ~end_of_work() { retire(); }
};

/// Awaits a future or a shared future.
template<class Future>
class future_awaiter final : public result_wait {
  Future future_;

  [[nodiscard]] static future_state& state_of(Future& f) {
    if (!f.valid()) throw_no_state("rubato: co_await of a future that has no state");
    return *future_access::state(f).get();
  }

public:
  explicit future_awaiter(Future f)
      : result_wait(state_of(f))
      , future_(std::move(f)) {}
  ~future_awaiter() { retire(); } // before the future goes
  auto await_resume() -> decltype(future_.get()) {
    if (retire()) throw cancelled();
    return future_.get();
  }
};

/// An awaiter by reference: g++ 12 copies one that is not the name of a variable.
template<class A>
struct awaiter_ref {
  A* awaiter;
  [[nodiscard]] bool await_ready() const { return awaiter->await_ready(); }
  template<class P>
  auto await_suspend(std::coroutine_handle<P> h) const {
    return awaiter->await_suspend(h);
  }
  decltype(auto) await_resume() const { return awaiter->await_resume(); }
};

/// A coroutine that awaits an awaitable of another library and then brings the coroutine task back to its
/// pool.
struct foreign_wait {
  struct promise_type : owned_frame {
    struct ender : std::suspend_always {
      void await_suspend(std::coroutine_handle<promise_type> h) const noexcept { h.promise().end(); }
    };

    coroutine_task* back = nullptr;
    flag first_over; // the wait has ended, or the coroutine task is suspended: the first of the two

    foreign_wait get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
    [[nodiscard]] static ender final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {} // it throws nothing

    /// True: the caller is the second, and offers the task that the first prepared.
    [[nodiscard]] bool arrive() noexcept { return !first_over.try_raise(); }
    void end() noexcept {
      coroutine_task& a = *back;
      if (arrive()) offer(a);
    }
  };
  std::coroutine_handle<promise_type> frame;
};

/// Awaits any other awaitable: on whatever thread it completes, the coroutine resumes on its own pool.
template<class A>
class foreign_awaiter {
  using inner_type = decltype(awaiter_of(std::declval<A>()));
  using result_type = decltype(std::declval<inner_type&>().await_resume());

  A&& awaitable_;
  result_slot<result_type> result_;
  std::coroutine_handle<foreign_wait::promise_type> wait_;

  static foreign_wait run(foreign_awaiter& self) {
    try {
      // A reference to one that the program has, or the one that operator co_await() makes.
      inner_type awaiter = awaiter_of(static_cast<A&&>(self.awaitable_));
      awaiter_ref<std::remove_reference_t<inner_type>> const by_reference{std::addressof(awaiter)};
      if constexpr (std::is_void_v<result_type>) {
        co_await by_reference;
        self.result_.emplace();
      } else {
        decltype(auto) value = co_await by_reference;
        self.result_.emplace(static_cast<decltype(value)&&>(value));
      }
    } catch (...) {
      self.result_.fail(std::current_exception());
    }
  }

public:
  explicit foreign_awaiter(A&& a) noexcept
      : awaitable_(static_cast<A&&>(a)) {}
  foreign_awaiter(foreign_awaiter const&) = delete;
  foreign_awaiter& operator=(foreign_awaiter const&) = delete;
  ~foreign_awaiter() {
    if (wait_ != nullptr) wait_.destroy();
  }

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) {
    wait_ = run(*this).frame;
    coroutine_task& a = *this_trampoline().running;
    auto const frame = wait_;
    frame.promise().back = &a;
    a.suspend_elsewhere(h);
    frame.resume();
    return !frame.promise().arrive();
  }
  result_type await_resume() { return static_cast<result_type>(result_.take()); }
};

/// co_await ready_wait(): for an operation that may be ready at once without another co_await. Yields true if
/// other tasks may have run meanwhile.
struct ready_wait : own_awaitable, std::suspend_never {};

/// An awaiter of Rubato, or a reference to one: g++ 12 copies an awaiter that await_transform passes through
/// as an rvalue. A coroutine whose waits are all ready at once lets other tasks run now and then.
template<class A>
class fair_awaiter {
  A inner_;
  bool lets_others_run_ = false; ///< the wait is over

public:
  template<class From>
  explicit fair_awaiter(From&& from)
      : inner_(static_cast<From&&>(from)) {}
  [[nodiscard]] bool await_ready() {
    if (!inner_.await_ready()) return false;
    lets_others_run_ = this_trampoline().running->has_used_its_turn();
    return !lets_others_run_;
  }
  template<class P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    if (lets_others_run_) {
      if constexpr (requires { inner_.keep_while_queued(); }) inner_.keep_while_queued();
      return this_trampoline().running->let_others_run(h);
    }
    if constexpr (std::is_void_v<decltype(inner_.await_suspend(h))>) {
      inner_.await_suspend(h); // the coroutine may run elsewhere by now
      return true;
    } else {
      return inner_.await_suspend(h);
    }
  }
  decltype(auto) await_resume() {
    if constexpr (std::is_same_v<std::remove_cvref_t<A>, ready_wait>)
      return bool{lets_others_run_};
    else
      return inner_.await_resume();
  }
};

/// Moves the task to the back of a queue.
struct [[nodiscard(
    "yield() and resume_on() do nothing unless they are awaited: co_await them")]] requeue_awaiter
    : own_awaitable,
      std::suspend_always {
  pool_core* to; ///< null: the task's present pool
  explicit requeue_awaiter(pool_core* c) noexcept
      : to(c) {}
  template<std::derived_from<own_promise> P>
  void await_suspend(std::coroutine_handle<P> h) const {
    this_trampoline().running->requeue(h, to);
  }
};

template<class A>
auto make_awaiter(A&& a) {
  using type = std::remove_cvref_t<A>;
  if constexpr (is_task<type>::value)
    return task_awaiter<typename type::value_type>(a);
  else if constexpr (is_future<type>::value)
    return fair_awaiter<future_awaiter<type>>(static_cast<type&&>(a)); // an lvalue is consumed too
  else if constexpr (is_shared_future<type>::value)
    return fair_awaiter<future_awaiter<type>>(a);
  else if constexpr (std::derived_from<type, awaited_in_place>)
    return a.awaiter();
  else if constexpr (std::derived_from<type, own_awaitable>)
    return fair_awaiter<std::remove_reference_t<A>&>(a);
  else
    return foreign_awaiter<A>(static_cast<A&&>(a));
}

/// The result of awaiting an A.
template<class A>
using awaited_t = decltype(make_awaiter(std::declval<A>()).await_resume());

/// Converts any awaitable, which must outlive the task, to a task.
template<class A>
rubato::task<awaited_t<A>> await_borrowed(A&& a) {
  co_return co_await static_cast<A&&>(a);
}

} // namespace detail

} // namespace rubato
