// What scopes and task groups are made of: a list of children that nobody has begun, and a count of those
// that run.
//
// A child is latent work of the thread that opened the scope: a spawn from within the pool is no event,
// searchers and the watch find it there. From outside it wakes a worker. docs/design/scopes.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/callable.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/job.hpp"
#include "rubato/detail/mutex.hpp"
#include "rubato/detail/stop_scope.hpp"
#include "rubato/detail/task.hpp"

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stop_token>

namespace rubato::detail {

class scope_core;
struct with_scope_fn;
struct pool_thread;

struct scope_child {
  /// Runs the closure on `runner`, or only destroys it if that is null; frees the child. May throw what it
  /// threw.
  using exec_type = void (*)(scope_child&, member* runner);
  exec_type exec;
  scope_core* scope = nullptr;
  scope_child* next = nullptr;

  explicit scope_child(exec_type e) noexcept
      : exec(e) {}
};

/// A child that is a job of its own: a coroutine, or what must run on a given seat. In the job.
struct scope_member : future_waiter {
  scope_core* scope;
  future_state* job;
  scope_member* next = nullptr;
  scope_member* previous = nullptr;

  scope_member(scope_core& s, future_state& j) noexcept;
  /// Why the job has failed, if it has.
  [[nodiscard]] virtual std::exception_ptr take_error() noexcept = 0;

protected:
  ~scope_member() = default;
};

/// A coroutine that waits for all children.
class [[nodiscard("join() waits only when it is awaited: co_await it, or wait()")]] scope_joiner final
    : public own_awaitable,
      suspension {
  friend class scope_core;
  scope_core& scope_;
  scope_joiner* next_ = nullptr;

  [[nodiscard]] bool insert() noexcept override;
  [[nodiscard]] bool remove() noexcept override { return false; }

public:
  bool const throws;
  scope_joiner(scope_core& s, bool t) noexcept
      : suspension(ends::with_children)
      , scope_(s)
      , throws(t) {}
  /// Before it is awaited.
  scope_joiner(scope_joiner&& other) noexcept
      : scope_joiner(other.scope_, other.throws) {}
  scope_joiner& operator=(scope_joiner&&) = delete;
  ~scope_joiner() = default;
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return suspend(h);
  }
  /// Throws the first exception, if it is to.
  void await_resume();
};

class scope_core {
  friend class scope_joiner;
  struct waiter { // in the frame of its thread
    pool_thread* thread;
    waiter* next;
  };

  mutable mutex mutex_; // guards all up to the next comment
  scope_child* first_ = nullptr;
  scope_child* last_ = nullptr;
  scope_member* members_ = nullptr;
  scope_joiner* joiners_ = nullptr;
  std::size_t running_ = 0;
  std::exception_ptr error_;
  waiter* waiters_ = nullptr; // parked, or about to be

  std::atomic<bool> stopped_{false}; // begin nothing new
  stop_link around_;
  stop_scope stop_{around_};
  pool_core* core_;
  pool_thread* home_;          // whose latent work the children are
  activity* opener_ = nullptr; // the coroutine, if it was one
  bool counted_ = false;       // guarded by mutex_: the opener knows that children refer to its frames

  // In the home's list. The links are guarded by the home's scopes_mutex; listed_ is changed under both
  // locks, and so may be read under either. Without a lock it is a hint.
  std::atomic<bool> listed_{false};
  scope_core* next_ = nullptr; // the next younger one
  scope_core* previous_ = nullptr;

public:
  /// Does it end before the code around it does, so that it stops when that is stopped?
  enum class lifetime : unsigned char { enclosed, free };
  /// Opened by a coroutine, which may move between threads.
  scope_core(pool_core& core, activity& opener) noexcept;
  /// Opened by a member of the pool, or from outside it.
  scope_core(pool_core& core, member& opener, lifetime l);
  scope_core(scope_core const&) = delete;
  scope_core& operator=(scope_core const&) = delete;
  /// Everything has ended: wait() or wait_dropping_errors() has returned and nobody spawns.
  ~scope_core();

  /// Takes ownership. A stopped scope only destroys it.
  void spawn(scope_child* c) noexcept;
  /// The same for a job, which is counted from now on. False: the scope is stopped.
  [[nodiscard]] bool admit(scope_member& m) noexcept;
  [[nodiscard]] stop_scope& stop() noexcept { return stop_; }
  /// Was it opened by a coroutine, which must not block?
  [[nodiscard]] bool is_async() const noexcept { return opener_ != nullptr; }
  /// Runs children that nobody has begun, waits for the others. `m` is the calling thread's record.
  void wait(member& m) noexcept;
  /// Nobody runs a child, and there is none that nobody has begun.
  [[nodiscard]] bool idle() const noexcept;
  [[nodiscard]] std::exception_ptr take_error() noexcept;
  void fail(std::exception_ptr e) noexcept;
  /// The body has thrown that.
  void body_failed(std::exception_ptr const& e) noexcept;
  void request_stop() noexcept;
  [[nodiscard]] std::stop_token token() const;
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }

  // For searchers: the oldest child of any scope whose home is `t`, and running it.
  [[nodiscard]] static bool any_child(pool_thread const& t) noexcept;
  [[nodiscard]] static scope_child* take_child_of(pool_thread& t) noexcept;
  static void run_taken(scope_child& c, pool_thread& runner) noexcept;

private:
  friend struct scope_member;
  static void member_ended(future_waiter& w, completions& more) noexcept;
  // Both under the lock.
  /// A child comes.
  void count_child() noexcept;
  /// Nobody runs any more: tells who waits. True: the caller destroys the opener, without the lock.
  [[nodiscard]] bool tell_waiters() noexcept;
  void end_one() noexcept;
  [[nodiscard]] bool run_member(pool_thread& t, bool stranded) noexcept;
  [[nodiscard]] bool must_look() const noexcept;
  [[nodiscard]] bool has_members() const noexcept;
  [[nodiscard]] bool member_ready(pool_thread const& t) const noexcept;
  [[nodiscard]] scope_child* take_child() noexcept;
  void drop_children() noexcept;
  // Under both locks.
  [[nodiscard]] scope_child* take_locked() noexcept;
  [[nodiscard]] bool add_locked(scope_child& c) noexcept;
  void enlist() noexcept;
  void delist() noexcept;
  /// Unless it has a child that may be begun.
  void leave_list() noexcept;
};

/// Stops a scope with the coroutine that has opened it.
class scope_stopper final : stop_listener {
  scope_core& scope_;
  stop_scope& around_;
  void stop_requested() noexcept override { scope_.request_stop(); }

public:
  scope_stopper(scope_core& s, stop_scope& around) noexcept
      : scope_(s)
      , around_(around) {
    if (!around_.add(*this)) scope_.request_stop();
  }
  scope_stopper(scope_stopper const&) = delete;
  scope_stopper& operator=(scope_stopper const&) = delete;
  ~scope_stopper() { around_.remove(*this); }
};

inline scope_member::scope_member(scope_core& s, future_state& j) noexcept
    : future_waiter(&scope_core::member_ended)
    , scope(&s)
    , job(&j) {}

/// A job as a child.
template<class F>
class member_job final : link_holder, public job_for<F>::type, scope_member {
  using job_type = typename job_for<F>::type;
  using result_type = typename flattened<call_result_t<F>>::type;
  [[nodiscard]] std::exception_ptr take_error() noexcept override {
    return result_of<result_type>(*this).take_error();
  }

public:
  template<class G>
  member_job(scope_core& s, G&& g)
      : link_holder(&s.stop())
      , job_type(link, 1U, std::forward<G>(g))
      , scope_member(s, *this) {}
  void dispose() noexcept override { dispose_state(this); }

  static void start(scope_core& s, std::uint16_t seat, auto&& g) {
    auto* const made = make_state<member_job>(s, std::forward<decltype(g)>(g));
    made->seat = seat;
    if (s.admit(*made))
      spawn_state(s.core(), *made);
    else
      made->dispose();
  }
};

/// Can a scope's spawn() take it? Says so where it cannot.
template<class F>
[[nodiscard]] consteval bool can_be_child() {
  using type = std::decay_t<F>;
  constexpr bool called = is_task<type>::value || fits<type>;
  static_assert(can_be_kept<F>, "rubato: scope::spawn(f): f is copied unless it is passed as an rvalue: "
                                "std::move what cannot be copied, such as a task");
  if constexpr (can_be_kept<F>)
    static_assert(called, "rubato: scope::spawn(f): f must be a task, or callable as f()");
  return can_be_kept<F> && called;
}

template<class F>
class closure_child final : public scope_child {
  F f_;

  static void run(scope_child& base, member* runner) {
    auto& self = static_cast<closure_child&>(base);
    struct cleanup {
      closure_child& c;
      ~cleanup() {
        std::destroy_at(&c);
        deallocate(&c, sizeof(closure_child));
      }
    } const guard{self};
    if (runner != nullptr) static_cast<void>(call(*runner, std::move(self.f_)));
  }

public:
  template<class G>
  explicit closure_child(G&& g)
      : scope_child(&run)
      , f_(std::forward<G>(g)) {}
};

template<class F>
[[nodiscard]] scope_child* make_child(F&& f) {
  using type = closure_child<std::decay_t<F>>;
  static_assert(alignof(type) <= 64, "rubato: a task's callable may be aligned to at most 64 bytes");
  void* const memory = allocate(sizeof(type));
  try {
    return ::new (memory) type(std::forward<F>(f));
  } catch (...) {
    deallocate(memory, sizeof(type));
    throw;
  }
}

} // namespace rubato::detail
