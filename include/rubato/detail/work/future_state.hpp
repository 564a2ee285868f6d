// The shared state of a future: one allocation that holds the work, its result and the list of its waiters.
// docs/design/futures.md
//
// Three parties touch a state. The *producer* makes the work ready, runs it and completes the state; for a
// promise it is the thread that sets it. The *runner* is the thread to which `queued` gave the right to run
// the work (queue_state.hpp): one at a time. A *consumer* has a reference and waits, cancels, or reads the
// result.
//
// Fields in the state:
//   - The work (in derived classes): only the runner may touch it. The right passes from one runner to the
//     next through offer() and take() or claim(), which release and acquire.
//   - The result, `holds`, `broken_off` and `was_cut`: only the runner (or the thread that drops the work)
//     may write them, before complete(). Any consumer may read them after done() has returned true, and only
//     then; a future's single consumer may also move the result out.
//   - `silent`: only the future's consumer.
//   - `waiters`: any thread that has a reference may add or remove a waiter. complete() closes the list, or
//     give_up() after fork().
//   - `queued`: any thread may offer or claim; only the thread that took an entry out of a queue may take.
//   - `stop`, `asked`: any thread that has a reference may request a stop, at any time.
//   - `home_`, `seat`: written before the state is queued for the first time, later only by the runner (a
//     coroutine that moves to another pool). Any thread may read them, as a hint: they may change at once,
//     and the pool may be gone (guard_if_there()).
//   - `is_child`: written before the state is queued for the first time.
//   - `begun_by`: the runner writes it; any thread may read it, for reports.
//   - `holders_`: any thread that has a reference may add one. The last release() destroys the state.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/counted_ref.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/result.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "rubato/detail/sync/completion.hpp"
#include "rubato/detail/sync/queue_state.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <utility>

namespace rubato::detail {

class coroutine_task;
class future_state;
class completions;
class owned_task;

/// A waiter for a result. The thread that completes the result calls `fire`, once; it must not run user code,
/// but may move values. After the call the completing thread does not touch the waiter.
struct future_waiter : completion::waiter {
  void (*fire)(future_waiter&, completions& more) noexcept;
  explicit future_waiter(void (*f)(future_waiter&, completions&) noexcept) noexcept
      : fire(f) {}
};

/// A waiter whose `fire` may complete another state.
struct relay_waiter : future_waiter {
  future_state* target; ///< the state that the waiter is a part of
  relay_waiter(void (*f)(future_waiter&, completions&) noexcept, future_state* t) noexcept
      : future_waiter(f)
      , target(t) {}
};

/// States that have results and whose waiters are not told yet: a list instead of a recursion.
class completions {
  completion::waiter* first_ = nullptr;
  completion::waiter* last_ = nullptr;

public:
  /// Adds the state of a relay that was just fired.
  void push(relay_waiter& r) noexcept {
    r.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &r;
    last_ = &r;
  }
  [[nodiscard]] future_state* pop() noexcept {
    if (first_ == nullptr) return nullptr;
    auto& r = static_cast<relay_waiter&>(*first_);
    first_ = r.next;
    if (first_ == nullptr) last_ = nullptr;
    return r.target;
  }
};

/// States with inputs that have to be asked to stop: a list instead of a recursion. Each state is asked once
/// in its life, so its link is in one list at most.
class cancellation {
  future_state* first_ = nullptr;

public:
  /// The caller has a reference and no lock: a state without inputs is asked at once, which runs users' stop
  /// callbacks.
  RUBATO_API void add(future_state& s) noexcept;
  /// Returns a state and its reference; null: the list is empty.
  [[nodiscard]] future_state* pop() noexcept;
};

/// Whose part the work is, for reports.
struct work_origin {
  coroutine_task* group_of = nullptr; ///< the one whose when_all(), when_any() or the like awaits it
  char const* node = nullptr;         ///< the name of the node of a task graph that has started it
};

inline constexpr char const* waits_for_successor =
    "a task waits for a later task of its own strand, which begins only when the waiting one has ended";

/// Counted: the future (or shared futures, or the continuation that consumes it) has a reference, and so has
/// the producer until complete(). See the rules at the head of this file.
class RUBATO_API future_state : public task {
public:
  static constexpr std::uint16_t any_seat = std::numeric_limits<std::uint16_t>::max();

  // Small fields first: they fill the padding of the base.
  queue_state queued; ///< is it in a queue, is it ready; its priority
  flag asked;         ///< to stop, and so are its inputs

private:
  references holders_;
  relaxed<pool_core*> home_;
  static void tell(future_state& s, completions& more) noexcept;

public:
  relaxed<std::uint32_t> begun_by;       ///< 1 + the number of the thread that began it
  relaxed<std::uint16_t> seat{any_seat}; ///< the only seat that may run it
  bool broken_off = false;               ///< by its pool's end, before it completes
  bool is_child = false;                 ///< of a scope: note_result() is called
  completion waiters;
  [[no_unique_address]] stop_scope stop; // later fields use its padding
  outcome holds = outcome::none;         ///< what the result storage holds
  bool was_cut = false; ///< the end of a pool, or a stop, has reached what it is made from: see is_cut()
  bool silent = false;  ///< a failure is not reported if the future is dropped
  relaxed<bool>
      unwanted; ///< its future was dropped: if it hides a failure of its source, that failure is reported

  /// `around`: the link to the scope that it stops with; null: there is none.
  explicit future_state(std::uint32_t holders, stop_link* around = nullptr) noexcept
      : task(&run_entry)
      , holders_(holders)
      , stop(around) {}
  virtual ~future_state() = default;

  /// Its result_storage<T>.
  [[nodiscard]] virtual void* result() noexcept = 0;
  virtual void fail(std::exception_ptr e) noexcept = 0;
  /// For the runner: runs or resumes the work, which calls complete() at some time.
  virtual void resume(thread_context& runner) noexcept;
  /// For the runner only.
  [[nodiscard]] virtual bool has_begun() const noexcept { return false; }
  /// Once begun it ends without having to be resumed.
  [[nodiscard]] virtual bool runs_to_end() const noexcept { return false; }
  /// For the runner: it was stopped before it began, and is about to end as cancelled.
  virtual void skipped() noexcept {}
  /// For a thread that keeps the work from going on: the scope with which what the work begins now stops.
  [[nodiscard]] virtual stop_scope& current_scope() noexcept { return stop; }
  // For dump(), by any thread that keeps it from being destroyed.
  /// The work, if it is a coroutine's; else null.
  [[nodiscard]] virtual coroutine_task* as_coroutine() noexcept { return nullptr; }
  /// The caller keeps it from ending, too.
  [[nodiscard]] virtual work_origin origin() const noexcept { return {}; }
  /// For a child, by the thread that completes it: it has its result, which no consumer sees yet.
  virtual void note_result() noexcept {}
  /// Completes it unrun: its waiters get a broken promise.
  virtual void drop() noexcept;
  /// The same without touching the work, which was running in the parent process at fork().
  void give_up() noexcept;
  /// Destroys and frees it: it was made in the slab.
  virtual void dispose() noexcept { delete this; }
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* state, std::size_t bytes) noexcept { deallocate(state, bytes); }
  /// True if a pool runs it; false if other states' results complete it.
  [[nodiscard]] virtual bool is_work() const noexcept { return true; }
  /// True for a promise: no thread runs work for it.
  [[nodiscard]] virtual bool is_promised() const noexcept { return false; }
  /// Does a failure go to on_unhandled if the future is detached or dropped? False: another party hears of
  /// it.
  [[nodiscard]] virtual bool may_report() const noexcept { return !silent; }
  /// The source of a continuation that owns it and has not begun, with a reference; null: there is none.
  [[nodiscard]] virtual future_state* owned_source() noexcept { return nullptr; }
  /// The first pending input of a when_all(), a when_any() or a continuation, from this index on, with a
  /// reference; null: there is none. The index becomes that of the next input.
  [[nodiscard]] virtual future_state* pending_input(std::size_t& /*index*/) noexcept { return nullptr; }
  /// A stop was requested: passes it on to the inputs.
  virtual void cancel_inputs(cancellation& /*all*/) noexcept {}
  /// The link of a state with inputs in a `cancellation`; null: it has no inputs.
  [[nodiscard]] virtual future_state** next_to_ask() noexcept { return nullptr; }

  // For states among the owned tasks of a pool. `as`: its entry there, of which it may have two, in two
  // pools.
  /// Takes the waiting work out of the object that it waits for. True: no thread will resume it, and the
  /// caller drops the work. Called when no thread runs in the pool.
  [[nodiscard]] virtual bool withdraw(owned_task const& /*as*/) noexcept { return false; }

  /// The pool whose work it is; null: none. A continuation may still move. A state that waits for other
  /// pools' work may outlive its own pool: a caller that is not sure that the pool lives uses
  /// guard_if_there().
  [[nodiscard]] pool_core* home() const noexcept { return home_.get(); }
  /// Called before the state is queued, which publishes the pool.
  void set_home(pool_core* c) noexcept { home_.set(c); }

  [[nodiscard]] bool done() const noexcept { return waiters.closed(); }
  /// After its end: a `cancelled` or a broken promise is no failure of its own.
  [[nodiscard]] bool is_cut() const noexcept { return was_cut || stop.level() != stop_level::none; }
  [[nodiscard]] bool has_failed() const noexcept { return holds == outcome::error; }
  /// The exception; empty: it has not failed. A result storage of any type begins with it.
  [[nodiscard]] std::exception_ptr error() noexcept {
    return has_failed() ? *static_cast<std::exception_ptr*>(result()) : std::exception_ptr();
  }
  /// The same, moved out: see result_access::take_error().
  [[nodiscard]] std::exception_ptr take_error() noexcept;
  void hold() noexcept { holders_.hold(); }
  void release() noexcept {
    if (holders_.release()) dispose();
  }
  /// The caller has n references: has no other party one?
  [[nodiscard]] bool is_held_only(std::uint32_t n) const noexcept { return holders_.is_only(n); }
  /// False: the caller has the only reference, and keeps it.
  [[nodiscard]] bool release_unless_last() noexcept { return holders_.release_unless_last(); }

  /// Asks it and its inputs to stop. Work that has not begun never begins.
  void cancel() noexcept;
  /// The result is ready: fires the waiters and releases the producer's reference.
  void complete() noexcept;

  /// For assertions: does it begin only when the task that the calling thread runs has ended, as a later task
  /// of the same strand does? O(the tasks of the strand in between).
  [[nodiscard]] bool begins_after_caller() noexcept;

  /// For the thread that has taken its entry out of a queue, `popper` or one that drops the queue's tasks.
  /// True: it is a coroutine that has moved to another pool since.
  [[nodiscard]] bool has_moved_from(thread_context const* popper) const noexcept;
  /// For the thread that has taken its entry out of a queue: drops it if it has not begun. True: it has
  /// begun, and the caller queues it again.
  [[nodiscard]] bool drop_unless_begun() noexcept;
  static void run_entry(task& base, thread_context* runner) noexcept;
};

/// A part of suspended work, linked into its pool's list, so that the pool's end can destroy the work: the
/// object that it waits for may never complete. docs/design/coroutines.md
class owned_task : list_node<owned_task> {
  friend class owned_tasks;
  friend class intrusive_list<owned_task>;
  std::uint32_t const offset_; ///< of this part in the work
  std::uint8_t stripe_ = 0;    ///< of the list; written before the work is listed
  bool listed_ = false;        ///< guarded by the lock of the stripe
  /// What the pool has asked it for: this selects the list in the stripe. Guarded by the same lock.
  stop_level asked_ = stop_level::none;

public:
  explicit owned_task(future_state& work) noexcept
      : offset_(static_cast<std::uint32_t>(reinterpret_cast<std::byte*>(this) -
                                           reinterpret_cast<std::byte*>(&work))) {}
  owned_task(owned_task const&) = delete;
  owned_task& operator=(owned_task const&) = delete;

  [[nodiscard]] future_state& work() noexcept {
    return *reinterpret_cast<future_state*>(reinterpret_cast<std::byte*>(this) - offset_);
  }
  [[nodiscard]] bool is_listed() const noexcept { return listed_; }
};

/// Discards an entry that was taken out of a queue. Begun work is not dropped: it is returned, and the caller
/// queues it again.
[[nodiscard]] task* drop_unless_begun(task& k) noexcept;

/// A second entry for work whose own entry is in the wrong queue: see queue_second_entry(). Claims the work
/// as a waiter does; does nothing if it is not ready any more.
struct second_entry : task {
  future_state& of; ///< held
  second_entry(exec_type run, future_state& s) noexcept
      : task(run)
      , of(s) {
    is_second = true;
    s.hold();
  }
};

/// The priority of an entry that drop_unless_begun() has returned.
[[nodiscard]] priority priority_of(task const& k) noexcept;

/// False: it was queued to begin. True: it tests itself whether its work has begun.
[[nodiscard]] bool may_have_begun(task const& k) noexcept;

[[nodiscard]] inline void* token_of(future_state& s) noexcept {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&s) | state_token_bit);
}
/// The stop scope of the task that the calling thread runs; null: its pool's, or none.
[[nodiscard]] inline stop_scope* scope_in_force() noexcept { return scope_of_token(current->chain.token()); }

/// A state's result.
template<class T>
class state_result : public result_access<state_result<T>, T> {
  friend class result_access<state_result<T>, T>;
  result_storage<T>& storage_;
  future_state& state_;

  [[nodiscard]] result_storage<T>& storage() const noexcept { return storage_; }
  void holds(outcome o) noexcept { state_.holds = o; }

public:
  state_result(result_storage<T>& storage, future_state& s) noexcept
      : storage_(storage)
      , state_(s) {}
  [[nodiscard]] outcome holds() const noexcept { return state_.holds; }
};

template<class T>
[[nodiscard]] state_result<T> result_of(future_state& s) noexcept {
  return {*static_cast<result_storage<T>*>(s.result()), s};
}

/// True if cancelled work may end before this input does. It waits for an input that it owns and that may
/// run, because objects lent to that input may be destroyed once the work has ended.
[[nodiscard]] inline bool ends_without(future_state const& input, bool owned) noexcept {
  return !owned || input.is_promised();
}

using state_ref = counted_ref<future_state>;

/// A state with storage for a T. `Base` is future_state or a coroutine_task.
template<class T, class Base = future_state>
class state_of : public Base {
  result_storage<T> storage_;

public:
  using Base::Base;
  ~state_of() override { slot().reset(); }
  [[nodiscard]] state_result<T> slot() noexcept { return {storage_, *this}; }
  [[nodiscard]] void* result() noexcept override { return &storage_; }
  void fail(std::exception_ptr e) noexcept override { slot().fail(std::move(e)); }
};

/// Throws std::future_error(no_state) with this message.
[[noreturn]] RUBATO_API void throw_no_state(char const* what);
[[nodiscard]] std::exception_ptr broken_promise() noexcept;
[[nodiscard]] RUBATO_API std::exception_ptr cancelled_error() noexcept;
[[nodiscard]] RUBATO_API bool is_cancelled(std::exception_ptr const& e) noexcept;

} // namespace rubato::detail
