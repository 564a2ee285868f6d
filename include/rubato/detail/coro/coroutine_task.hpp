// A coroutine that runs on a pool, with all coroutines that it awaits: one line of execution that is
// suspended and resumed as a whole. docs/design/coroutines.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/sync/child_count.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/sync/suspension.hpp"
#include "rubato/detail/work/future_state.hpp"

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class coroutine_task;
class forked_group;
class own_promise;
class wait_operation;

/// In place of the frame that goes on: the coroutine task's outermost coroutine has ended. No frame has this
/// address.
inline constexpr std::uintptr_t no_frame = 8;

/// What the thread's resumption loop, coroutine_task::resume(), does next. A coroutine calls the one that it
/// awaits, as a function, while there is room on the stack: see call_nested(). Beyond that, and whenever it
/// is suspended, it returns to the loop. docs/design/coroutines.md
struct trampoline {
  coroutine_task* running = nullptr; ///< null: no coroutine of Rubato runs here
  /// The frame that goes on when the present one returns: its caller goes on if it is that frame, else the
  /// loop resumes it. Null: the coroutine is suspended. Meaningless while a coroutine runs.
  void* next = nullptr;
  std::uintptr_t stack_end = ~std::uintptr_t{0}; ///< no nested call below this address
  /// The same for the fork of a group; the highest address if its members must not be latent.
  std::uintptr_t fork_stack_end = ~std::uintptr_t{0};

  [[nodiscard]] bool may_fork() const noexcept { return fork_stack_end == stack_end; }
};

// The calling thread's trampoline, for functions that no coroutine is suspended in.
#if defined(__clang__)
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] inline thread_local constinit trampoline own_trampoline;
#else // as `current` in thread_context.hpp
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] extern constinit thread_local trampoline own_trampoline;
#endif

/// The same for the bodies of coroutines. Not inline: a coroutine may run on another thread after each
/// suspension, and a compiler may keep the address of a thread-local across it.
[[nodiscard]] RUBATO_API trampoline& this_trampoline() noexcept;

/// An address in the frame of the calling function. Not of a local variable, which AddressSanitizer may put
/// elsewhere.
[[nodiscard, gnu::always_inline]] inline std::uintptr_t stack_position() noexcept {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

/// From await_suspend() of the coroutine `caller`: runs the other frame. True: that has ended, and the caller
/// goes on at once. False: the caller is suspended, and may already run elsewhere, or be gone. Clang before
/// 19 may inline await_suspend() into the coroutine, whose frame must not be used after the call.
#if defined(__clang__) && __clang_major__ < 19
[[nodiscard, gnu::noinline]]
#else
[[nodiscard, gnu::always_inline]]
#endif
inline bool call_nested(void* frame, void* caller) noexcept {
  trampoline& t = own_trampoline;
  if (stack_position() < t.stack_end) [[unlikely]] {
    t.next = frame;
    return false;
  }
  std::coroutine_handle<>::from_address(frame).resume();
  return t.next == caller;
}

/// What stops the waits and children of a running coroutine, in one word: a stop scope, or a forked group,
/// whose scope is built when a thread asks for it.
class RUBATO_API scope_word {
  static constexpr std::uintptr_t is_group = 1;
  std::uintptr_t word_;

  [[nodiscard]] stop_scope& scope_of_group() const noexcept;
  [[nodiscard]] stop_level level_of_group() const noexcept;

public:
  explicit scope_word(stop_scope& s) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&s)) {}
  [[gnu::always_inline]] explicit scope_word(forked_group& g) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(&g) | is_group) {}

  /// Null: it is a stop scope.
  [[nodiscard]] forked_group* group() const noexcept {
    return (word_ & is_group) != 0 ? reinterpret_cast<forked_group*>(word_ & ~is_group) : nullptr;
  }
  /// Builds it if need be. By any thread that keeps the coroutine from going on.
  [[nodiscard]] stop_scope& scope() const noexcept {
    return (word_ & is_group) == 0 ? *reinterpret_cast<stop_scope*>(word_) : scope_of_group();
  }
  /// Builds nothing.
  [[nodiscard]] stop_level level() const noexcept {
    return (word_ & is_group) == 0 ? reinterpret_cast<stop_scope*>(word_)->level() : level_of_group();
  }
};

/// The state of a spawned coroutine. It is in its pool's list of owned tasks from its first real suspension
/// to its end, so that the pool can destroy it.
class RUBATO_API coroutine_task : public future_state, owned_task {
  friend class wait_operation;

  // Every suspended coroutine has one: small fields first, behind those of the owned task.
  std::uint16_t ready_waits_ : 10 = 0;  ///< of this turn
  child_count children_;                ///< that refer to its frames
  std::coroutine_handle<> leaf_;        ///< resumed next
  relaxed<scope_word> in_force_;        ///< where it stands: its own scope, or that of a group that it awaits
  pinned_ptr<wait_operation> waits_on_; ///< in one of its frames

  static constexpr unsigned waits_between_looks = 64;

  [[nodiscard]] bool is_turn_over() noexcept;
  void settle_in() noexcept;
  [[nodiscard]] bool ends_with_pool() noexcept;
  void flush() noexcept;
  void destroy_inner_frames() noexcept;

protected:
  coroutine_task(std::uint32_t holders, stop_link* around) noexcept
      : future_state(holders, around)
      , owned_task(static_cast<future_state&>(*this))
      , in_force_(scope_word(stop)) {}

  enum class progress : unsigned char {
    suspended, ///< it may run elsewhere by now, and be gone
    not_begun,
    ended
  };
  /// Begins or resumes its coroutine.
  [[nodiscard]] progress run(thread_context& runner) noexcept;
  /// The coroutine has ended, or has not begun.
  void finish(progress p) noexcept;
  /// After run() has returned for the first time, for the only thread that knows it: prepares it for another
  /// outermost coroutine. False: the coroutine has left a trace in it, or another thread may refer to it.
  /// `holders`: the references of its own.
  [[nodiscard]] bool make_blank(std::uint32_t holders) noexcept;

  /// It begins even if it is stopped before: with this outermost coroutine.
  void begin_at(std::coroutine_handle<> outermost) noexcept { leaf_ = outermost; }
  /// Makes the outermost coroutine, which begins; null: that failed, and the result holds the exception.
  [[nodiscard]] virtual std::coroutine_handle<> begin(thread_context& runner) noexcept = 0;
  /// The outermost coroutine has ended, or was destroyed where it was suspended, or has not begun: takes its
  /// result, if there is one, and destroys what the coroutine needed.
  virtual void end(bool finished) noexcept = 0;

public:
  void resume(thread_context& runner) noexcept override;
  /// For the running coroutine: the scope with which its waits and its children stop.
  [[nodiscard]] stop_scope& scope() const noexcept { return in_force_.get().scope(); }
  [[nodiscard]] stop_scope& current_scope() noexcept override { return scope(); }
  /// The same by its word, for a group in one of its frames.
  [[nodiscard, gnu::always_inline]] scope_word in_force() const noexcept { return in_force_.get(); }
  [[gnu::always_inline]] void in_force(scope_word w) noexcept { in_force_.set(w); }
  /// The number of stop requests in the process at which the scope in force was clear.
  std::uint64_t clear_at = 0;
  /// For the running coroutine: it was stopped, or its pool ends. It asks the pool too, which tells its tasks
  /// one after another, and only those that have waited.
  [[nodiscard]] bool is_stopped() noexcept {
    return in_force().level() != stop_level::none || ends_with_pool();
  }
  /// The race that its outermost coroutine is in, if that was passed to when_any() directly.
  [[nodiscard]] virtual race_entry entry() const noexcept { return {}; }
  /// For the thread that runs it: from here on it stops with this scope, which is in one of its frames.
  void stops_with(stop_scope& s) noexcept {
    in_force_.set(scope_word(s));
    clear_at = 0;
  }
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
  [[nodiscard]] coroutine_task* as_coroutine() noexcept final { return this; }
  /// For any thread that keeps this from being destroyed: if it waits for something of Rubato's, calls
  /// f(its innermost frame, its wait), and keeps it from going on meanwhile. f takes no lock and allocates
  /// nothing. False: it runs, or is suspended otherwise.
  template<class F>
  [[nodiscard]] bool while_it_waits(F f) noexcept {
    return waits_on_.use([&](wait_operation& w) { return f(leaf_.address(), w), true; });
  }

  /// For the thread that runs it, which is about to go on with a wait that need not wait. True: others want
  /// its worker, because 20 us have passed since its first look, at the 64th such wait; it looks at every
  /// 64th. Or 1,024 have passed.
  [[nodiscard]] bool has_used_its_turn() noexcept {
    return ++ready_waits_ % waits_between_looks == 0 && is_turn_over();
  }
  /// From await_suspend of such a wait: moves it behind all other ready tasks. False: its pool discards its
  /// tasks, and it goes on.
  [[nodiscard]] bool let_others_run(std::coroutine_handle<> h) noexcept;

  /// From await_suspend of another library's awaitable: the coroutine to resume. A thread calls offer()
  /// later.
  void suspend_elsewhere(std::coroutine_handle<> h) noexcept;
  /// From await_suspend: moves it to the back of the queue, of another pool if `to` names one. Where a waiter
  /// has claimed it, it goes on in place of its old entry. Throws cancelled if that pool discards its tasks,
  /// or has ended.
  void requeue(std::coroutine_handle<> h, pool_core* to);
};

/// What a coroutine waits for, as far as its type does not tell it.
struct awaited_object {
  future_state* result = nullptr; ///< of this work
  /// This moment, at the latest.
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  int descriptor = -1;
};

/// The wait of a coroutine for an operation of Rubato, in its frame. It ends once: the operation completes, a
/// stop request ends it, or the pool's end withdraws it. Derived classes put themselves into a list.
class RUBATO_API wait_operation : public own_awaitable, public stop_listener {
  coroutine_task* coroutine_ = nullptr;
  suspension state_;
  bool const structured_;

  void stop_requested() noexcept final;
  bool leave_scope() noexcept; ///< it has been in suspend()
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

  /// True: the coroutine is suspended, and may already run elsewhere.
  [[nodiscard]] bool suspend(std::coroutine_handle<> h);
  /// After retire(), for a wait whose result does not show it: true if a stop request ended the wait.
  [[nodiscard]] bool was_stopped() const noexcept { return state_.was_stopped(); }
  [[nodiscard]] coroutine_task& coroutine() const noexcept { return *coroutine_; }

public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return suspend(h);
  }

  /// For the thread that has taken this out of its list: the wait is over. Resumes the coroutine on its pool,
  /// and does not touch this afterwards.
  void end_wait(made_ready_by cause = made_ready_by::task) noexcept;

  /// For a thread that keeps the coroutine from going on: what does not change while it waits.
  [[nodiscard]] virtual awaited_object awaited() const noexcept { return {}; }
  /// The wait is over. The coroutine is queued, or about to be.
  [[nodiscard]] bool is_over() const noexcept { return state_.is_over(); }

  // For the coroutine task that waits.
  /// It is about to resume. True: it did not get what it waits for, and waits again.
  [[nodiscard]] bool wait_again() noexcept;
  /// Takes it out of its list, when no thread runs in the pool. False: it ends by itself, or has ended.
  [[nodiscard]] bool withdraw() noexcept {
    return !structured_ && state_.withdraw([this] { return remove(); });
  }
  /// From await_resume and from the derived class's destructor: when it returns, no other thread refers to
  /// this. True: a stop request has ended the wait.
  bool retire() noexcept { return coroutine_ == nullptr ? state_.was_stopped() : leave_scope(); }
  /// Of a wait without a result.
  void await_resume() noexcept { retire(); }
};

} // namespace rubato::detail
