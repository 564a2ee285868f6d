// Who sits where, who sleeps, and who is woken: seats, parking and vacating are one protocol.
// docs/design/parking.md
//
// A seat without a thread is vacant, whether its worker sleeps for want of work or waits for something; both
// count as sleeping workers. A thread without a seat is idle (it sleeps and waits for one), homeless (it came
// back from a wait, found no seat and went on) or waiting. Everything but the three counters in state_ is
// guarded by one lock: each transition goes with a system call or an allocation anyway.
#pragma once

#include "rubato/detail/mutex.hpp"
#include "rubato/detail/policy.hpp"
#include "sync/parker.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rubato::detail {

template<class Policy>
struct basic_roster_thread;

/// The roster's part of a seat.
template<class Policy>
struct basic_roster_seat {
  basic_roster_seat* next = nullptr; // in the list of vacant seats, with the one below
  basic_roster_seat* previous = nullptr;
  bool vacant = false;                                 ///< in the list
  bool promised = false;                               ///< to a thread that is being made
  bool personal = false;                               ///< for nobody but `last`
  typename Policy::template atomic<bool> closed{true}; ///< above the pool's size: nobody may sit down
  typename Policy::template atomic<basic_roster_thread<Policy>*> occupant{nullptr};
  basic_roster_thread<Policy>* last = nullptr; ///< who sat here before: its cache is warm
};

/// The roster's part of a thread.
template<class Policy>
struct basic_roster_thread {
  using seat_type = basic_roster_seat<Policy>;
  basic_parker<Policy> parker;
  // Written under the lock; read by its own thread without.
  typename Policy::template atomic<seat_type*> place{nullptr};
  basic_roster_thread* next = nullptr; // in the list of idle or of homeless threads, with the one below
  basic_roster_thread* previous = nullptr;
  bool idle = false, homeless = false;
  bool active = false; ///< counted as such
  /// Where it ran when it went to sleep, -1: unknown. A hint: relaxed, and written without the lock.
  typename Policy::template atomic<int> last_cpu{-1};
};

/// What becomes of a thread that leaves its seat.
enum class leaving : unsigned char {
  to_wait,  ///< in the middle of a task: stays active
  to_drive, ///< the same, and sleeps until called to a seat: it drives a pool without workers
  to_rest,  ///< sleeps until called
  for_good,
};

/// An intrusive list: first out is the newest. Elements can be taken from the middle.
template<class T>
class roster_list {
  T* head_ = nullptr;
  std::size_t size_ = 0;

public:
  [[nodiscard]] T* front() const noexcept { return head_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void push(T* t) noexcept {
    t->previous = nullptr;
    t->next = head_;
    if (head_ != nullptr) head_->previous = t;
    head_ = t;
    ++size_;
  }
  void erase(T* t) noexcept {
    (t->previous != nullptr ? t->previous->next : head_) = t->next;
    if (t->next != nullptr) t->next->previous = t->previous;
    --size_;
  }
};

template<class Policy>
class basic_roster {
public:
  using seat = basic_roster_seat<Policy>;
  using thread = basic_roster_thread<Policy>;
  /// A seat that wants a thread. Without `who`, a thread has to be made; see settle() and give_up().
  struct call {
    seat* where = nullptr;
    thread* who = nullptr;
    explicit operator bool() const noexcept { return where != nullptr; }
  };
  enum class want : unsigned char { nobody, worker, watch };

private:
  static constexpr unsigned width = 21; // of a counter
  static constexpr std::uint64_t one_vacant = 1, one_searching = one_vacant << width,
                                 one_active = one_searching << width;
  // Three counters: vacant seats; seated threads that are awake and look for work, those just called
  // included; active threads: all but the idle ones and those outside, so those that search or wait too.
  alignas(64) typename Policy::template atomic<std::uint64_t> state_{0};
  typename Policy::template atomic<std::uint32_t> homeless_count_{0};
  alignas(64) basic_mutex<Policy> mutex_;
  roster_list<seat> vacant_;
  roster_list<thread> idle_;
  roster_list<thread> homeless_;

  static std::uint32_t field(std::uint64_t s, std::uint64_t unit) noexcept {
    return static_cast<std::uint32_t>(s / unit) & ((1U << width) - 1);
  }
  static std::uint32_t vacant_of(std::uint64_t s) noexcept { return field(s, one_vacant); }
  static std::uint32_t searching_of(std::uint64_t s) noexcept { return field(s, one_searching); }
  static std::uint32_t active_of(std::uint64_t s) noexcept { return field(s, one_active); }

public:
  // Promise W: whoever has queued work asks this, after the push

  /// Who is to be told of work that has just been queued? Nobody if somebody looks for work already: a
  /// searcher looks again after it has announced that it will sleep, and the last one that finds something
  /// asks this for what is left.
  [[nodiscard]] want wanted() const noexcept {
    // seq_cst: pairs with the announcement in vacate(), because the push was seq_cst too (Dekker): either the
    // sleeper finds the work when it looks again, or it is seen here.
    std::uint64_t const s = state_.load(std::memory_order_seq_cst);
    if (searching_of(s) != 0) return want::nobody;
    return vacant_of(s) != 0 ? want::worker : want::watch;
  }
  [[nodiscard]] bool has_vacant() const noexcept {
    return vacant_of(state_.load(std::memory_order_relaxed)) != 0;
  }
  [[nodiscard]] std::size_t vacant() const noexcept {
    return vacant_of(state_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t active() const noexcept {
    return active_of(state_.load(std::memory_order_seq_cst)); // seq_cst: see nudge_watch()
  }
  /// Every active thread only looks for work. seq_cst: pairs with the counter of those that wait for this,
  /// which they change before they look here.
  [[nodiscard]] bool nobody_runs() const noexcept {
    std::uint64_t const s = state_.load(std::memory_order_seq_cst);
    return active_of(s) == searching_of(s);
  }
  [[nodiscard]] bool has_homeless() const noexcept {
    return homeless_count_.load(std::memory_order_relaxed) != 0; // a hint; step_down() looks under the lock
  }

  /// A seated thread begins to look for work; false: enough do.
  [[nodiscard]] bool begin_search(std::uint32_t most) noexcept {
    std::uint64_t s = state_.load(std::memory_order_relaxed);
    do {
      if (searching_of(s) >= most) return false;
    } while (!state_.compare_exchange_weak(s, s + one_searching, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
    return true;
  }
  /// It has found some. True: it was the last one, and must ask wanted() if there is more.
  [[nodiscard]] bool end_search() noexcept {
    // seq_cst: pairs with wanted(), because whoever pushed while we searched relied on us.
    return searching_of(state_.fetch_sub(one_searching, std::memory_order_seq_cst)) == 1;
  }

  /// Picks a vacant seat (the given one, if any) and who sits down on it, and wakes that thread if there is
  /// one. The called thread counts as active and searching; one that has to be made counts as active only,
  /// since it may take its time. `always`: even if a worker searches already. `busy_cpu`: where the caller
  /// runs, and goes on; rather a thread that ran elsewhere is woken.
  [[nodiscard]] call summon(seat* wanted = nullptr, bool always = false, int busy_cpu = -1) noexcept {
    call c;
    {
      std::lock_guard const guard(mutex_);
      if (!always && searching_of(state_.load(std::memory_order_relaxed)) != 0) return c;
      c.where = wanted != nullptr && may_be_called(*wanted) ? wanted : nullptr;
      for (seat* s = wanted == nullptr ? vacant_.front() : nullptr; s != nullptr && c.where == nullptr;
           s = s->next)
        if (may_be_called(*s)) c.where = s;
      if (c.where == nullptr) return c;
      c.who = c.where->last != nullptr && c.where->last->idle ? c.where->last : idle_.front();
      if (c.who == nullptr) {
        take_seat(c.where, one_active);
        c.where->promised = true;
        return c;
      }
      if (busy_cpu >= 0) c.who = idle_elsewhere(c.who, busy_cpu);
      take_seat(c.where, one_searching + one_active);
      delist(*c.who);
      c.who->active = true;
      assign(c.where, c.who);
    }
    c.who->parker.unpark();
    return c;
  }
  /// The same for any vacant seat, but without anybody: a thread is to be made.
  [[nodiscard]] call claim() noexcept {
    std::lock_guard const guard(mutex_);
    call c;
    c.where = free_seat();
    if (c.where != nullptr) {
      take_seat(c.where, one_active);
      c.where->promised = true;
    }
    return c;
  }
  /// A thread is being made for a call.
  void settle(call const& c, thread& made) noexcept {
    std::lock_guard const guard(mutex_);
    c.where->promised = false;
    made.active = true;
    assign(c.where, &made);
  }
  void unsettle(call const& c, thread& made) noexcept {
    std::lock_guard const guard(mutex_);
    c.where->promised = true;
    c.where->occupant.store(nullptr, std::memory_order_relaxed);
    made.place.store(nullptr, std::memory_order_relaxed);
    made.active = false;
  }
  /// None could be made.
  void give_up(call const& c) noexcept {
    std::lock_guard const guard(mutex_);
    c.where->promised = false;
    leave_seat(c.where, one_active);
  }

  // A thread's own transitions. The caller looks at the queues after each that leaves a seat vacant.

  /// A thread from outside comes in and sits down if a seat is vacant; else it goes on without, and is given
  /// the seat of the next worker that ends a task or finds none.
  void enter(thread& t) noexcept {
    std::lock_guard const guard(mutex_);
    activate(t);
    static_cast<void>(seat_or_list(t, free_seat()));
  }

  /// Leaves the seat, if there is one, and returns it. `searching`: did so until now.
  seat* vacate(thread& t, leaving how, bool searching = false) noexcept {
    std::lock_guard const guard(mutex_);
    seat* const s = t.place.load(std::memory_order_relaxed);
    forget_homeless(t);
    std::uint64_t minus = searching ? one_searching : 0;
    if (t.active && (how == leaving::to_rest || how == leaving::for_good)) {
      t.active = false;
      minus += one_active;
    }
    if (how == leaving::to_rest || how == leaving::to_drive) enlist(t);
    if (s != nullptr) {
      t.place.store(nullptr, std::memory_order_relaxed);
      s->occupant.store(nullptr, std::memory_order_relaxed);
      s->last = &t;
      leave_seat(s, minus);
    } else if (minus != 0) {
      state_.fetch_sub(minus, std::memory_order_seq_cst);
    }
    return s;
  }

  /// Sits down: on `wanted` if it is vacant, else on any vacant seat. False: none; a `homeless` thread will
  /// be given the seat of the next worker that ends a task.
  bool sit(thread& t, seat* wanted, bool homeless) noexcept {
    std::lock_guard const guard(mutex_);
    seat* const s = wanted != nullptr && wanted->vacant ? wanted : free_seat();
    if (s == nullptr && !homeless) return false;
    return seat_or_list(t, s);
  }

  /// At the end of a task: gives the seat to a homeless thread and goes idle. False: there is none.
  bool step_down(thread& t) noexcept {
    std::lock_guard const guard(mutex_);
    thread* const heir = homeless_.front();
    if (heir == nullptr) return false;
    forget_homeless(*heir);
    seat* const s = t.place.load(std::memory_order_relaxed);
    t.place.store(nullptr, std::memory_order_relaxed);
    assign(s, heir);
    enlist(t);
    t.active = false;
    state_.fetch_sub(one_active, std::memory_order_seq_cst);
    return true;
  }

  [[nodiscard]] bool has_idle() noexcept {
    std::lock_guard const guard(mutex_);
    return idle_.front() != nullptr;
  }

  /// A thread that rests, for something else than a seat; null: there is none. It counts as active from here
  /// on, and the caller wakes it.
  [[nodiscard]] thread* take_idle() noexcept {
    std::lock_guard const guard(mutex_);
    thread* t = idle_.front();
    while (t != nullptr && t->active) t = t->next; // it drives
    if (t == nullptr) return nullptr;
    delist(*t);
    activate(*t);
    return t;
  }
  /// A thread that was made for something else than a seat.
  void count_in(thread& t) noexcept {
    std::lock_guard const guard(mutex_);
    activate(t);
  }

  /// A thread that drives gives up being called: if it was, it is active anyway, and searches no more than
  /// before.
  void stop_driving(thread& t) noexcept {
    std::lock_guard const guard(mutex_);
    if (t.idle)
      delist(t);
    else if (t.place.load(std::memory_order_relaxed) != nullptr)
      state_.fetch_sub(one_searching + one_active, std::memory_order_seq_cst);
  }

  /// A new thread, or one that was struck from the list, waits to be called. The caller looks at the queues.
  void await_call(thread& t) noexcept {
    std::lock_guard const guard(mutex_);
    enlist(t);
  }
  enum class struck : unsigned char { yes, called, needed };
  /// A resting thread is not to be called any more: unless it was already, or `if_spare` and there is a
  /// vacant seat for each idle thread.
  struck strike(thread& t, bool if_spare = false) noexcept {
    std::lock_guard const guard(mutex_);
    if (t.active) return struck::called;
    if (if_spare && idle_.size() <= vacant_.size()) return struck::needed;
    if (t.idle) delist(t);
    return struck::yes;
  }

  // The pool's size

  /// The seat may be used; it is vacant unless its occupant has not noticed that it was closed.
  void open(seat* s) noexcept {
    std::lock_guard const guard(mutex_);
    if (!s->closed.load(std::memory_order_relaxed)) return;
    s->closed.store(false, std::memory_order_relaxed); // relaxed, everywhere: an occupant's look is a hint
    if (s->occupant.load(std::memory_order_relaxed) == nullptr && !s->promised) leave_seat(s, 0);
  }
  /// Nobody may sit down any more. An occupant leaves at its next task boundary.
  void close(seat* s) noexcept {
    std::lock_guard const guard(mutex_);
    if (s->closed.load(std::memory_order_relaxed)) return;
    s->closed.store(true, std::memory_order_relaxed);
    if (s->vacant) take_seat(s, 0);
  }

  [[nodiscard]] bool is_active(thread const& t) noexcept {
    std::lock_guard const guard(mutex_);
    return t.active;
  }

  template<class F>
  void for_each_idle(F f) noexcept {
    std::lock_guard const guard(mutex_);
    for (thread* t = idle_.front(); t != nullptr; t = t->next) f(*t);
  }

private:
  static bool may_be_called(seat const& s) noexcept {
    return s.vacant && (!s.personal || (s.last != nullptr && s.last->idle));
  }
  /// The system may put a thread that it wakes where that ran before, behind the waker: for milliseconds.
  [[nodiscard]] thread* idle_elsewhere(thread* t, int busy_cpu) const noexcept {
    constexpr unsigned most = 8;
    thread* other = idle_.front();
    if (t->last_cpu.load(std::memory_order_relaxed) != busy_cpu || t->active) return t;
    for (unsigned i = 0; i != most && other != nullptr; ++i, other = other->next)
      if (!other->active && other->last_cpu.load(std::memory_order_relaxed) != busy_cpu) return other;
    return t;
  }
  [[nodiscard]] seat* free_seat() const noexcept {
    seat* s = vacant_.front();
    while (s != nullptr && s->personal) s = s->next;
    return s;
  }
  bool seat_or_list(thread& t, seat* s) noexcept {
    if (s != nullptr) {
      take_seat(s, 0);
      assign(s, &t);
      return true;
    }
    t.homeless = true;
    homeless_.push(&t);
    homeless_count_.store(static_cast<std::uint32_t>(homeless_.size()), std::memory_order_relaxed);
    return false;
  }
  void enlist(thread& t) noexcept {
    t.idle = true;
    idle_.push(&t);
  }
  void delist(thread& t) noexcept {
    t.idle = false;
    idle_.erase(&t);
  }
  void activate(thread& t) noexcept {
    t.active = true;
    state_.fetch_add(one_active, std::memory_order_seq_cst);
  }
  void take_seat(seat* s, std::uint64_t plus) noexcept {
    vacant_.erase(s);
    s->vacant = false;
    // seq_cst, as every change of the state: it is what wanted() is ordered against.
    state_.fetch_add(plus - one_vacant, std::memory_order_seq_cst);
  }
  void leave_seat(seat* s, std::uint64_t minus) noexcept {
    if (s->closed.load(std::memory_order_relaxed)) {
      if (minus != 0) state_.fetch_sub(minus, std::memory_order_seq_cst);
      return;
    }
    s->vacant = true;
    vacant_.push(s);
    state_.fetch_add(one_vacant - minus, std::memory_order_seq_cst);
  }
  void assign(seat* s, thread* t) noexcept {
    // release: pairs with the monitor, which follows it to the record of a thread that was made just now.
    s->occupant.store(t, std::memory_order_release);
    // release: pairs with the acquire of an idle thread that finds its seat here.
    t->place.store(s, std::memory_order_release);
  }
  void forget_homeless(thread& t) noexcept {
    if (!t.homeless) return;
    t.homeless = false;
    homeless_.erase(&t);
    homeless_count_.store(static_cast<std::uint32_t>(homeless_.size()), std::memory_order_relaxed);
  }
};

using roster = basic_roster<std_policy>;
using roster_seat = basic_roster_seat<std_policy>;
using roster_thread = basic_roster_thread<std_policy>;

} // namespace rubato::detail
