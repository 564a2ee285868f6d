// Tests the pending requests of a pool until they have ended. docs/design/mpi.md
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/thread_safety.hpp"
#include "rubato/detail/mpi/mpi_wait.hpp"
#include "rubato/detail/timer/timer.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/thread_pool.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace rubato::detail {

/// A task that is in a queue, running, or asleep with a timer as long as a request of its pool is pending.
/// Idle, it belongs to no pool, and serves the next one that needs it. It counts as work that has begun: a
/// pool that discards its tasks does not drop it.
class mpi_poller final : public state_of<void>, timer {
  friend class mpi_pollers;

  struct place {
    mpi_wait* wait; ///< null: the request has ended
    std::size_t index;
  };
  // Of the pending requests, side by side as MPI_Testsome() wants them. The thread that runs the poller has
  // them.
  std::vector<MPI_Request> requests_;
  std::vector<place> places_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;

  std::int64_t progress_at_ = 0;         ///< of the last arrival or end, or later, if parts have moved; ticks
  std::int64_t awake_until_ = 0;         ///< it does not sleep before; ticks
  std::int64_t quickest_ = never_tested; ///< the shortest test of these requests, in ticks
  bool is_counted_ = false;              ///< as an armed timer of the pool

  mpi_poller* next_ = nullptr; ///< of all pollers; written once
  // Under the lock of mpi_pollers.
  pool_core* serves_ = nullptr; ///< null: it is idle
  bool is_asleep_ = false;      ///< its timer is armed, or fires
  mpi_wait* arrived_ = nullptr; ///< that it has not seen, the newest first
  relaxed<bool> has_arrivals_;  ///< a hint, for the poller; written under that lock

  /// It looks for so long, if no other task is ready, before the worker goes back to its queues.
  static constexpr std::int64_t look_us = 20;
  /// It sleeps if nothing has arrived or ended for so long, or moved for `moved_awake_us`: both sides of a
  /// long message must take several steps in turn, and each step of a side that sleeps would take as long as
  /// the sleep.
  static constexpr std::int64_t awake_us = 1000;
  static constexpr std::int64_t moved_awake_us = 50;
  /// MPI does not say that a part of a message has moved, but a test that moves one takes longer than the
  /// quickest. If such tests of a turn take more than this, something may have moved. Beside other tasks a
  /// turn has one test only: there any such test counts, and a mistake costs a few tests more.
  static constexpr std::int64_t moved_us = look_us / 4;
  /// By so much a movement shortens the next sleeps. Not to the shortest at once: an interrupt, or cold
  /// caches after a sleep, look like a movement too, but not several times in a row.
  static constexpr std::int64_t part_kept = 4;
  static constexpr std::int64_t never_tested = std::numeric_limits<std::int64_t>::max();
  /// A sleep lasts as long as this part of the time without an end, so it adds that part at most.
  static constexpr std::int64_t part_slept = 8;
  static constexpr std::int64_t longest_sleep_us = 2000;

  void resume(thread_context& runner) noexcept override;
  [[nodiscard]] bool has_begun() const noexcept override { return true; }
  /// By a thread that empties the queues of a closed pool: the wait goes on.
  void drop() noexcept override;
  void fire() noexcept override {
    count_fired(*home());
    offer(*this, made_ready_by::event);
  }

  void take_arrivals() noexcept;
  void add(mpi_wait& w);
  [[nodiscard]] bool look(mpi_wait*& over) noexcept;
  void end(std::size_t k, MPI_Status const& s, int code, mpi_wait*& over) noexcept;
  void forget_ended() noexcept;
  void note_progress() noexcept;
  void note_movement(std::int64_t now) noexcept;
  void prepare_sleep(std::int64_t now) noexcept;

  static void tell(mpi_wait* over) noexcept {
    while (over != nullptr) std::exchange(over, over->next_)->end_wait();
  }

public:
  mpi_poller() noexcept
      : state_of(1) {}
};

/// All pollers of the process, one for each pool that has pending requests.
class mpi_pollers {
  mutex mutex_;
  mpi_poller* first_ RUBATO_GUARDED_BY(mutex_) = nullptr;

public:
  [[nodiscard]] static mpi_pollers& all() noexcept {
    static constinit mpi_pollers of_process;
    return of_process;
  }

  /// From now on a poller of that pool has it. Throws std::bad_alloc, and then none has it.
  void add(pool_core& core, mpi_wait& w) {
    mpi_poller* to_run = nullptr; // which nothing else queues
    {
      lock_guard const lock(mutex_);
      mpi_poller* idle = nullptr;
      mpi_poller* p = first_;
      for (; p != nullptr && p->serves_ != &core; p = p->next_)
        if (p->serves_ == nullptr) idle = p;
      if (p == nullptr) {
        p = to_run = idle != nullptr ? idle : make();
        p->set_home(&core);
        p->serves_ = &core;
      } else if (std::exchange(p->is_asleep_, false) && disarm(*p)) {
        to_run = p;
      }
      w.next_ = std::exchange(p->arrived_, &w);
      p->has_arrivals_.set(true);
    }
    // It runs next on this thread, which is about to suspend the coroutine. Any other poller may serve
    // another pool by now.
    if (to_run != nullptr) offer(*to_run);
  }

  /// The newest first; null: there is none.
  [[nodiscard]] mpi_wait* take_arrivals(mpi_poller& p) noexcept {
    lock_guard const lock(mutex_);
    p.has_arrivals_.set(false);
    return std::exchange(p.arrived_, nullptr);
  }
  /// They were taken, and go back.
  void put_back(mpi_poller& p, mpi_wait* first, mpi_wait& last) noexcept {
    lock_guard const lock(mutex_);
    last.next_ = std::exchange(p.arrived_, first);
    p.has_arrivals_.set(true);
  }
  /// For the poller, before its last access. False: some have arrived. `anyway`: it sleeps nevertheless.
  [[nodiscard]] bool sleep(mpi_poller& p, bool anyway) noexcept {
    lock_guard const lock(mutex_);
    if (p.arrived_ != nullptr && !anyway) return false;
    // Under the lock: before, a thread that adds a wait would not find the timer; afterwards it may have
    // fired, and the mark would be left behind.
    p.is_asleep_ = true;
    arm(p);
    return true;
  }
  /// For the poller, when it runs after a sleep.
  void wake(mpi_poller& p) noexcept {
    lock_guard const lock(mutex_);
    p.is_asleep_ = false;
  }
  /// For the poller, when it has no request. True: it is idle, and may serve another pool from now on. False:
  /// some have arrived.
  [[nodiscard]] bool retire(mpi_poller& p) noexcept {
    lock_guard const lock(mutex_);
    if (p.arrived_ != nullptr) return false;
    p.serves_ = nullptr;
    return true;
  }

private:
  [[nodiscard]] mpi_poller* make() RUBATO_REQUIRES(mutex_) {
    auto* const made = new mpi_poller();
    made->next_ = std::exchange(first_, made);
    return made;
  }
};

inline bool mpi_wait::insert() {
  mpi_pollers::all().add(*coroutine().home(), *this);
  return true;
}

/// Throws std::bad_alloc, and then has none of its requests.
inline void mpi_poller::add(mpi_wait& w) {
  quickest_ = never_tested;
  std::size_t const before = requests_.size(), most = before + w.number();
  // All at once, so that nothing throws halfway.
  if (most > requests_.capacity()) requests_.reserve(std::max(most, 2 * before));
  if (most > places_.capacity()) places_.reserve(std::max(most, 2 * before));
  if (most > indices_.size()) indices_.resize(std::max(most, 2 * before));
  if (most > statuses_.size()) statuses_.resize(std::max(most, 2 * before));
  for (std::size_t i = 0; i != w.number(); ++i) {
    if (MPI_Request const* const r = w.pending(i)) {
      requests_.push_back(*r);
      places_.push_back({&w, i});
    }
  }
}

/// Without memory they go back, for the next look.
inline void mpi_poller::take_arrivals() noexcept {
  mpi_wait* w = mpi_pollers::all().take_arrivals(*this);
  if (w != nullptr) note_progress();
  while (w != nullptr) {
    mpi_wait* const older = w->next_;
    try {
      add(*w);
    } catch (std::bad_alloc const&) {
      mpi_wait* last = w;
      while (last->next_ != nullptr) last = last->next_;
      mpi_pollers::all().put_back(*this, w, *last);
      return;
    }
    w = older;
  }
}

inline void mpi_poller::end(std::size_t k, MPI_Status const& s, int code, mpi_wait*& over) noexcept {
  auto const [wait, index] = std::exchange(places_[k], place{nullptr, 0});
  RUBATO_ASSERT(wait != nullptr, "MPI reports the end of a request twice");
  bool const was_over = wait->is_over_;
  wait->is_over_ = wait->end(index, requests_[k], s, code);
  if (wait->is_over_ && !was_over) wait->next_ = std::exchange(over, wait);
}

/// Also the other requests of a wait that is over.
inline void mpi_poller::forget_ended() noexcept {
  quickest_ = never_tested;
  std::size_t kept = 0;
  for (std::size_t k = 0; k != places_.size(); ++k) {
    if (places_[k].wait == nullptr || places_[k].wait->is_over_) continue;
    places_[kept] = places_[k];
    requests_[kept++] = requests_[k];
  }
  places_.resize(kept, {});
  requests_.resize(kept, MPI_REQUEST_NULL);
}

/// Tests all requests once. True: some have ended. `over`: the waits that are over; no request here belongs
/// to them any more.
inline bool mpi_poller::look(mpi_wait*& over) noexcept {
  if (requests_.empty()) return false;
  int ended = 0;
  int const code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &ended, indices_.data(),
                                statuses_.data());
  if (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS) {
    if (ended == 0 || ended == MPI_UNDEFINED) return false;
    for (std::size_t i = 0; i != static_cast<std::size_t>(ended); ++i)
      end(static_cast<std::size_t>(indices_[i]), statuses_[i],
          code == MPI_SUCCESS ? MPI_SUCCESS : statuses_[i].MPI_ERROR, over);
    // Where it reports a failure, OpenMPI frees all requests that have failed by then, also those that
    // another thread has made fail since the test, which it does not report.
    for (std::size_t k = 0; code != MPI_SUCCESS && k != requests_.size(); ++k)
      if (places_[k].wait != nullptr && requests_[k] == MPI_REQUEST_NULL)
        end(k, MPI_Status{}, MPI_ERR_UNKNOWN, over);
  } else { // MPI has tested none
    for (std::size_t k = 0; k != requests_.size(); ++k) end(k, MPI_Status{}, code, over);
  }
  forget_ended();
  note_progress();
  return true;
}

inline void mpi_poller::note_progress() noexcept {
  progress_at_ = tick_count();
  awake_until_ = progress_at_ + awake_us * ticks_per_us();
}

inline void mpi_poller::note_movement(std::int64_t now) noexcept {
  progress_at_ = now - (now - progress_at_) / part_kept;
  awake_until_ = std::max(awake_until_, now + moved_awake_us * ticks_per_us());
}

inline void mpi_poller::prepare_sleep(std::int64_t now) noexcept {
  std::int64_t const quiet_us = (now - progress_at_) / ticks_per_us();
  if (!std::exchange(is_counted_, true)) count_armed(*home());
  due = std::chrono::steady_clock::now() +
        std::chrono::microseconds(std::clamp(quiet_us / part_slept, look_us, longest_sleep_us));
}

inline void mpi_poller::drop() noexcept {
  prepare_sleep(tick_count());
  static_cast<void>(mpi_pollers::all().sleep(*this, true));
}

inline void mpi_poller::resume(thread_context& /*runner*/) noexcept {
  pool_core& core = *home();
  if (std::exchange(is_counted_, false)) {
    mpi_pollers::all().wake(*this);
    count_disarmed(core);
  }
  std::int64_t const began = tick_count();
  std::int64_t tested_at = began, moving = 0;
  for (;;) {
    if (has_arrivals_.get()) take_arrivals();
    mpi_wait* over = nullptr;
    bool const has_ended = look(over);
    tell(over);
    if (requests_.empty() && mpi_pollers::all().retire(*this)) return; // it may serve another pool by now
    std::int64_t const now = tick_count();
    std::int64_t const took = now - std::exchange(tested_at, now);
    quickest_ = std::min(quickest_, took);
    if (took > 2 * quickest_ + ticks_per_us()) moving += took;
    bool const others_are_ready = has_ended || current_pool()->pending() != 0;
    if (!others_are_ready && now - began < look_us * ticks_per_us()) continue;
    if (moving > (others_are_ready ? 0 : moved_us * ticks_per_us())) note_movement(now);
    if (now > awake_until_) {
      prepare_sleep(now);
      if (mpi_pollers::all().sleep(*this, false)) return;
      is_counted_ = false;
      count_disarmed(core);
    } else { // behind what is ready; alone, without waking another worker
      offer(*this, others_are_ready ? made_ready_by::call : made_ready_by::task);
      return;
    }
  }
}

} // namespace rubato::detail
