// What all coroutines of ours have in common. docs/design/coroutines.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/fits.hpp"
#include "rubato/detail/flattened.hpp"
#include "rubato/detail/result.hpp"
#include "rubato/detail/task.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class task;
template<class T>
class future;
template<class T>
class shared_future;

namespace detail {

struct task_access;
template<class F>
class coroutine_job;
template<class T>
class task_awaiter;

/// Marks what a coroutine of ours may await as it is: it deals with the activity itself.
struct own_awaitable {};

/// Marks what becomes such a thing, by awaiter(), in the frame of the coroutine that awaits it.
struct awaited_in_place {};

/// Something with await_ready(), await_suspend() and await_resume(), or that becomes so.
template<class A>
decltype(auto) awaiter_of(A&& a) {
  if constexpr (requires { std::forward<A>(a).operator co_await(); })
    return std::forward<A>(a).operator co_await();
  else if constexpr (requires { operator co_await(std::forward<A>(a)); })
    return operator co_await(std::forward<A>(a));
  else
    return static_cast<A&&>(a);
}

/// Does co_await take it, in a coroutine of ours?
template<class A, class Type = std::remove_cvref_t<A>>
concept awaitable =
    is_task<Type>::value || is_future<Type>::value || is_shared_future<Type>::value ||
    std::derived_from<Type, awaited_in_place> || std::derived_from<Type, own_awaitable> || requires(A&& a) {
      awaiter_of(static_cast<A&&>(a)).await_ready();
      awaiter_of(static_cast<A&&>(a)).await_resume();
    };

/// Where control goes when a coroutine ends: to whoever awaited it. Empty: it is a part of every frame.
struct final_awaiter {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<class P>
  void await_suspend(std::coroutine_handle<P> ended) const noexcept {
    std::coroutine_handle<> const continuation = ended.promise().continuation();
    trampoline& t = this_trampoline();
    t.next = continuation;
    t.finished = continuation == nullptr; // the activity's outermost
  }
  void await_resume() const noexcept {}
};

template<class A>
auto make_awaiter(A&& a);

/// What is left of a frame that activity::destroy() has destroyed, until its owner, which does not know,
/// comes to do the same. So a suspended recursion is destroyed from the innermost frame outwards; each owner
/// would take stack for all that is below it. It stands where a frame has the address of its code, which is
/// never this.
class tombstone {
  [[maybe_unused]] void const* mark_; // read where a frame would be
  std::size_t bytes_;
  [[gnu::visibility("default")]] static constexpr char is_one = 0;

public:
  /// The frame that is being destroyed so by the calling thread.
  [[gnu::tls_model("initial-exec"),
    gnu::visibility("default")]] static inline thread_local constinit void const* wanted_for = nullptr;

  explicit tombstone(std::size_t frame_bytes) noexcept
      : mark_(&is_one)
      , bytes_(frame_bytes) {}
  /// Is that coroutine destroyed already?
  [[nodiscard]] static bool stands_for(std::coroutine_handle<> h) noexcept {
    void const* first = nullptr;
    std::memcpy(static_cast<void*>(&first), h.address(), sizeof(first));
    return first == &is_one;
  }
  /// By the owner of a coroutine.
  static void destroy_frame(std::coroutine_handle<> h) noexcept {
    if (!stands_for(h)) [[likely]]
      h.destroy();
    else
      deallocate(h.address(), static_cast<tombstone*>(h.address())->bytes_);
  }
};

/// Frames come from the slabs.
struct coroutine_frame {
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    if (frame == tombstone::wanted_for) [[unlikely]]
      ::new (frame) tombstone(bytes);
    else
      deallocate(frame, bytes);
  }
};

class junction;

/// The promise of a coroutine that runs within an activity.
class own_promise : public coroutine_frame {
  // An address, which is aligned. Its lowest bit says that the coroutine there owns this one, the next two
  // what the result is: eight bytes of every frame are worth it.
  static constexpr std::uintptr_t owned = 1, outcome_bits = 6, low_bits = owned | outcome_bits;
  std::uintptr_t awaited_by_ = 0;

public:
  /// Null: the activity's outermost.
  [[nodiscard]] std::coroutine_handle<> continuation() const noexcept {
    return std::coroutine_handle<>::from_address(reinterpret_cast<void*>(awaited_by_ & ~low_bits));
  }
  void awaited_by(std::coroutine_handle<> h) noexcept {
    awaited_by_ = reinterpret_cast<std::uintptr_t>(h.address());
  }
  /// The same by a coroutine in whose frame this one's owner is.
  template<class P>
  void owned_by(std::coroutine_handle<P> h) noexcept {
    awaited_by_ = reinterpret_cast<std::uintptr_t>(h.address()) | (is_found_in<P> ? owned : 0);
  }
  void owned_by(junction& j) noexcept;
  /// The continuation can be found to be such a coroutine, and its promise be found in it.
  [[nodiscard]] bool is_owned() const noexcept { return (awaited_by_ & owned) != 0; }

  /// Its result's.
  [[nodiscard]] outcome holds() const noexcept {
    return static_cast<outcome>((awaited_by_ & outcome_bits) >> 1U);
  }
  void holds(outcome o) noexcept {
    awaited_by_ = (awaited_by_ & ~outcome_bits) | static_cast<std::uintptr_t>(o) << 1U;
  }

  /// Can the promise be found in the frame without knowing what it is? Not if it is aligned more strictly.
  template<class P>
  static constexpr bool is_found_in = alignof(P) <= 2 * sizeof(void*);
  [[nodiscard]] static own_promise& in(std::coroutine_handle<> h) noexcept {
    return std::coroutine_handle<own_promise>::from_address(h.address()).promise();
  }

  [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
  [[nodiscard]] static final_awaiter final_suspend() noexcept { return {}; }

  template<class A>
  auto await_transform(A&& a) {
    constexpr bool fits = awaitable<A>; // not the concept, whose parts a compiler would explain
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

/// Stands where a coroutine would that awaits another, and is resumed in its place. It begins as a frame
/// does, as both compilers lay it out: what resumes it, what destroys it, its promise.
class junction {
  [[maybe_unused]] void (*resume_)(void*) noexcept;
  [[maybe_unused]] void (*destroy_)(void*) noexcept = [](void*) noexcept {
  }; // it goes with the frame around it
  own_promise promise_;

protected:
  /// `resumed` gets the junction's address.
  explicit junction(void (*resumed)(void*) noexcept) noexcept
      : resume_(resumed) {}
  ~junction() = default;
  [[nodiscard]] own_promise& promise() noexcept { return promise_; }

public:
  junction(junction const&) = delete;
  junction& operator=(junction const&) = delete;
};

inline void own_promise::owned_by(junction& j) noexcept {
  awaited_by_ = reinterpret_cast<std::uintptr_t>(&j) | owned;
}

/// The same with room for a result.
template<class T>
class result_promise : public own_promise, public result_access<result_promise<T>, T> {
  friend class result_access<result_promise<T>, T>;
  result_room<T> room_;

  [[nodiscard]] result_room<T>& room() noexcept { return room_; }
  [[nodiscard]] result_room<T> const& room() const noexcept { return room_; }

protected:
  result_promise() noexcept = default;
  ~result_promise() { this->reset(); }

public:
  /// Where an exception stands if there is one.
  [[nodiscard]] std::exception_ptr const& error_room() const noexcept { return room_.error; }
  // Its coroutine may throw after co_return, from a destructor, and catch that and return again.
  void unhandled_exception() noexcept { this->fail(std::current_exception()); }
};

template<class T>
class task_promise : public result_promise<T> {
public:
  template<class U = T>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) {
    this->reset();
    this->emplace(std::forward<U>(value));
  }
};
template<class T>
class task_promise<T&> : public result_promise<T&> {
public:
  void return_value(T& value) noexcept { this->emplace(value); }
};
template<>
class task_promise<void> : public result_promise<void> {
public:
  void return_void() noexcept { this->emplace(); }
};

} // namespace detail

} // namespace rubato
