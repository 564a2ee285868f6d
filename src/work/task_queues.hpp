// The queues of a pool: one through which work enters from outside, one for what an event of the kernel or a
// deadline has made ready, those of the priorities high and low, and those of the seats.
// docs/design/queues.md, docs/design/priorities.md
//
// Rules: any thread pushes to the injector and to an inbox; a seat's own queue and its LIFO slot are pushed
// by the thread that sits there. Any thread pops. No function here wakes a thread: the caller does, after the
// push (pool_core::notify).
#pragma once

#include "os/clock.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/priority.hpp"
#include "sync/backlog.hpp"
#include "sync/injector.hpp"
#include "sync/priority_queues.hpp"
#include "work/ready_ages.hpp"
#include "work/seat.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rubato::detail {

class task_queues {
public:
  explicit task_queues(unsigned most_seats);

  // Seats. They live as long as the pool.
  [[nodiscard]] seat& seat_at(unsigned i) const noexcept { return *seats_[i].get(); }
  [[nodiscard]] unsigned seats() const noexcept { return known_.get(); }
  /// Adds the next seat, pinned to that CPU; -1: to none. Throws std::bad_alloc. One caller at a time.
  void add_seat(int cpu);
  /// Adds a seat without an index, for a thread that drives the pool. Throws std::bad_alloc.
  [[nodiscard]] seat& add_personal_seat();

  // The injector
  void push(task* t) noexcept;
  /// The same, by the occupant of that seat, which has an index: one read-modify-write less.
  void push_from(seat& s, task* t) noexcept;
  /// The oldest of the injector, or null.
  [[nodiscard]] task* pop() noexcept { return pop_batch(nullptr).first; }
  struct batch {
    task* first = nullptr; ///< for the caller; null: there is none
    bool more = false;     ///< more tasks were moved: the caller notifies
  };
  static constexpr std::size_t usual_batch = 32;
  static constexpr std::size_t large_batch = run_queue::capacity / 2; ///< in exchange for a seat's queue
  /// The oldest for the caller, and up to `most` - 1 more for the seat's queue, if that is empty. On their
  /// way they are in neither queue.
  [[nodiscard]] batch pop_batch(seat* s, std::size_t most = usual_batch) noexcept;
  /// Up to half of the tasks in the run queue of `from`. That of `to`, where the caller sits, is empty.
  [[nodiscard]] static batch steal_batch(seat& from, seat& to) noexcept {
    task* const k = from.queue.steal_into(to.queue);
    return {.first = k, .more = k != nullptr && !to.queue.empty()};
  }
  /// For the occupant: tasks of the last batch are still in the seat's queue.
  [[nodiscard]] static bool holds_batch(seat const& s) noexcept {
    return s.queue.popped() < s.batch_end.get();
  }
  /// The injector first: see basic_backlog::empty().
  [[nodiscard]] bool injector_empty() const noexcept { return injector_.empty() && backlog_.empty(); }

  // The injector's front part, the backlog of the only worker, which is the occupant of the seat number 0
  [[nodiscard]] static bool is_owner(seat const& s) noexcept { return s.index == 0 && !s.personal; }
  /// By the owner: behind the backlog and all that the injector holds. That is no event. False: the backlog
  /// is empty.
  [[nodiscard]] bool push_to_backlog(seat& s, task* t) noexcept;
  /// By the owner: as pop(). Moves all of the injector to the backlog, if that is empty.
  [[nodiscard]] task* pop_own(seat& s) noexcept;

  // The event lane: coroutines and routines whose wait an event or a deadline has ended, so that they begin
  // soon behind a long injector
  [[nodiscard]] task* pop_event() noexcept { return pop_events(nullptr).first; }
  /// As pop_batch().
  [[nodiscard]] batch pop_events(seat* s, std::size_t most = usual_batch) noexcept;
  [[nodiscard]] bool events_empty() const noexcept { return events_.empty(); }
  /// How many events are ready in the lanes of all priorities.
  [[nodiscard]] std::size_t ready_events() const noexcept;

  // The injector and the event lane together
  [[nodiscard]] std::size_t size_of_both() const noexcept;
  /// Counts for the monitor: how many tasks were ever pushed and popped.
  [[nodiscard]] std::uint64_t pushed() const noexcept;
  [[nodiscard]] std::uint64_t popped() const noexcept;
  /// Of them, those of the event lane.
  [[nodiscard]] std::uint64_t events_pushed() const noexcept { return events_pushed_.get(); }
  [[nodiscard]] std::uint64_t events_popped() const noexcept { return events_popped_.get(); }

  /// By priority and lane: to the injector, to the event lane, or to the queues of the priorities. `now`: the
  /// time from which on a low task ages.
  void push(task* t, priority c, priority_lane l, os::ticks now) noexcept;

  // The priorities high and low; `c` is one of them
  /// The oldest of that priority, or null.
  [[nodiscard]] task* pop(priority c) noexcept { return static_cast<task*>(by_priority_.pop(c)); }
  [[nodiscard]] task* pop(priority c, priority_lane l) noexcept {
    return static_cast<task*>(by_priority_.pop(c, l));
  }
  /// A low task that had been ready for 100 ms at that time; null: there is none, or it is found a little
  /// later.
  [[nodiscard]] task* pop_aged(os::ticks now) noexcept;
  [[nodiscard]] bool any_aged(os::ticks now) noexcept;
  /// At a task boundary: may be false for a task that another thread queues at this moment.
  [[nodiscard]] bool any_but_normal() const noexcept { return by_priority_.any(); }
  [[nodiscard]] bool any(priority c) const noexcept { return by_priority_.any(c); }
  [[nodiscard]] priority_queues const& by_priority() const noexcept { return by_priority_; }

  // All queues
  /// Is a task in a queue from which any worker takes?
  [[nodiscard]] bool any_shared() const noexcept;
  /// Is one in any queue, the seats' inboxes included?
  [[nodiscard]] bool any_queued() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// A normal task that any thread may run: of the injector, of a seat's queue, of a LIFO slot.
  [[nodiscard]] task* any_normal() noexcept;
  /// A task of any priority that any thread may run, the highest priority first.
  [[nodiscard]] task* any_task() noexcept;

  /// A seat with a task in its LIFO slot, and the number of tasks that its occupant had executed by then.
  struct lifo_slot_seen {
    seat* where = nullptr;
    std::uint64_t executed = 0;
    bool operator==(lifo_slot_seen const&) const = default;
  };
  /// The first seat, from number `from` on and around, whose slot is not empty.
  [[nodiscard]] lifo_slot_seen any_lifo_slot(unsigned from = 0) const noexcept;

  /// The occupant leaves the seat: its LIFO slot goes into its queue.
  void flush_lifo_slot(seat& s) noexcept;
  /// The seat's queue goes behind the injector, because its time slice has ended, or its occupant passes no
  /// task boundary. The caller is an active worker, or in transit: see quiescence::begin_transit().
  batch share_queue(seat& s) noexcept;
  /// The same for its LIFO slot.
  void share_lifo_slot(seat& s) noexcept;
  /// The seat is closed: its queue and its inbox go into the injector. The caller is in transit.
  void retire(seat& s) noexcept;

private:
  template<class Next>
  [[nodiscard]] batch pop_batch_of(injector& from, relaxed<std::uint64_t>& popped, seat* s, std::size_t most,
                                   Next next) noexcept;
  [[nodiscard]] bool note_age(priority_lane l, os::ticks now) noexcept;
  void count_pushed(std::uint64_t n) noexcept;

  injector injector_;
  backlog backlog_; // accessed by its owner, or under the injector's lock
  injector events_;
  struct alignas(64) stripe {
    relaxed<std::uint64_t> pushed;
  };
  std::array<stripe, 8> pushed_;
  alignas(64) relaxed<std::uint64_t> popped_;        // changed under the injector's lock
  alignas(64) relaxed<std::uint64_t> events_pushed_; // not on the line that every pop changes
  relaxed<std::uint64_t> events_popped_;             // changed under the event lane's lock
  priority_queues by_priority_;
  std::array<ready_ages, 2> low_ages_; // by lane

  alignas(64) published<unsigned> known_; // read by every search; not on the line that every pop changes
  std::unique_ptr<published<seat*>[]> seats_;
  mutex storage_mutex_;
  std::vector<std::unique_ptr<seat>> storage_ RUBATO_GUARDED_BY(storage_mutex_);
};

} // namespace rubato::detail
