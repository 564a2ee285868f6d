// A coroutine that runs on a pool, with all coroutines that it awaits: one line of execution that is
// suspended and resumed as a whole. docs/design/coroutines.md
#pragma once

#include "rubato/detail/sync/child_count.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/sync/suspension.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class coroutine_task;
class own_promise;
class wait_operation;

/// The next step of the calling thread's resumption loop. g++ 12 does not turn a transfer between coroutines
/// into a jump at -O0, nor does any compiler under a sanitizer; so a coroutine that passes control on stores
/// the coroutine to resume, and returns to the loop.
struct trampoline {
  coroutine_task* running = nullptr; ///< null: no coroutine of Rubato runs here
  std::coroutine_handle<> next;      ///< resumed as soon as the present one returns to the loop
  bool finished = false;             ///< the coroutine task's outermost coroutine has ended
  std::size_t mark = 0; ///< the thread's chain before it ran: jobs above are forks of the coroutine task
};

/// The calling thread's trampoline. Not inline: a coroutine may run on another thread after each suspension,
/// and a compiler may keep the address of a thread-local across it.
[[nodiscard]] trampoline& this_trampoline() noexcept;

/// The state of a spawned coroutine. It is in its pool's list of owned tasks from its first real suspension
/// to its end, so that the pool can destroy it.
class coroutine_task : public future_state, owned_task {
  friend class wait_operation;

  // Every suspended coroutine has one: small fields first, behind those of the owned task.
  std::uint8_t ready_waits_ : 6 = 0;  ///< modulo 64
  std::uint8_t leaf_is_ours_ : 1 = 0; ///< its promise can be found
  child_count children_;              ///< that refer to its frames
  std::coroutine_handle<> leaf_;      ///< resumed next
  stop_scope* scope_ = &stop; ///< in force where it stands: its own, or that of a fork group that it awaits
  pinned_ptr<wait_operation> waits_on_; ///< in one of its frames

  void settle_in() noexcept;
  void flush() noexcept;
  void destroy_inner_frames() noexcept;

protected:
  coroutine_task(std::uint32_t holders, stop_link* around) noexcept
      : future_state(holders, around)
      , owned_task(static_cast<future_state&>(*this)) {}

  /// It begins even if it is stopped before: with this outermost coroutine.
  void begin_at(std::coroutine_handle<> outermost) noexcept { leaf_ = outermost; }
  /// Makes the outermost coroutine; null: that failed, and the result holds the exception.
  [[nodiscard]] virtual std::coroutine_handle<> begin(thread_context& runner) noexcept = 0;
  /// The outermost coroutine has ended, or is to be destroyed where it is suspended: takes its result, if
  /// there is one, and destroys the frame.
  virtual void end(bool finished) noexcept = 0;

public:
  void resume(thread_context& runner) noexcept override;
  /// For the running coroutine: the scope with which its waits and its children stop.
  [[nodiscard]] stop_scope& scope() const noexcept { return *scope_; }
  /// For the running coroutine: it was stopped, or its pool drains. A task that has never waited asks its
  /// pool.
  [[nodiscard]] bool is_stopped() noexcept {
    settle_in();
    return scope_->level() != stop_level::none;
  }
  /// The race that its outermost coroutine is in, if that was passed to when_any() directly.
  [[nodiscard]] virtual race_entry entry() const noexcept { return {}; }
  /// For the thread that runs it: from here on it stops with this scope, which is in one of its frames.
  void stops_with(stop_scope& s) noexcept;
  [[nodiscard]] bool has_begun() const noexcept override { return leaf_ != nullptr; }
  /// Destroys it at once, or, if children refer to its frames, asks them to stop and leaves that to the last
  /// of them.
  void drop() noexcept override;
  /// For the thread that runs it: n children refer to its frames from now on. They may have ended already.
  void children_begun(std::uint32_t n) noexcept { children_.begin(n); }
  /// A child does not refer to its frames any more. The caller has a reference, or keeps it from ending.
  /// True: it was to be dropped, and the caller destroys it.
  [[nodiscard]] bool child_ended() noexcept { return children_.end(); }
  /// Destroys it where it is suspended.
  void destroy() noexcept;
  [[nodiscard]] bool withdraw(owned_task const& as) noexcept override;

  /// For the thread that runs it, which is about to go on with a wait that need not wait. True, every 64th
  /// time: others want its worker.
  [[nodiscard]] bool has_used_its_turn() noexcept { return ++ready_waits_ == 0; }
  /// From await_suspend of such a wait: moves it behind all other ready tasks. False: its pool discards its
  /// tasks, and it goes on.
  [[nodiscard]] bool let_others_run(std::coroutine_handle<> h, bool is_ours) noexcept;

  /// From await_suspend of another library's awaitable: the coroutine to resume. A thread calls offer()
  /// later.
  void suspend_elsewhere(std::coroutine_handle<> h) noexcept;
  /// From await_suspend: moves it to the back of the queue, of another pool if `to` names one. Where a waiter
  /// has claimed it, it goes on in place of its old entry. Throws cancelled if that pool discards its tasks,
  /// or has ended.
  void requeue(std::coroutine_handle<> h, bool is_ours, pool_core* to);
};

/// The wait of a coroutine for an operation of Rubato, in its frame. It ends once: the operation completes, a
/// stop request ends it, or the pool's end withdraws it. Derived classes put themselves into a list.
class wait_operation : public own_awaitable, public stop_listener {
  coroutine_task* coroutine_ = nullptr;
  suspension state_;
  bool const structured_;

  void stop_requested() noexcept final;
  [[nodiscard]] bool stays_inserted() noexcept {
    return state_.settle([this] { return remove(); });
  }

protected:
  enum class ends : bool { early, with_children };
  /// with_children: a stop of the coroutine also ends what it waits for, so the wait ends by itself.
  explicit wait_operation(ends e = ends::early) noexcept
      : structured_(e == ends::with_children) {}
  ~wait_operation() = default;

  /// Puts it into its list. False: there is nothing to wait for. If true, the thread that takes it out of the
  /// list calls end_wait(), once.
  [[nodiscard]] virtual bool insert() = 0;
  /// Takes it out of its list. False: it is not in the list.
  [[nodiscard]] virtual bool remove() noexcept = 0;

  /// It was taken out, and the coroutine is about to resume. True: it did not get what it waits for, and is
  /// in its list again, as after insert().
  [[nodiscard]] virtual bool insert_again() noexcept { return false; }

  /// True: the coroutine is suspended, and may already run elsewhere. `is_ours`: its promise can be found.
  [[nodiscard]] bool suspend(std::coroutine_handle<> h, bool is_ours);
  /// After retire(), for a wait whose result does not show it: true if a stop request ended the wait.
  [[nodiscard]] bool was_stopped() const noexcept { return state_.was_stopped(); }
  [[nodiscard]] coroutine_task& coroutine() const noexcept { return *coroutine_; }

public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return suspend(h, P::template is_found_in<P>);
  }

  /// For the thread that has taken this out of its list: the wait is over. Resumes the coroutine on its pool,
  /// and does not touch this afterwards.
  void end_wait(made_ready_by cause = made_ready_by::task) noexcept;

  // For the coroutine task that waits.
  /// It is about to resume. True: it did not get what it waits for, and waits again.
  [[nodiscard]] bool wait_again() noexcept;
  /// Takes it out of its list, when no thread runs in the pool. False: it ends by itself, or has ended.
  [[nodiscard]] bool withdraw() noexcept {
    return !structured_ && state_.withdraw([this] { return remove(); });
  }
  /// From await_resume and from the derived class's destructor: when it returns, no other thread refers to
  /// this. True: a stop request has ended the wait.
  bool retire() noexcept;
  /// Of a wait without a result.
  void await_resume() noexcept { retire(); }
};

} // namespace rubato::detail
