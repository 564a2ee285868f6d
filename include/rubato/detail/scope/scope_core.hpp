// The core of scopes and task groups: a list of children that have not begun, and a count of running ones.
//
// A child is latent work of the thread that opened the scope: a spawn from within the pool wakes no thread,
// since searching threads and the monitor find the child there. A spawn from outside wakes a worker.
// docs/design/scopes.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/child_source.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/task.hpp"

#include <cstdint>
#include <exception>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato::detail {

class scope_core; // NOLINT(cppcoreguidelines-virtual-class-destructor): final
struct pool_thread;

/// A child with a job of its own, in which this is: a coroutine, a child with a future, or one that is bound
/// to a seat.
struct scope_member : future_waiter, list_node<scope_member> {
  scope_core* within;
  future_state* job;
  bool dropped = false; ///< it never ran to its end
  bool failed = false;  ///< the scope has its exception

  scope_member(scope_core& s, future_state& j, void (*ended)(future_waiter&, completions&) noexcept) noexcept
      : future_waiter(ended)
      , within(&s)
      , job(&j) {
    j.is_child = true;
  }
};

/// The wait of a coroutine for all children.
class [[nodiscard("join() waits only when it is awaited: co_await it, or wait()")]] RUBATO_API scope_joiner
    final : public wait_operation {
  friend class scope_core;
  scope_core& scope_;
  scope_joiner* next_ = nullptr;

  [[nodiscard]] bool insert() noexcept override;
  [[nodiscard]] bool remove() noexcept override { return false; }

public:
  bool const throws;
  scope_joiner(scope_core& s, bool t) noexcept
      : wait_operation(ends::with_children)
      , scope_(s)
      , throws(t) {}
  /// Only before it is awaited.
  scope_joiner(scope_joiner&& other) noexcept
      : scope_joiner(other.scope_, other.throws) {}
  scope_joiner& operator=(scope_joiner&&) = delete;
  ~scope_joiner() = default;
  /// If it was made to: throws the first exception, else cancelled if the scope was cut.
  void await_resume();
};

class scope_core final : public child_source {
  friend class scope_joiner;
  template<class F, bool HasFuture>
  friend class member_job;
  struct waiter { // in the frame of the waiting thread
    pool_thread* thread;
    waiter* next;
  };

  // Guarded by the source's mutex, up to the next comment.
  intrusive_list<scope_member> members_;
  scope_joiner* joiners_ = nullptr;
  std::exception_ptr error_;
  waiter* waiters_ = nullptr; // threads that are parked or about to park

  stop_link around_;
  stop_scope stop_{&around_};
  pool_core* core_;
  coroutine_task* opener_ = nullptr; // null: a thread opened the scope
  // Guarded by mutex_.
  bool counted_ = false;           // the opener counts the scope among its children
  bool stopped_from_here_ = false; // the first stop was not one from outside
  bool cut_ = false; // a stop from outside has kept a child from beginning, or ended one as cancelled

public:
  /// enclosed: the scope ends before the code around it does, and stops with it.
  enum class lifetime : unsigned char { enclosed, free };
  /// For a coroutine, which may move between threads.
  RUBATO_API scope_core(pool_core& core, coroutine_task& opener) noexcept;
  /// For a thread of the pool or outside it.
  RUBATO_API scope_core(pool_core& core, thread_context& opener, lifetime l);
  /// Requires that wait() has returned and that no thread spawns.
  RUBATO_API ~scope_core();

  /// The waiting thread begins the newest child first. Before the first child.
  void begin_newest_first() noexcept { newest_first_ = true; }
  /// Takes ownership. A stopped scope only destroys the child.
  RUBATO_API void spawn(scope_child* c) noexcept;
  /// The same for a job, and counts it. False: the scope is stopped.
  [[nodiscard]] RUBATO_API bool admit(scope_member& m) noexcept;
  /// The same for a job that ends as cancelled if the scope is stopped.
  RUBATO_API void admit_though_stopped(scope_member& m) noexcept;
  [[nodiscard]] stop_scope& stop() noexcept { return stop_; }
  /// True if a coroutine, which must not block, opened it.
  [[nodiscard]] bool is_async() const noexcept { return opener_ != nullptr; }
  /// Runs children that have not begun, and waits for the others. `m`: the calling thread's record.
  RUBATO_API void wait(thread_context& m) noexcept;
  /// No child runs, and none is left to begin.
  [[nodiscard]] bool idle() const noexcept;
  [[nodiscard]] RUBATO_API std::exception_ptr take_error() noexcept;
  /// Throws the first exception, else cancelled if a stop from outside has cut the scope.
  void rethrow();
  /// A stop from outside has cut the scope.
  [[nodiscard]] bool was_cut() const noexcept;
  void fail(std::exception_ptr e) noexcept;
  /// The body has thrown this exception.
  RUBATO_API void body_failed(std::exception_ptr const& e) noexcept;
  RUBATO_API void request_stop() noexcept;
  /// The same for a stop from outside, of which the scope tells if it cuts a child.
  RUBATO_API void stop_from_outside() noexcept;
  [[nodiscard]] RUBATO_API std::stop_token token() const;
  [[nodiscard]] pool_core& core() const noexcept { return *core_; }

  /// Runs a child that a thread has taken.
  void run(scope_child& c, pool_thread& runner) noexcept override;

private:
  /// True if a `cancelled` of a child or of the body is no failure.
  [[nodiscard]] bool expects_cancelled() const noexcept;
  RUBATO_API void member_has_result(scope_member& m) noexcept;
  RUBATO_API void member_ended(scope_member& m) noexcept;
  // Under the lock.
  void add_member(scope_member& m) noexcept RUBATO_REQUIRES(mutex_);
  /// A stop has kept a child from beginning, or ended one as cancelled.
  void note_cut() noexcept RUBATO_REQUIRES(mutex_);
  /// Counts a new child.
  void count_child() noexcept RUBATO_REQUIRES(mutex_);
  /// No child runs any more: wakes the waiters. True: the caller destroys the opener, without the lock.
  [[nodiscard]] bool unpark_waiters() noexcept RUBATO_REQUIRES(mutex_);
  void end_one() noexcept;
  [[nodiscard]] bool is_discarded() const noexcept;
  [[nodiscard]] bool run_child(pool_thread& t) noexcept;
  [[nodiscard]] bool run_member(pool_thread& t) noexcept;
  void sleep(pool_thread& t) noexcept;
  [[nodiscard]] bool must_poll() const noexcept;
  [[nodiscard]] bool has_members() const noexcept;
  void drop_children() noexcept;
  [[nodiscard]] bool add_locked(scope_child& c) noexcept RUBATO_REQUIRES(mutex_);
};

/// Stops a scope with the coroutine that opened it.
class scope_stopper final : stop_listener {
  scope_core& scope_;
  stop_scope& around_;
  void stop_requested() noexcept override { scope_.stop_from_outside(); }

public:
  scope_stopper(scope_core& s, stop_scope& around) noexcept
      : scope_(s)
      , around_(around) {
    if (!around_.add(*this)) scope_.stop_from_outside();
  }
  ~scope_stopper() { around_.remove(*this); }
};

/// A job as a child, with a future or without one.
template<class F, bool HasFuture = false>
class member_job final : link_holder, public job_for<F>::type, scope_member {
  using job_type = typename job_for<F>::type;

  void note_result() noexcept override { this->within->member_has_result(*this); }
  [[nodiscard]] bool may_report() const noexcept override { return false; } // its failure is the scope's
  void drop() noexcept override {
    this->dropped = true;
    job_type::drop();
  }
  /// Without a future, the result ends before the scope: its destructor may refer to what the scope encloses.
  static void ended(future_waiter& w, completions& /*more*/) noexcept {
    auto& self = static_cast<member_job&>(w);
    if constexpr (!HasFuture) self.slot().reset();
    self.within->member_ended(self);
  }

public:
  template<class... As>
  explicit member_job(scope_core& s, As&&... as)
      : link_holder(&s.stop())
      , job_type(HasFuture ? 2U : 1U, &link, std::forward<As>(as)...)
      , scope_member(s, *this, &ended) {}

  static void start(scope_core& s, std::uint16_t seat, auto&& g, priority p = priority::normal) {
    auto* const made = make_in_slab<member_job>(s, std::forward<decltype(g)>(g));
    made->seat.set(seat);
    if (s.admit(*made))
      spawn_state(s.core(), *made, p);
    else
      made->dispose();
  }
  template<class... As>
  [[nodiscard]] static auto start_with_future(scope_core& s, priority p, As&&... as) {
    auto* const made = make_in_slab<member_job>(s, std::forward<As>(as)...);
    auto out = future_access::make<typename flattened<call_result_t<F>>::type>(state_ref(made));
    s.admit_though_stopped(*made);
    spawn_state(s.core(), *made, p);
    return out;
  }
};

/// True if a scope's spawn() accepts it; otherwise an assertion fails with a message.
template<class F>
[[nodiscard]] consteval bool can_be_child() {
  constexpr bool called = fits<std::decay_t<F>>;
  static_assert(!is_named_task<F>,
                "rubato: scope::spawn(t): a task with a name is moved: spawn(std::move(t))");
  static_assert(
      can_be_kept<F> || is_named_task<F>,
      "rubato: scope::spawn(f): f is copied unless it is passed as an rvalue: std::move what cannot "
      "be copied");
  if constexpr (can_be_kept<F>)
    static_assert(called, "rubato: scope::spawn(f): f must be a task, or callable as f()");
  if constexpr (can_be_kept<F> && called)
    return can_be_returned<call_result_t<std::decay_t<F>>>();
  else
    return false;
}

template<class F>
class closure_child final : public scope_child {
  F f_;

  static void run(scope_child& base, thread_context* runner) {
    auto& self = static_cast<closure_child&>(base);
    struct cleanup {
      closure_child& c;
      ~cleanup() { free_in_slab(&c); }
    } const guard{self};
    if (runner == nullptr) return;
    note_call(self.f_);
    static_cast<void>(call(*runner, std::move(self.f_)));
  }

public:
  template<class G>
  explicit closure_child(G&& g)
      : scope_child(&run)
      , f_(std::forward<G>(g)) {}
};

/// The pool for the children of a scope that this coroutine opens: the one that was asked for, but its own if
/// that one is closed, where no thread would run them.
[[nodiscard]] RUBATO_API pool_core& core_for_children(pool* wanted, coroutine_task& opener);
/// Waits on the calling thread as a thread of the scope's pool, then throws as scope_core::rethrow().
RUBATO_API void wait_in_scope(scope_core& s);
/// The same, but throws nothing and cannot fail.
RUBATO_API void wait_until_ended(scope_core& s) noexcept;

template<class F>
void add_child(scope_core& to, F&& f) {
  if constexpr (!can_be_child<F>())
    return;
  else if constexpr (goes_on<F>)
    member_job<std::decay_t<F>>::start(to, future_state::any_seat, std::forward<F>(f));
  else
    to.spawn(make_in_slab<closure_child<std::decay_t<F>>>(std::forward<F>(f)));
}

template<class F>
void add_child(scope_core& to, priority p, F&& f) {
  if constexpr (!can_be_child<F>())
    return;
  else if (p == priority::normal)
    add_child(to, std::forward<F>(f));
  else
    member_job<std::decay_t<F>>::start(to, future_state::any_seat, std::forward<F>(f), p);
}

/// The same for async().
template<class F, class... Args>
[[nodiscard]] consteval bool can_be_child_with_future() {
  constexpr bool kept = can_be_kept<F, Args...>, called = fits<std::decay_t<F>, std::decay_t<Args>...>;
  static_assert(kept, "rubato: scope::async(f, args...): f and the arguments are copied unless they are "
                      "passed as rvalues: std::move what cannot be copied, such as a task");
  if constexpr (kept)
    static_assert(called, "rubato: scope::async(f, args...): f must be a task, or callable as f(args...), "
                          "with copies of the arguments as rvalues; std::ref passes a reference on");
  if constexpr (kept && called)
    return can_be_returned<call_result_t<std::decay_t<F>, std::decay_t<Args>...>>();
  else
    return false;
}

/// Adds a child with a future.
template<class F, class... Args>
auto add_child_with_future(scope_core& to, priority p, F&& f, Args&&... args) {
  if constexpr (can_be_child_with_future<F, Args...>())
    return member_job<spawned_call<F, Args...>, true>::start_with_future(to, p, std::forward<F>(f),
                                                                         std::forward<Args>(args)...);
  else
    return refused();
}

template<class F>
void add_child_on_seat(scope_core& to, unsigned seat, F&& f) {
  std::uint16_t const where = checked_seat(to.core(), seat);
  if constexpr (can_be_child<F>()) member_job<std::decay_t<F>>::start(to, where, std::forward<F>(f));
}

} // namespace rubato::detail
