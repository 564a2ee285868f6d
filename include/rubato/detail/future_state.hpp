// What a future refers to: one allocation that holds the work, its result and who waits for it.
// docs/design/futures.md
#pragma once

#include "rubato/detail/completion.hpp"
#include "rubato/detail/member.hpp"
#include "rubato/detail/result.hpp"
#include "rubato/detail/stop_scope.hpp"
#include "rubato/detail/task.hpp"
#include "rubato/detail/ticket.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

namespace rubato::detail {

class future_state;
class completions;
class resident;

/// Called once when the result is there, by whoever brought it: it must not run user code, but may move
/// values. Afterwards nobody touches the waiter.
struct future_waiter : completion::waiter {
  void (*fire)(future_waiter&, completions& more) noexcept;
  explicit future_waiter(void (*f)(future_waiter&, completions&) noexcept) noexcept
      : fire(f) {}
};

/// A waiter whose firing may complete another state.
struct relay_waiter : future_waiter {
  future_state* target; ///< the waiter is a part of it
  relay_waiter(void (*f)(future_waiter&, completions&) noexcept, future_state* t) noexcept
      : future_waiter(f)
      , target(t) {}
};

/// States that have got their results and whose waiters are not told yet: a list in place of a recursion.
class completions {
  completion::waiter* first_ = nullptr;
  completion::waiter* last_ = nullptr;

public:
  /// By a relay that was fired just now.
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

/// States that consume others and are to be asked to stop: a list in place of a recursion. Each is asked once
/// in its life, so its link belongs to one list at most.
class cancellation {
  future_state* first_ = nullptr;

public:
  /// By a caller that holds it, without locks: what consumes nothing is asked at once, which calls what users
  /// have registered.
  void add(future_state& s) noexcept;
  /// With its hold. Null: there are no more.
  [[nodiscard]] future_state* pop() noexcept;
};

/// The seat that work belongs to. Waiters look at it while the work may be moving.
class relaxed_seat {
  std::atomic<std::uint16_t> seat_;

public:
  explicit relaxed_seat(std::uint16_t s) noexcept
      : seat_(s) {}
  operator std::uint16_t() const noexcept { return seat_.load(std::memory_order_relaxed); }
  relaxed_seat& operator=(std::uint16_t s) noexcept {
    seat_.store(s, std::memory_order_relaxed);
    return *this;
  }
};

/// Counted: the future (or shared futures, or the continuation that consumes it) holds it, and so does the
/// producer until the result is there.
class future_state : public task {
public:
  static constexpr std::uint16_t any_seat = std::numeric_limits<std::uint16_t>::max();

  // The small ones first: they fill up the end of the base.
  ticket entry;                       ///< in a queue, ready
  std::atomic<bool> asked{false};     ///< to stop, with what it consumes
  std::atomic<bool> displaced{false}; ///< its entry stands in the queue of a pool that it has left

private:
  std::atomic<std::uint32_t> holders_;
  std::atomic<pool_core*> home_{nullptr};
  static void tell(future_state& s, completions& more) noexcept;

public:
  std::atomic<std::uint32_t> begun_by{0}; ///< 1 + the number of the thread that has begun it; for reports
  relaxed_seat seat{any_seat};            ///< where it must run
  bool broken_off = false;                ///< by its pool, which ends; before it completes
  completion waiters;
  [[no_unique_address]] stop_scope stop; // its padding is used
  outcome holds = outcome::none;         ///< in the room for the result

  explicit future_state(std::uint32_t holders) noexcept
      : task(&exec_entry)
      , holders_(holders) {
    holds_room = false;
  }
  explicit future_state(std::uint32_t holders, stop_link& around) noexcept
      : task(&exec_entry)
      , holders_(holders)
      , stop(around) {
    holds_room = false;
  }
  future_state(future_state const&) = delete;
  future_state& operator=(future_state const&) = delete;
  virtual ~future_state() = default;

  /// The result_room<T>.
  [[nodiscard]] virtual void* result() noexcept = 0;
  virtual void fail(std::exception_ptr e) noexcept = 0;
  /// Runs it, or goes on with it. It ends with complete() at some time.
  virtual void resume(member& runner) noexcept;
  /// By the caller that alone may run it now.
  [[nodiscard]] virtual bool has_begun() const noexcept { return false; }
  /// Once it has begun it ends without having to be resumed.
  [[nodiscard]] virtual bool runs_to_end() const noexcept { return false; }
  /// What stands for it in a queue while its entry is elsewhere; null: there is no memory for it.
  [[nodiscard]] virtual task* second() noexcept { return nullptr; }
  /// It is ready, and queued by an entry other than its own; see activity::requeue().
  [[nodiscard]] virtual bool is_ready_elsewhere() const noexcept { return false; }
  /// The caller runs it without taking that out of its queue. False: it is not, or somebody else does.
  [[nodiscard]] virtual bool claim_elsewhere() noexcept { return false; }
  /// It will never be run: whoever waits gets a broken promise.
  virtual void drop() noexcept;
  /// The same without touching the work, which was running in the parent when this process was forked.
  void give_up() noexcept;
  /// Destroys and frees it.
  virtual void dispose() noexcept = 0;
  /// Is it run by a pool? Else it just gets its result from others.
  [[nodiscard]] virtual bool is_work() const noexcept { return true; }
  /// Is it brought by hand? Then nothing runs for it.
  [[nodiscard]] virtual bool is_promised() const noexcept { return false; }
  /// Of a gathering or a continuation: from this index on the first input that is pending; held. Null: there
  /// is none. The index becomes that of the next input.
  [[nodiscard]] virtual future_state* pending_input(std::size_t& /*index*/) noexcept { return nullptr; }
  /// A stop was asked for: passes it on to what this consumes.
  virtual void cancel_inputs(cancellation& /*all*/) noexcept {}
  /// The link for that of what consumes something; null: it consumes nothing.
  [[nodiscard]] virtual future_state** next_to_ask() noexcept { return nullptr; }

  // For what is among the residents of a pool: `as` that part of it, of which it may have two, in two pools.
  /// Takes it away from what it waits for. True: nobody will bring it back, and the caller drops the work.
  /// When nobody runs in the pool.
  [[nodiscard]] virtual bool withdraw(resident const& /*as*/) noexcept { return false; }
  /// The pool has asked the work to stop, because it ends.
  virtual void on_drain() noexcept {}

  /// Whose work it is; null: nobody's. A continuation may yet move. Work that waits for others' may outlive
  /// that pool: whoever is not sure that it lives uses visit_if_there().
  [[nodiscard]] pool_core* home() const noexcept { return home_.load(std::memory_order_relaxed); }
  /// Before it is queued, which publishes it.
  void settle(pool_core* c) noexcept { home_.store(c, std::memory_order_relaxed); }

  [[nodiscard]] bool done() const noexcept { return waiters.closed(); }
  void hold() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // acq_rel: the last one destroys what all others have written.
    if (holders_.load(std::memory_order_acquire) == 1 ||
        holders_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      dispose();
  }

  /// Asks it to stop, and what it consumes. Unstarted work is not begun.
  void cancel() noexcept;
  /// The result is there: tells who waits. Ends the producer's hold.
  void complete() noexcept;

  /// Waits on the calling thread; runs the work itself if it has not begun and that is allowed. False: what
  /// the thread runs was stopped before.
  [[nodiscard]] bool wait(char const* why) noexcept;
  /// The same whatever is stopped: it refers to what the caller lends it.
  void wait_to_end(char const* why) noexcept;
  /// False: not until then, or what the thread runs was stopped before. It runs nothing meanwhile.
  [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) noexcept;

  /// For whoever has taken it out of a queue: true if it was claimed and is not ready again. Then it is gone.
  [[nodiscard]] bool drop_if_stale(pool_core& where) noexcept;
  /// The same: drops it if it has not begun. True: it has begun, and is to be queued again.
  [[nodiscard]] bool drop_unless_begun() noexcept;
  static void exec_entry(task& base, member* runner) noexcept;
};

/// Whoever has taken an entry out of a queue frees it if it stands for nothing any more: its work was
/// claimed.
[[nodiscard]] bool drop_stale_entry(task& k, pool_core& where) noexcept;

/// Discards what was taken out of a queue. What has begun is not dropped: it is returned, to be queued again.
[[nodiscard]] task* drop_unless_begun(task& k) noexcept;

/// False: it was queued to be begun.
[[nodiscard]] bool may_have_begun(task const& k) noexcept;

/// A new job: queues it on the pool.
void spawn_state(pool_core& c, future_state& s) noexcept;
/// Ready to be run: queues it where its work belongs.
void offer(future_state& s) noexcept;
/// Queues a task where the calling thread works, else where something was made, else on the global pool. Runs
/// it at once if there is none.
void queue_near(task& t, pool_core* made_at) noexcept;
/// Does end(s), even if a pool discards that: by a task where the calling thread works, else where s does. At
/// once, if there is no memory.
void end_later(future_state& s, void (*end)(future_state&) noexcept) noexcept;
/// As offer(), for work that was never queued and whose ticket says queued: on its pool, by any thread.
void queue_new(future_state& s) noexcept;

/// A state's result.
template<class T>
class state_result : public result_access<state_result<T>, T> {
  friend class result_access<state_result<T>, T>;
  result_room<T>& room_;
  future_state& state_;

  [[nodiscard]] result_room<T>& room() const noexcept { return room_; }
  void holds(outcome o) noexcept { state_.holds = o; }

public:
  state_result(result_room<T>& room, future_state& s) noexcept
      : room_(room)
      , state_(s) {}
  [[nodiscard]] outcome holds() const noexcept { return state_.holds; }
};

template<class T>
[[nodiscard]] state_result<T> result_of(future_state& s) noexcept {
  return {*static_cast<result_room<T>*>(s.result()), s};
}

/// May cancelled work end before this input has? If that is its own, and perhaps runs, it waits, since what
/// was lent to the input may go once the work has ended.
[[nodiscard]] inline bool ends_without(future_state const& input, bool owned) noexcept {
  return !owned || input.is_promised();
}

/// One hold on a state.
class state_ref {
  future_state* state_ = nullptr;

public:
  state_ref() noexcept = default;
  explicit state_ref(future_state* adopted) noexcept
      : state_(adopted) {}
  state_ref(state_ref&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}
  state_ref(state_ref const& other) noexcept
      : state_(other.state_) {
    if (state_ != nullptr) state_->hold();
  }
  state_ref& operator=(state_ref other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~state_ref() {
    if (state_ != nullptr) state_->release();
  }
  [[nodiscard]] future_state* get() const noexcept { return state_; }
  future_state* operator->() const noexcept { return state_; }
  explicit operator bool() const noexcept { return state_ != nullptr; }
  [[nodiscard]] future_state* let_go() noexcept { return std::exchange(state_, nullptr); }
};

/// Did it not end before fork() made this process? Then it never does, and the parent's copy is left alone.
[[nodiscard]] bool was_lost_in_fork(future_state const& s) noexcept;

/// A state with room for a T. `Base` is future_state or an activity.
template<class T, class Base = future_state>
class state_of : public Base {
  result_room<T> room_;

public:
  using Base::Base;
  ~state_of() override { slot().reset(); }
  [[nodiscard]] state_result<T> slot() noexcept { return {room_, *this}; }
  [[nodiscard]] void* result() noexcept override { return &room_; }
  void fail(std::exception_ptr e) noexcept override { slot().fail(std::move(e)); }
};

/// Builds a state in memory from the slabs. Throws std::bad_alloc, and what the constructor throws.
template<class State, class... Args>
[[nodiscard]] State* make_state(Args&&... args) {
  static_assert(alignof(State) <= 64, "rubato: a task's callable may be aligned to at most 64 bytes");
  void* const memory = allocate(sizeof(State));
  try {
    return ::new (memory) State(std::forward<Args>(args)...);
  } catch (...) {
    deallocate(memory, sizeof(State));
    throw;
  }
}

template<class State>
void dispose_state(State* s) noexcept {
  std::destroy_at(s);
  deallocate(s, sizeof(State));
}

/// Throws std::future_error(no_state), with more to say.
[[noreturn]] void throw_no_state(char const* what);
[[nodiscard]] std::exception_ptr broken_promise() noexcept;
[[nodiscard]] std::exception_ptr cancelled_error() noexcept;
[[nodiscard]] bool is_cancelled(std::exception_ptr const& e) noexcept;

} // namespace rubato::detail
