// The copies of one call of race() or hedge(), and the call's state. docs/design/hedging.md
//
// The state is counted. These have a reference: the caller; each thread on its way to a copy or in one; each
// armed timer. Which thread may touch what: see the table of that page.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/result.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sync/copies.hpp"
#include "rubato/detail/timer/timer.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/race_options.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

namespace rubato::detail {

class call_copies;

/// How the call ends, and where its first copy runs.
enum class call_kind : unsigned char {
  race,       ///< the caller runs the first copy; all copies are joined
  hedge,      ///< the caller waits; returns with the first result
  async_race, ///< no copy runs on the caller; all are joined
  async_hedge
};
[[nodiscard]] constexpr bool joins(call_kind k) noexcept {
  return k == call_kind::race || k == call_kind::async_race;
}

[[nodiscard]] constexpr bool is_async(call_kind k) noexcept {
  return k == call_kind::async_race || k == call_kind::async_hedge;
}

/// One copy. As a task, it is sent to a thread, or queued.
struct RUBATO_API call_copy final : task {
  call_copies* call = nullptr;
  std::uint32_t number = 0;
  copies::phase phase{copy_phase::not_due};
  int cpu = -1; ///< where it is to be pinned; -1: nowhere
  /// The coroutine that is this copy, if it is one: a reference, as an address. The sender puts it here, the
  /// decider puts `stopped` here, and the second of the two cancels the coroutine.
  std::atomic<std::uintptr_t> coroutine{none};
  static constexpr std::uintptr_t none = 0, stopped = 1;

  // For the report: written by the thread that runs it, before `told` says so (release, acquire).
  enum class tells : unsigned char { nothing, beginning, end };
  std::atomic<tells> told{tells::nothing};
  bool pinned = false, queued = false, on_caller = false, threw = false;
  int ran_on = -1;
  std::chrono::steady_clock::time_point began{}, ended{};

  /// The coroutine has been made: if its frame is destroyed, the copy ends. By the sender, before any other
  /// thread has the coroutine.
  bool in_frame = false;

  call_copy() noexcept;
  ~call_copy();
};

/// Fires at a point in time, for the call of which it is a part.
class RUBATO_API call_clock final : timer {
  enum class state : unsigned char { idle, armed, over };
  /// Held while the timer is armed or disarmed, so that these two exclude each other: the firer may arm it
  /// again, in another shard of the timers than the thread that armed it first.
  mutex changes_;
  state state_ RUBATO_GUARDED_BY(changes_) = state::idle;
  call_copies& call_;
  void (*rings_)(call_copies&) noexcept;
  void fire() noexcept override;

public:
  call_clock(call_copies& c, void (*rings)(call_copies&) noexcept) noexcept
      : call_(c)
      , rings_(rings) {}
  /// Until the clock has rung or was stopped, the call's pool is not idle, and the clock has a reference to
  /// the call. Only rings() may begin it again. After stop() this does nothing.
  void begin(std::chrono::steady_clock::time_point t) noexcept;
  /// By the thread that has decided the call, perhaps while another one begins it.
  void stop() noexcept;
};

/// The call without its types.
class RUBATO_API call_copies : public state_of<void> {
  friend call_clock;
  friend void conduct(call_copies& c, stop_scope* around, race_options const& o);

  std::chrono::nanoseconds const delay_; ///< between the beginnings of two copies; 0: all begin at once
  hedge_policy* const policy_;
  std::chrono::steady_clock::time_point const deadline_;
  bool const times_;           ///< the copies read the clock
  unsigned const asked_;       ///< race_options::runners()
  std::uint64_t const serial_; ///< of its pool, which a copy that has moved to another pool may outlive

protected:
  call_kind const kind_;
  std::uint32_t const count_; ///< copies

private:
  copies protocol_;
  std::unique_ptr<call_copy[]> const copies_;
  std::uint32_t next_ = 1; ///< the next delayed copy; by the thread that fires
  call_clock delays_, limit_;
  std::atomic<bool> half_ended_{false}; ///< of a race: the decider or the last copy is done
  struct bell final : task {
    call_copies* call;
    RUBATO_API explicit bell(call_copies& c) noexcept;
  } bell_{*this}; ///< the deadline has come

  static void send_next(call_copies& c) noexcept;
  static void ring(call_copies& c) noexcept;
  [[nodiscard]] bool send_bell() noexcept;
  static void run_bell(task& base, thread_context* runner) noexcept;
  void place(pool_core& core, race_options const& o);
  [[nodiscard]] bool send(call_copy& c) noexcept;
  void send_or_queue(call_copy& c) noexcept;
  void run_begun(call_copy& c, thread_context& me) noexcept;
  [[nodiscard]] bool has_workers() const noexcept;
  void await_delay() noexcept;
  void finish(copies::change c) noexcept;
  void stop_losers() noexcept;
  void count_stragglers(int n) noexcept;
  void record() noexcept;

protected:
  /// Calls the function, and fills the copy's slot. False: it threw.
  [[nodiscard]] virtual bool invoke(std::uint32_t which, thread_context& me) noexcept = 0;
  /// Destroys what is in the copy's slot.
  virtual void clear(std::uint32_t which) noexcept = 0;
  /// Moves the exception out of the copy's slot; empty: there is none.
  [[nodiscard]] virtual std::exception_ptr error_of(std::uint32_t which) noexcept = 0;
  /// Are the copies coroutines? Else they are sent to threads.
  [[nodiscard]] virtual bool makes_coroutines() const noexcept { return false; }
  /// Makes a coroutine of the copy, which has a reference to the call. Null: there was no memory for it, and
  /// the copy has ended.
  [[nodiscard]] virtual state_ref make_coroutine(call_copy& /*c*/) noexcept { return {}; }

  /// After the call has completed: the number of the winner. Throws what the call throws.
  [[nodiscard]] std::uint32_t winner();

public:
  /// `pins`: copies are pinned, if the options want it.
  call_copies(pool_core& core, call_kind k, race_options const& o, bool pins);
  ~call_copies() override;

  [[nodiscard]] bool is_work() const noexcept override { return false; } // its copies are
  [[nodiscard]] bool runs_to_end() const noexcept override { return true; }

  // By the caller
  /// Sends the copies that begin at once, except the first one of a race. False: the caller of this hedge is
  /// to run the first copy, because no other thread can be had.
  [[nodiscard]] bool start() noexcept;
  /// After the call has completed.
  void fill_report(race_options const& o) const;

  // By any thread that has a reference
  /// No copy wins any more.
  void stop_call() noexcept;
  /// Runs the copy, unless it was withdrawn.
  void run(call_copy& c, thread_context& me) noexcept;
  /// The same by the caller, which gets its affinity back.
  void run_first(thread_context& me) noexcept;
  static void run_copy(task& base, thread_context* runner) noexcept;

  /// The copy ends without having called the function: no thread runs it, or the pool discards it.
  void drop_copy(call_copy& c) noexcept;
  /// The same after begin().
  void drop_begun(call_copy& c) noexcept;

  // By the coroutine that is a copy
  /// False: it does not begin, and touches nothing.
  [[nodiscard]] bool begin(call_copy& c) noexcept;
  /// Right before the function is called.
  void note_begin(call_copy& c) noexcept;
  /// It has ended, with a value or an exception in its slot.
  void end(call_copy& c, bool has_value) noexcept;
};

/// While it lives, a stop of the scope around, or of the token in the options, stops the call. Stands in the
/// caller's frame, which has a reference to the call. The destructor stops a call that has not completed.
class RUBATO_API call_stops final : stop_listener {
  struct relay {
    call_copies* call;
    void operator()() const noexcept { call->stop_call(); }
  };
  call_copies& call_;
  stop_scope* around_;
  std::optional<std::stop_callback<relay>> outside_;

  void stop_requested() noexcept override { call_.stop_call(); }

public:
  /// Null: there is no scope around.
  call_stops(call_copies& c, stop_scope* around, race_options const& o);
  ~call_stops();
};

/// Starts the copies, and waits on the calling thread until the call has completed. A stop of the scope
/// `around`, if there is one, stops the call.
RUBATO_API void conduct(call_copies& c, stop_scope* around, race_options const& o);

/// The function of a call: kept by value, and then destroyed before the call if need be, or by reference.
template<class F>
class function_of_call : public until_called<F> {
public:
  using until_called<F>::until_called;
};
template<class F>
class function_of_call<F&> {
  F& f_;

public:
  explicit function_of_call(F& f) noexcept
      : f_(f) {}
  [[nodiscard]] F& get() noexcept { return f_; }
  void reset() noexcept {}
};

/// The call with its function and its results. `F` is a reference in a race: the function is borrowed.
template<class F>
class typed_call_copies : public call_copies {
protected:
  using callable = std::remove_reference_t<F> const;

public:
  using result = brought_t<callable&>;

protected:
  function_of_call<F> f_;
  std::unique_ptr<result_slot<result>[]> const slots_;

  [[nodiscard]] callable& function() noexcept { return f_.get(); }
  [[nodiscard]] bool invoke(std::uint32_t which, thread_context& me) noexcept override {
    slots_[which].fill([&]() -> decltype(auto) {
      if constexpr (std::is_void_v<result>)
        static_cast<void>(call_and_wait(me, function()));
      else
        return static_cast<result>(call_and_wait(me, function()));
    });
    return slots_[which].holds() == outcome::value;
  }
  void clear(std::uint32_t which) noexcept override { slots_[which].reset(); }
  [[nodiscard]] std::exception_ptr error_of(std::uint32_t which) noexcept override {
    return slots_[which].take_error();
  }

public:
  template<class G>
  typed_call_copies(pool_core& core, call_kind k, race_options const& o, bool pins, G&& f)
      : call_copies(core, k, o, pins)
      , f_(std::forward<G>(f))
      , slots_(std::make_unique<result_slot<result>[]>(count_)) {}

  /// Once, after the call has completed.
  result take() {
    struct cleared {
      typed_call_copies& self;
      ~cleared() { // a race's copies have ended: what is left must not outlive the caller's frame
        if (!joins(self.kind_)) return;
        for (std::uint32_t i = 0; i != self.count_; ++i) self.clear(i);
        self.f_.reset();
      }
    } const after{*this};
    return static_cast<result>(slots_[winner()].take());
  }
};

} // namespace rubato::detail
