// A coroutine that runs on a pool, with all that it awaits: one line of execution that is suspended and
// resumed as a whole. docs/design/coroutines.md
#pragma once

#include "rubato/detail/future_state.hpp"
#include "rubato/detail/resident.hpp"
#include "rubato/detail/watched.hpp"

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class activity;
class suspension;

/// What the calling thread's resumption loop does next. g++ 12 does not turn a transfer between coroutines
/// into a jump at -O0, nor does any compiler under a sanitizer; so a coroutine that passes control on stores
/// whom to resume, and returns to the loop.
struct trampoline {
  activity* running = nullptr;  ///< null: no coroutine of ours runs here
  std::coroutine_handle<> next; ///< resumed as soon as the present one returns to the loop
  bool finished = false;        ///< the activity's outermost coroutine has ended
  std::size_t mark = 0; ///< where the thread's chain stood: what lies above was forked by the activity
};

/// The calling thread's. Not inline: a coroutine may run on another thread after each suspension, and a
/// compiler may keep the address of a thread-local across it.
[[nodiscard]] trampoline& this_trampoline() noexcept;

/// The state of a coroutine that was spawned. In its pool's list of residents from its first real suspension
/// to its end, so that the pool can destroy it.
class activity : public future_state, resident {
  friend class suspension;

  friend class second_entry;
  static constexpr std::uint32_t to_be_dropped = 1, one_child = 2, dropped = 1U << 31U | to_be_dropped;

  // Every suspended coroutine has one: the small ones first, behind the resident's.
  std::uint32_t flushes_ : 31 = 0;
  std::uint32_t leaf_is_ours_ : 1 = 0; ///< its promise can be found
  /// That refer to its frames, twice, and whether it goes when they have.
  std::atomic<std::uint32_t> children_{0};
  /// Of its newest second entry, twice, and whether that stands for it: if its own was claimed and is left in
  /// another place.
  std::atomic<std::uint32_t> second_{0};
  std::coroutine_handle<> leaf_; ///< resumed next
  stop_scope* scope_ = &stop; ///< in force where it stands: its own, or that of tasks that it awaits together
  watched<suspension> waits_on_; ///< a part of its frames

  void settle_in() noexcept;
  [[nodiscard]] bool waits_again() noexcept;
  void flush() noexcept;
  void destroy_inner_frames() noexcept;

protected:
  explicit activity(std::uint32_t holders) noexcept
      : future_state(holders)
      , resident(static_cast<future_state&>(*this)) {}
  activity(std::uint32_t holders, stop_link& around) noexcept
      : future_state(holders, around)
      , resident(static_cast<future_state&>(*this)) {}

  /// Makes the coroutine that ends with the activity; null: that failed, and the result says so.
  [[nodiscard]] virtual std::coroutine_handle<> begin(member& runner) noexcept = 0;
  /// The outermost coroutine has ended, or is to be destroyed where it is suspended: takes its result over,
  /// if it has one, and destroys it.
  virtual void end(bool finished) noexcept = 0;

public:
  void resume(member& runner) noexcept override;
  /// What its waits, and what it begins, stop with: for the coroutine that runs.
  [[nodiscard]] stop_scope& scope() const noexcept { return *scope_; }
  /// By the thread that runs it: from here on it stops with that one, which is in a frame of its own.
  void stops_with(stop_scope& s) noexcept;
  [[nodiscard]] bool has_begun() const noexcept override { return leaf_ != nullptr; }
  /// At once, or, if children refer to its frames, when the last of them has ended; they are asked to stop.
  void drop() noexcept override;
  /// By the thread that runs it: so many refer to its frames from now on. They may have ended already.
  void children_begun(std::uint32_t n) noexcept {
    children_.fetch_add(n * one_child, std::memory_order_relaxed); // relaxed: queued or awaited afterwards
  }
  /// One of them refers to them no more. The caller holds this, or keeps it from ending. True: it was to be
  /// dropped, and the caller destroys it.
  [[nodiscard]] bool child_ended() noexcept;
  /// Where it is suspended: it never goes on.
  void destroy() noexcept;
  [[nodiscard]] bool withdraw(resident const& as) noexcept override;
  /// How often its latent tasks have been queued because it was suspended.
  [[nodiscard]] std::uint32_t flushes() const noexcept { return flushes_; }

  [[nodiscard]] task* second() noexcept override;
  [[nodiscard]] bool is_ready_elsewhere() const noexcept override {
    return (second_.load(std::memory_order_relaxed) & 1U) != 0;
  }
  [[nodiscard]] bool claim_elsewhere() noexcept override {
    // acquire: pairs with requeue().
    return (second_.fetch_and(~1U, std::memory_order_acquire) & 1U) != 0;
  }

  /// From await_suspend of what is not ours: what is resumed next, by somebody who calls offer().
  void suspend_elsewhere(std::coroutine_handle<> h) noexcept;
  /// From await_suspend: to the back of the queue; of another pool, if it says so. Throws cancelled if that
  /// discards what it has, or has ended.
  void requeue(std::coroutine_handle<> h, bool is_ours, pool_core* to);
};

/// A wait of a coroutine for one of our own things, in its frame. It ends once: by what it waits for, by a
/// stop request, or it is withdrawn at the pool's end. Derived classes put themselves into some list.
class suspension : public stop_listener {
  enum class phase : unsigned char { setting_up, suspended, over };
  activity* who_ = nullptr;
  std::atomic<phase> phase_{phase::setting_up};
  std::atomic<bool> stop_pending_{false};
  bool const structured_;
  bool stopped_ = false;

  void stop_requested() noexcept final;
  [[nodiscard]] bool stays_inserted() noexcept;

protected:
  enum class ends : bool { early, with_children };
  /// with_children: what it waits for ends when it is stopped, so that this ends by itself.
  explicit suspension(ends e = ends::early) noexcept
      : structured_(e == ends::with_children) {}
  ~suspension() = default;

  /// Puts it where it will be found. False: there is nothing to wait for. Afterwards, unless false, whoever
  /// removes it from there calls end_wait(), once.
  [[nodiscard]] virtual bool insert() = 0;
  /// Takes it out again. False: it is not there, or not any more.
  [[nodiscard]] virtual bool remove() noexcept = 0;

  /// It was taken out, and the coroutine is about to go on. True: it has not got what it waits for, and is in
  /// its place again, as after insert().
  [[nodiscard]] virtual bool insert_again() noexcept { return false; }

  /// From await_suspend: true if the coroutine is suspended now and may run elsewhere already.
  /// `is_ours`: its promise can be found.
  [[nodiscard]] bool suspend(std::coroutine_handle<> h, bool is_ours);
  template<class P>
  [[nodiscard]] bool suspend(std::coroutine_handle<P> h) {
    return suspend(h, P::template is_found_in<P>);
  }
  /// After retire(), for a wait whose result does not tell: a stop request has ended it.
  [[nodiscard]] bool was_stopped() const noexcept { return stopped_; }
  [[nodiscard]] activity& who() const noexcept { return *who_; }

public:
  /// What it waits for is there: resumes the coroutine on its pool. By whoever has taken this out of its
  /// list; nothing of it is touched afterwards.
  void end_wait() noexcept;

  // For the activity that waits.
  /// It is about to go on. True: it has not got what it waits for, and waits again.
  [[nodiscard]] bool waits_again() noexcept;
  /// Takes it away from what it waits for, when no thread runs in the pool. False: it ends by itself, or has
  /// ended.
  [[nodiscard]] bool withdraw() noexcept {
    // acquire: pairs with suspend(), which is over then.
    return !structured_ && phase_.load(std::memory_order_acquire) == phase::suspended && remove();
  }
  /// From await_resume and from the destructor of the derived class too: no other thread refers to this any
  /// more. True: a stop request has ended the wait.
  bool retire() noexcept;
};

} // namespace rubato::detail
