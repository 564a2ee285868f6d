// Who sits where, who sleeps, and who is woken: seats, parking and vacating are one protocol.
// docs/design/parking.md
//
// A seat without a thread is vacant, whether its worker sleeps for want of work or waits for something; both
// count as sleeping workers. A thread without a seat is idle (it sleeps and waits for one), homeless (it came
// back from a wait, found no seat and went on) or waiting. Everything but the two counters in state_ is
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

private:
  static constexpr std::uint64_t one_vacant = 1, one_searching = std::uint64_t{1} << 32U;
  // Low half: vacant seats. High half: seated threads that are awake and look for work, those just woken
  // included.
  alignas(64) typename Policy::template atomic<std::uint64_t> state_{0};
  typename Policy::template atomic<std::uint32_t> homeless_count_{0};
  alignas(64) basic_mutex<Policy> mutex_;
  roster_list<seat> vacant_;
  roster_list<thread> idle_;
  roster_list<thread> homeless_;

  static std::uint32_t vacant_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s); }
  static std::uint32_t searching_of(std::uint64_t s) noexcept { return static_cast<std::uint32_t>(s >> 32U); }

public:
  basic_mutex<Policy>& lock() noexcept { return mutex_; }

  // ---- Promise W: whoever has queued work asks this, after the push
  // ------------------------------------------

  /// Is a worker to be woken for work that has just been queued? Not if somebody looks for work already: a
  /// searcher looks again after it has announced that it will sleep, and the last one that finds something
  /// calls the next.
  [[nodiscard]] bool wants_wake() const noexcept {
    // seq_cst: pairs with the announcement in vacate(), because the push was seq_cst too (Dekker): either the
    // sleeper finds the work when it looks again, or it is seen here.
    std::uint64_t const s = state_.load(std::memory_order_seq_cst);
    return vacant_of(s) != 0 && searching_of(s) == 0;
  }
  [[nodiscard]] bool has_vacant() const noexcept {
    return vacant_of(state_.load(std::memory_order_relaxed)) != 0;
  }
  [[nodiscard]] std::size_t vacant() const noexcept {
    return vacant_of(state_.load(std::memory_order_relaxed));
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
  /// It has found some. True: it was the last one, and if more is queued the next must be called.
  [[nodiscard]] bool end_search() noexcept {
    // seq_cst: pairs with wants_wake(), because whoever pushed while we searched relied on us.
    std::uint64_t const s = state_.fetch_sub(one_searching, std::memory_order_seq_cst);
    return searching_of(s) == 1 && vacant_of(s) != 0;
  }

  /// Picks a vacant seat (the given one, if any) and who sits down on it, and wakes that thread if there is
  /// one. The called thread counts as searching. `always`: even if somebody searches already.
  [[nodiscard]] call summon(seat* wanted = nullptr, bool always = false) noexcept {
    call c;
    {
      std::lock_guard const guard(mutex_);
      if (!always && searching_of(state_.load(std::memory_order_relaxed)) != 0) return c;
      c.where = wanted != nullptr ? wanted : vacant_.front();
      if (c.where == nullptr || !c.where->vacant) return {};
      c.who = c.where->last != nullptr && c.where->last->idle ? c.where->last : idle_.front();
      take_seat(c.where, one_searching);
      if (c.who == nullptr) return c;
      idle_.erase(c.who);
      c.who->idle = false;
      assign(c.where, c.who);
    }
    c.who->parker.unpark();
    return c;
  }
  /// A thread was made for a call.
  void settle(call const& c, thread& made) noexcept {
    std::lock_guard const guard(mutex_);
    assign(c.where, &made);
  }
  /// None could be made.
  void give_up(call const& c) noexcept {
    std::lock_guard const guard(mutex_);
    c.where->occupant.store(nullptr, std::memory_order_relaxed);
    leave_seat(c.where, one_searching);
  }

  // ---- A thread's own transitions; the caller looks at the queues after each that leaves a seat vacant
  // --------

  /// Leaves the seat, if there is one. `idle`: waits for another seat, which summon() gives. `searching`:
  /// was. Returns the seat that was left.
  seat* vacate(thread& t, bool idle, bool searching = false) noexcept {
    std::lock_guard const guard(mutex_);
    seat* const s = t.place.load(std::memory_order_relaxed);
    forget_homeless(t);
    if (s != nullptr) {
      t.place.store(nullptr, std::memory_order_relaxed);
      s->occupant.store(nullptr, std::memory_order_relaxed);
      s->last = &t;
      leave_seat(s, searching ? one_searching : 0);
    } else if (searching) {
      state_.fetch_sub(one_searching, std::memory_order_seq_cst);
    }
    if (idle) {
      t.idle = true;
      idle_.push(&t);
    }
    return s;
  }

  /// Sits down: on `wanted` if it is vacant, else on any vacant seat. False: none; a `homeless` thread will
  /// be given the seat of the next worker that ends a task.
  bool sit(thread& t, seat* wanted, bool homeless) noexcept {
    std::lock_guard const guard(mutex_);
    if (t.idle) { // nobody has called it since it went idle
      t.idle = false;
      idle_.erase(&t);
    }
    seat* const s = wanted != nullptr && wanted->vacant ? wanted : vacant_.front();
    if (s != nullptr) {
      take_seat(s, 0);
      assign(s, &t);
      return true;
    }
    if (homeless) {
      t.homeless = true;
      homeless_.push(&t);
      homeless_count_.store(static_cast<std::uint32_t>(homeless_.size()), std::memory_order_relaxed);
    }
    return false;
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
    t.idle = true;
    idle_.push(&t);
    return true;
  }

  [[nodiscard]] bool has_idle() noexcept {
    std::lock_guard const guard(mutex_);
    return idle_.front() != nullptr;
  }

  /// An idle thread for something else than a seat; null: there is none. The caller wakes it.
  [[nodiscard]] thread* take_idle() noexcept {
    std::lock_guard const guard(mutex_);
    thread* const t = idle_.front();
    if (t == nullptr) return nullptr;
    t->idle = false;
    idle_.erase(t);
    return t;
  }

  /// No longer waits for a seat: neither idle nor homeless.
  void strike(thread& t) noexcept {
    std::lock_guard const guard(mutex_);
    forget_homeless(t);
    if (!t.idle) return;
    t.idle = false;
    idle_.erase(&t);
  }

  // ---- The pool's size
  // ---------------------------------------------------------------------------------------

  /// The seat may be used; it is vacant unless its occupant has not noticed that it was closed.
  void open(seat* s) noexcept {
    std::lock_guard const guard(mutex_);
    if (!s->closed.load(std::memory_order_relaxed)) return;
    s->closed.store(false, std::memory_order_relaxed); // relaxed, everywhere: an occupant's look is a hint
    if (s->occupant.load(std::memory_order_relaxed) == nullptr) leave_seat(s, 0);
  }
  /// Nobody may sit down any more. An occupant leaves at its next task boundary.
  void close(seat* s) noexcept {
    std::lock_guard const guard(mutex_);
    if (s->closed.load(std::memory_order_relaxed)) return;
    s->closed.store(true, std::memory_order_relaxed);
    if (s->vacant) take_seat(s, 0);
  }

  template<class F>
  void for_each_idle(F f) noexcept {
    std::lock_guard const guard(mutex_);
    for (thread* t = idle_.front(); t != nullptr; t = t->next) f(*t);
  }

private:
  void take_seat(seat* s, std::uint64_t plus) noexcept {
    vacant_.erase(s);
    s->vacant = false;
    // seq_cst, as every change of the state: it is what wants_wake() is ordered against.
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
    s->occupant.store(t, std::memory_order_relaxed);
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
