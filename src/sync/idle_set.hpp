// Which thread sits on which seat, which threads are idle, and which is woken: seats, parking and vacating
// are one protocol. docs/design/parking.md
//
// States of a seat: occupied; vacant, whether its worker is idle or waits; reserved, for a thread that is
// being made; closed, above the pool's size. A thread is seated; idle (it sleeps and waits for a seat);
// unseated (it came back from a wait, found no seat and went on); or waiting (it left its seat in a wait).
//
// Rules. mutex_ guards every transition between these states: each goes with a system call or an allocation
// anyway. Without it
// - state_ is read by any thread, and changed by begin_search() and end_search(), always seq_cst;
// - a seat's `occupant` and `closed` are read by any thread; `personal` never changes once the seat is known;
// - a thread's `place` is read by any thread, its `last_cpu` written by itself, its `parker` unparked by any;
// - unseated_count_ is read by any thread, as a hint.
// All else is read and written under mutex_ only.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"
#include "sync/parker.hpp"

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

template<class Policy>
struct basic_idle_set_thread;

/// The idle set's part of a seat.
template<class Policy>
struct basic_idle_set_seat : list_node<basic_idle_set_seat<Policy>> {
  bool vacant = false;                                 ///< in the list
  bool reserved = false;                               ///< kept for a thread that is being made
  bool personal = false;                               ///< for `last` alone, which drives
  typename Policy::template atomic<bool> closed{true}; ///< above the pool's size: no thread may sit down
  typename Policy::template atomic<basic_idle_set_thread<Policy>*> occupant{nullptr};
  basic_idle_set_thread<Policy>* last = nullptr; ///< the previous occupant: its cache is warm
};

/// The idle set's part of a thread.
template<class Policy>
struct basic_idle_set_thread : list_node<basic_idle_set_thread<Policy>> {
  using seat_type = basic_idle_set_seat<Policy>;
  basic_parker<Policy> parker;
  // Written under the lock; read by any thread without.
  typename Policy::template atomic<seat_type*> place{nullptr};
  bool idle = false, unseated = false;
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

template<class Policy>
class basic_idle_set {
public:
  using seat = basic_idle_set_seat<Policy>;
  using thread = basic_idle_set_thread<Policy>;
  /// A seat that wants a thread. Without `sleeper`, a thread has to be made; see settle() and give_up().
  struct call {
    seat* where = nullptr;
    thread* sleeper = nullptr;
    explicit operator bool() const noexcept { return where != nullptr; }
  };
  enum class want : unsigned char { none, worker, monitor };

private:
  static constexpr unsigned width = 21; // of a counter
  static constexpr std::uint64_t one_vacant = 1, one_searching = one_vacant << width,
                                 one_active = one_searching << width;
  // Three counters: vacant seats; seated threads that are awake and look for work, those just called
  // included; active threads: all but the idle ones and those outside, so those that search or wait too.
  alignas(64) typename Policy::template atomic<std::uint64_t> state_{0};
  typename Policy::template atomic<std::uint32_t> unseated_count_{0};
  alignas(64) basic_mutex<Policy> mutex_;
  intrusive_list<seat> vacant_ RUBATO_GUARDED_BY(mutex_);
  intrusive_list<thread> idle_ RUBATO_GUARDED_BY(mutex_);
  intrusive_list<thread> unseated_ RUBATO_GUARDED_BY(mutex_);
  void const* const pool_; // for the trace
  // The lengths of the lists.
  std::size_t vacant_count_ RUBATO_GUARDED_BY(mutex_) = 0;
  std::size_t idle_count_ RUBATO_GUARDED_BY(mutex_) = 0;

  /// The lock, for changes of the vacant seats: the trace learns whether any is left.
  class RUBATO_SCOPED_CAPABILITY seat_change {
    basic_idle_set& set_;
    bool had_vacant_;

  public:
    explicit seat_change(basic_idle_set& set) noexcept RUBATO_ACQUIRE(set.mutex_)
        : set_(set) {
      set.mutex_.lock();
      had_vacant_ = set.vacant_count_ != 0;
    }
    seat_change(seat_change const&) = delete;
    seat_change& operator=(seat_change const&) = delete;
    ~seat_change() RUBATO_RELEASE() RUBATO_NOT_ANALYSED { // the constructor has locked it
      bool const has_vacant = set_.vacant_count_ != 0, is_news = has_vacant != had_vacant_;
      void const* const pool = set_.pool_; // which may be gone as soon as the lock is released
      // The time under the lock orders the events. What writes them may take a lock of its own.
      std::uint64_t const at = is_news ? Policy::time_of_change() : 0;
      set_.mutex_.unlock();
      if (is_news) Policy::note_seats(pool, has_vacant, at);
    }
  };

  static std::uint32_t field(std::uint64_t s, std::uint64_t unit) noexcept {
    return static_cast<std::uint32_t>(s / unit) & ((1U << width) - 1);
  }
  static std::uint32_t vacant_of(std::uint64_t s) noexcept { return field(s, one_vacant); }
  static std::uint32_t searching_of(std::uint64_t s) noexcept { return field(s, one_searching); }
  static std::uint32_t active_of(std::uint64_t s) noexcept { return field(s, one_active); }
  /// No counter falls below zero by the subtraction, nor the active threads below those that search.
  static bool covers(std::uint64_t s, std::uint64_t minus) noexcept {
    return searching_of(s) >= searching_of(minus) && active_of(s) >= active_of(minus) &&
           searching_of(s - minus) <= active_of(s - minus);
  }
  static void check_subtraction(std::uint64_t before, std::uint64_t minus) noexcept {
    RUBATO_ASSERT(covers(before, minus), "the threads are counted wrongly", searching_of(before),
                  active_of(before), searching_of(minus), active_of(minus));
  }

public:
  explicit basic_idle_set(void const* pool = nullptr) noexcept
      : pool_(pool) {}

  // guarantee W: a thread that has queued work asks this, after the push

  /// Which thread is to be told of work that has just been queued? None while a thread searches: a searcher
  /// looks again after it has announced its sleep, and the last one that finds work asks this for the rest.
  [[nodiscard]] want wanted() const noexcept {
    // seq_cst: pairs with the announcement in vacate(), because the push was seq_cst too (Dekker): either the
    // sleeper finds the work when it looks again, or it is seen here.
    std::uint64_t const s = state_.load(std::memory_order_seq_cst);
    if (searching_of(s) != 0) return want::none;
    return vacant_of(s) != 0 ? want::worker : want::monitor;
  }
  [[nodiscard]] bool has_vacant() const noexcept {
    return vacant_of(state_.load(std::memory_order_relaxed)) != 0;
  }
  [[nodiscard]] std::size_t vacant() const noexcept {
    return vacant_of(state_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] std::size_t active() const noexcept {
    return active_of(state_.load(std::memory_order_seq_cst)); // seq_cst: see nudge_monitor()
  }
  /// Every active thread only searches. seq_cst: pairs with quiescence's `announcement`, because a thread
  /// that waits for this announces itself before it looks here.
  [[nodiscard]] bool no_thread_runs() const noexcept {
    std::uint64_t const s = state_.load(std::memory_order_seq_cst);
    return active_of(s) == searching_of(s);
  }
  [[nodiscard]] bool has_unseated() const noexcept {
    return unseated_count_.load(std::memory_order_relaxed) != 0; // a hint; step_down() looks under the lock
  }

  /// A seated thread begins to search. False: enough threads do.
  [[nodiscard]] bool begin_search(std::uint32_t most) noexcept {
    std::uint64_t s = state_.load(std::memory_order_relaxed);
    do {
      if (searching_of(s) >= most) return false;
    } while (!state_.compare_exchange_weak(s, s + one_searching, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
    RUBATO_ASSERT(searching_of(s) < active_of(s), "a thread searches that is not active", vacant_of(s),
                  searching_of(s), active_of(s));
    return true;
  }
  /// A searcher has found work. True: it was the last searcher, and must ask wanted() if there is more.
  [[nodiscard]] bool end_search() noexcept {
    // seq_cst: pairs with wanted(), because a thread that pushed during the search relied on the searcher.
    std::uint64_t const before = state_.fetch_sub(one_searching, std::memory_order_seq_cst);
    RUBATO_ASSERT(searching_of(before) != 0, "a search ends that has not begun", vacant_of(before),
                  searching_of(before), active_of(before));
    return searching_of(before) == 1;
  }

  /// Picks a vacant seat (the given one, if any) and an idle thread for it, and wakes that thread if there is
  /// one. The called thread counts as active and searching; one that has to be made counts as active only,
  /// since it may take its time. `always`: even if a worker searches already. `busy_cpu`: where the caller
  /// goes on running; a thread that ran elsewhere is preferred. `caller`: if it is idle, it is called itself,
  /// which costs no wake.
  [[nodiscard]] call unpark_for_seat(seat* wanted = nullptr, bool always = false, int busy_cpu = -1,
                                     thread* caller = nullptr) noexcept {
    call c;
    {
      seat_change const guard(*this);
      if (!always && searching_of(state_.load(std::memory_order_relaxed)) != 0) return c;
      c.where = wanted != nullptr && may_be_called(*wanted) ? wanted : nullptr;
      for (seat* s = wanted == nullptr ? vacant_.front() : nullptr; s != nullptr && c.where == nullptr;
           s = vacant_.after(*s))
        if (may_be_called(*s)) c.where = s;
      if (c.where == nullptr) return c;
      c.sleeper = c.where->last != nullptr && c.where->last->idle ? c.where->last : idle_.front();
      if (c.sleeper == nullptr) {
        take_seat(c.where, one_active);
        c.where->reserved = true;
        return c;
      }
      if (!c.where->personal)
        c.sleeper =
            caller != nullptr && caller->idle && !caller->active ? caller : cheapest(c.sleeper, busy_cpu);
      take_seat(c.where, one_searching + one_active);
      delist(*c.sleeper);
      c.sleeper->active = true;
      assign(c.where, c.sleeper);
    }
    if (c.sleeper != caller) c.sleeper->parker.unpark();
    return c;
  }
  /// The same for any vacant seat, but without an idle thread: one is to be made.
  [[nodiscard]] call claim() noexcept {
    seat_change const guard(*this);
    call c;
    c.where = free_seat();
    if (c.where != nullptr) {
      take_seat(c.where, one_active);
      c.where->reserved = true;
    }
    return c;
  }
  /// A thread is being made for a call.
  void settle(call const& c, thread& made) noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT(c.where->reserved && !c.where->vacant && !made.active,
                  "a thread is made for a seat that is not reserved", c.where->vacant, c.where->reserved,
                  made.active);
    c.where->reserved = false;
    made.active = true;
    assign(c.where, &made);
  }
  void unsettle(call const& c, thread& made) noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT(!c.where->reserved && !c.where->vacant && made.active && !made.idle,
                  "a seat is reserved again that was not given to the thread", c.where->vacant,
                  c.where->reserved, made.active, made.idle);
    c.where->reserved = true;
    c.where->occupant.store(nullptr, std::memory_order_relaxed);
    made.place.store(nullptr, std::memory_order_relaxed);
    made.active = false;
  }
  /// No thread could be made.
  void give_up(call const& c) noexcept {
    seat_change const guard(*this);
    RUBATO_ASSERT(c.where->reserved, "a seat is given up that is not reserved", c.where->vacant);
    c.where->reserved = false;
    leave_seat(c.where, one_active);
  }

  // A thread's own transitions. The caller looks at the queues after each that leaves a seat vacant.

  /// A thread from outside comes in and sits down if a seat is vacant; else it goes on without, and is given
  /// the seat of the next worker that ends a task or finds none.
  void enter(thread& t) noexcept {
    seat_change const guard(*this);
    activate(t);
    static_cast<void>(seat_or_list(t, free_seat()));
  }

  /// Leaves the seat, if there is one, and returns it. `searching`: the thread searched until now.
  seat* vacate(thread& t, leaving how, bool searching = false) noexcept {
    seat_change const guard(*this);
    seat* const s = t.place.load(std::memory_order_relaxed);
    forget_unseated(t);
    std::uint64_t minus = searching ? one_searching : 0;
    if (t.active && (how == leaving::to_rest || how == leaving::for_good)) {
      t.active = false;
      minus += one_active;
    }
    if (how == leaving::to_rest || how == leaving::to_drive) enlist(t);
    if (s != nullptr) {
      // relaxed, in all assertions: it changes under the lock.
      RUBATO_ASSERT(s->occupant.load(std::memory_order_relaxed) == &t, "a thread leaves the seat of another",
                    s->occupant.load(std::memory_order_relaxed), &t);
      t.place.store(nullptr, std::memory_order_relaxed);
      s->occupant.store(nullptr, std::memory_order_relaxed);
      s->last = &t;
      leave_seat(s, minus);
    } else if (minus != 0) {
      check_subtraction(state_.fetch_sub(minus, std::memory_order_seq_cst), minus);
    }
    return s;
  }

  /// Sits down: on `wanted` if it is vacant, else on any vacant seat. False: there is none; with `unseated`,
  /// the thread will be given the seat of the next worker that ends a task.
  bool sit(thread& t, seat* wanted, bool unseated) noexcept {
    seat_change const guard(*this);
    seat* const s = wanted != nullptr && wanted->vacant ? wanted : free_seat();
    if (s == nullptr && !unseated) return false;
    return seat_or_list(t, s);
  }

  /// At the end of a task: gives the seat to an unseated thread and goes idle. False: there is none.
  bool step_down(thread& t) noexcept {
    lock_guard const guard(mutex_);
    thread* const next = unseated_.front();
    if (next == nullptr) return false;
    forget_unseated(*next);
    seat* const s = t.place.load(std::memory_order_relaxed);
    RUBATO_ASSERT(s != nullptr && t.active && next->active && !next->idle,
                  "a seat is handed on that is not there, or to a thread that does not run", s, t.active,
                  next->active, next->idle);
    t.place.store(nullptr, std::memory_order_relaxed);
    assign(s, next);
    enlist(t);
    t.active = false;
    check_subtraction(state_.fetch_sub(one_active, std::memory_order_seq_cst), one_active);
    return true;
  }

  [[nodiscard]] bool has_idle() noexcept {
    lock_guard const guard(mutex_);
    return idle_.front() != nullptr;
  }

  /// Takes an idle thread for something other than a seat; null: there is none. It counts as active from here
  /// on, and the caller wakes it. `cpu`: a thread that ran there last is preferred.
  [[nodiscard]] thread* take_idle(int cpu = -1) noexcept {
    lock_guard const guard(mutex_);
    thread* t = idle_.front();
    while (t != nullptr && t->active) t = idle_.after(*t); // it drives
    if (t == nullptr) return nullptr;
    if (cpu >= 0) t = nearest(t, cpu);
    delist(*t);
    activate(*t);
    return t;
  }
  /// Counts a thread that was made for something other than a seat.
  void count_in(thread& t) noexcept {
    lock_guard const guard(mutex_);
    activate(t);
  }

  /// A driver leaves the idle list. If it was called meanwhile, what unpark_for_seat() counted is undone: the
  /// driver has been active all the time, and does not search.
  void stop_driving(thread& t) noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT(t.active, "a thread stops driving that is not active", t.idle);
    if (t.idle)
      delist(t);
    else if (t.place.load(std::memory_order_relaxed) != nullptr)
      check_subtraction(state_.fetch_sub(one_searching + one_active, std::memory_order_seq_cst),
                        one_searching + one_active);
  }

  /// A new thread, or one that was withdrawn, waits to be called. The caller looks at the queues.
  void await_call(thread& t) noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT(!t.active, "an active thread waits to be called", t.idle);
    enlist(t);
  }
  enum class withdrawal : unsigned char { done, called, needed };
  /// An idle thread is not to be called any more, unless it was already, or, with `if_spare`, there is a
  /// vacant seat for each idle thread.
  withdrawal withdraw(thread& t, bool if_spare = false) noexcept {
    lock_guard const guard(mutex_);
    if (t.active) return withdrawal::called;
    if (if_spare && idle_count_ <= vacant_count_) return withdrawal::needed;
    if (t.idle) delist(t);
    return withdrawal::done;
  }
  /// Wakes an idle thread for which no seat is vacant, if there is one: it may be withdrawn now. A thread
  /// that was needed is one, if another one was called to the seat.
  void unpark_spare() noexcept {
    lock_guard const guard(mutex_);
    if (idle_count_ <= vacant_count_) return;
    thread* t = idle_.front();
    while (t != nullptr && t->active) t = idle_.after(*t); // active: it drives
    if (t != nullptr) t->parker.unpark();
  }

  // The pool's size

  /// The seat may be used; it is vacant unless its occupant has not noticed that it was closed.
  void open(seat* s) noexcept {
    seat_change const guard(*this);
    if (!s->closed.load(std::memory_order_relaxed)) return;
    s->closed.store(false, std::memory_order_relaxed); // relaxed, everywhere: an occupant's look is a hint
    if (s->occupant.load(std::memory_order_relaxed) == nullptr && !s->reserved) leave_seat(s, 0);
  }
  /// No thread may sit down any more. An occupant leaves at its next task boundary.
  void close(seat* s) noexcept {
    lock_guard const guard(mutex_); // no seat_change: no thread has taken it
    if (s->closed.load(std::memory_order_relaxed)) return;
    s->closed.store(true, std::memory_order_relaxed);
    if (s->vacant) take_seat(s, 0);
  }

  template<class F>
  void for_each_idle(F f) noexcept {
    lock_guard const guard(mutex_);
    idle_.for_each(f);
  }

private:
  static bool may_be_called(seat const& s) noexcept {
    return s.vacant && (!s.personal || (s.last != nullptr && s.last->idle));
  }
  /// The kernel may put a woken thread on the CPU where it ran last, behind the waker, for milliseconds. And
  /// a thread that sleeps among the kernel's events had better stay there.
  [[nodiscard]] static unsigned cost(thread const& t, int busy_cpu) noexcept {
    bool const behind = busy_cpu >= 0 && t.last_cpu.load(std::memory_order_relaxed) == busy_cpu;
    return (t.parker.polls() ? 2U : 0U) + (behind ? 1U : 0U);
  }
  /// The given idle thread, unless another one is cheaper to call.
  [[nodiscard]] thread* cheapest(thread* t, int busy_cpu) const noexcept RUBATO_REQUIRES(mutex_) {
    constexpr unsigned most = 8;
    unsigned least = cost(*t, busy_cpu);
    if (least == 0 || t->active) return t;
    thread* other = idle_.front();
    for (unsigned i = 0; i != most && other != nullptr; ++i, other = idle_.after(*other))
      if (unsigned const c = cost(*other, busy_cpu); !other->active && c < least) t = other, least = c;
    return t;
  }
  /// The given idle thread, unless another one ran last on that CPU.
  [[nodiscard]] thread* nearest(thread* t, int cpu) const noexcept RUBATO_REQUIRES(mutex_) {
    constexpr unsigned most = 8;
    thread* other = t;
    for (unsigned i = 0; i != most && other != nullptr; ++i, other = idle_.after(*other))
      if (!other->active && other->last_cpu.load(std::memory_order_relaxed) == cpu) return other;
    return t;
  }
  [[nodiscard]] seat* free_seat() const noexcept RUBATO_REQUIRES(mutex_) {
    seat* s = vacant_.front();
    while (s != nullptr && s->personal) s = vacant_.after(*s);
    return s;
  }
  bool seat_or_list(thread& t, seat* s) noexcept RUBATO_REQUIRES(mutex_) {
    RUBATO_ASSERT(t.place.load(std::memory_order_relaxed) == nullptr && !t.idle && !t.unseated,
                  "a thread sits down that has a seat, or sleeps, or is in the list",
                  t.place.load(std::memory_order_relaxed), t.idle, t.unseated);
    if (s != nullptr) {
      take_seat(s, 0);
      assign(s, &t);
      return true;
    }
    t.unseated = true;
    unseated_.push_front(t);
    unseated_count_.store(unseated_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return false;
  }
  void enlist(thread& t) noexcept RUBATO_REQUIRES(mutex_) {
    RUBATO_ASSERT(!t.idle && !t.unseated, "a thread goes idle that is in a list", t.idle, t.unseated);
    t.idle = true;
    idle_.push_front(t);
    ++idle_count_;
  }
  void delist(thread& t) noexcept RUBATO_REQUIRES(mutex_) {
    RUBATO_ASSERT(t.idle && idle_count_ != 0, "a thread leaves the idle ones and is not one of them", t.idle,
                  idle_count_);
    t.idle = false;
    idle_.erase(t);
    --idle_count_;
  }
  void activate(thread& t) noexcept {
    RUBATO_ASSERT(!t.active && !t.idle, "a thread is counted as active twice", t.active, t.idle);
    t.active = true;
    state_.fetch_add(one_active, std::memory_order_seq_cst);
  }
  void take_seat(seat* s, std::uint64_t plus) noexcept RUBATO_REQUIRES(mutex_) {
    RUBATO_ASSERT(s->vacant && !s->reserved && vacant_count_ != 0, "a seat is taken that is not vacant",
                  s->vacant, s->reserved, vacant_count_);
    vacant_.erase(*s);
    --vacant_count_;
    s->vacant = false;
    // seq_cst, as every change of state_: pairs with wanted().
    std::uint64_t const before = state_.fetch_add(plus - one_vacant, std::memory_order_seq_cst);
    RUBATO_ASSERT(vacant_of(before) == vacant_count_ + 1, "the vacant seats are counted wrongly",
                  vacant_of(before), vacant_count_);
  }
  void leave_seat(seat* s, std::uint64_t minus) noexcept RUBATO_REQUIRES(mutex_) {
    RUBATO_ASSERT(!s->vacant && !s->reserved, "a seat is left that is vacant", s->vacant, s->reserved);
    if (s->closed.load(std::memory_order_relaxed)) {
      if (minus != 0) check_subtraction(state_.fetch_sub(minus, std::memory_order_seq_cst), minus);
      return;
    }
    s->vacant = true;
    vacant_.push_front(*s);
    ++vacant_count_;
    std::uint64_t const before = state_.fetch_add(one_vacant - minus, std::memory_order_seq_cst);
    RUBATO_ASSERT(vacant_of(before) + 1 == vacant_count_ && covers(before, minus),
                  "the threads or the vacant seats are counted wrongly", vacant_of(before), vacant_count_,
                  searching_of(before), active_of(before), searching_of(minus), active_of(minus));
  }
  void assign(seat* s, thread* t) noexcept {
    // release: pairs with the monitor's look_at_seat() and any_hidden(), which follow the pointer to a record
    // that may be new.
    s->occupant.store(t, std::memory_order_release);
    // release: pairs with pool_thread::sits_on(), because an idle thread finds its seat there.
    t->place.store(s, std::memory_order_release);
  }
  void forget_unseated(thread& t) noexcept RUBATO_REQUIRES(mutex_) {
    if (!t.unseated) return;
    t.unseated = false;
    unseated_.erase(t);
    std::uint32_t const before = unseated_count_.load(std::memory_order_relaxed);
    RUBATO_ASSERT(before != 0, "the unseated threads are counted wrongly", before);
    unseated_count_.store(before - 1, std::memory_order_relaxed);
  }
};

using idle_set = basic_idle_set<std_policy>;
using idle_set_seat = basic_idle_set_seat<std_policy>;
using idle_set_thread = basic_idle_set_thread<std_policy>;

} // namespace rubato::detail
