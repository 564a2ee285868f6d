// How a pool begins, changes its size and ends. docs/design/lifecycle.md
#include "os/clock.hpp"
#include "os/cpus.hpp"
#include "os/die.hpp"
#include "os/membarrier.hpp"
#include "os/memory.hpp"
#include "os/topology.hpp"
#include "rubato/cancelled.hpp"
#include "work/outside_waiters.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"
#include "work/shutdown_report.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t default_search_us =
    40; // about the cost of a wake: a sleep that is shorter does not pay

unsigned checked_workers(unsigned n) {
  if (n > pool_core::max_workers)
    throw std::invalid_argument("rubato: a pool has at most 1,024 workers, not " + std::to_string(n));
  return n;
}

} // namespace

pool_core::pool_core(pool& handle, pool_options options)
    : handle_(&handle)
    , options_(std::move(options))
    , slots_(0)
    , search_ticks_(default_search_us * ticks_per_us())
    , limited_(options_.max_queued_.has_value()) {
  if (options_.max_queued_ == std::size_t{0})
    throw std::invalid_argument(
        "rubato: max_queued(0) would let nothing be queued; leave it unset for no limit");
  if (options_.spares_ > 1'000'000) throw std::invalid_argument("rubato: at most 1,000,000 spares");
  if (options_.search_time_) {
    constexpr double for_ever = 1e18; // ticks: years, and yet now() + for_ever can be told
    double const us = static_cast<double>(std::max<std::int64_t>(0, options_.search_time_->count())) / 1000.0;
    search_ticks_ = static_cast<os::ticks>(std::min(for_ever, us * static_cast<double>(ticks_per_us())));
  }
  slots_ = max_workers + options_.spares_ + max_guests;
  cpu_order_ = cpu_order();
  seats_ = std::make_unique<std::atomic<seat*>[]>(max_workers);
  pushed_then_.reserve(max_workers + 1);
  std::size_t const bytes = slots_ * sizeof(std::atomic<pool_thread*>);
  threads_ = static_cast<std::atomic<pool_thread*>*>(os::reserve(bytes)); // zero: null pointers
  try {
    watch_pool(*this);
  } catch (...) {
    os::release(threads_, bytes);
    throw;
  }
  workerless_pools.fetch_add(1, std::memory_order_relaxed); // until start()
}

/// Returns the old one.
unsigned pool_core::set_target(unsigned n) noexcept {
  unsigned const before = target_.exchange(n, std::memory_order_seq_cst);
  // relaxed: who waits meanwhile is called afterwards.
  if (before == 0 && n != 0) workerless_pools.fetch_sub(1, std::memory_order_relaxed);
  if (before != 0 && n == 0) workerless_pools.fetch_add(1, std::memory_order_relaxed);
  return before;
}

pool_core::~pool_core() {
  if (size() == 0) workerless_pools.fetch_sub(1, std::memory_order_relaxed);
  if (abandoned_.load(std::memory_order_relaxed)) return;
  unwatch_pool(*this); // from now on nobody finds it, and so nobody begins to visit it
  await_visitors(*this);
  while (inside_.load(std::memory_order_acquire) != 0) std::this_thread::yield(); // guests on their way out
  for (auto& t : thread_storage_) os::release(t->memory, t->memory_bytes);
  os::release(threads_, slots_ * sizeof(std::atomic<pool_thread*>));
}

void pool_core::start(unsigned workers) {
  checked_workers(workers);
  try {
    std::lock_guard const guard(life_);
    open_seats(workers);
  } catch (...) {
    static_cast<void>(shutdown(ending::discard, true));
    throw;
  }
}

/// The CPUs of the seats, in order; empty: not pinned.
std::vector<int> pool_core::cpu_order() const {
  if (options_.cpus_.empty() && options_.place_ == placement::free) return {};
  std::vector<int> const usable = os::affinity_cpus();
  for (int const c : options_.cpus_)
    if (std::find(usable.begin(), usable.end(), c) == usable.end()) {
      std::string list;
      for (int const u : usable) list += (list.empty() ? "" : ", ") + std::to_string(u);
      throw std::invalid_argument("rubato: CPU " + std::to_string(c) +
                                  " does not exist or this process may not use "
                                  "it; it may use " +
                                  list);
    }
  if (options_.place_ == placement::free) return options_.cpus_;
  return os::placement_order(os::topology("/", options_.cpus_.empty() ? usable : options_.cpus_),
                             options_.place_ == placement::numa ? os::placement_policy::numa
                                                                : os::placement_policy::cores);
}

/// Under life_.
void pool_core::open_seats(unsigned n) {
  for (unsigned i = seats_known(); i < n; ++i) {
    auto made = std::make_unique<seat>();
    made->index = i;
    if (!cpu_order_.empty()) made->cpu = cpu_order_[i % cpu_order_.size()];
    seats_[i].store(made.get(), std::memory_order_release);
    {
      std::lock_guard const guard(records_);
      seat_storage_.push_back(std::move(made));
    }
    seats_known_.store(i + 1, std::memory_order_release);
  }
  unsigned const before = set_target(n);
  {
    std::lock_guard const guard(records_); // decides about threads that are about to end: see sleep()
    winding_up_ = false;
    surplus_.store(0, std::memory_order_relaxed);
    for_each_thread([](pool_thread& t) { t.exiting.store(false, std::memory_order_relaxed); });
  }
  {
    std::lock_guard const guard(waiters_);
    idle_.notify_all(); // who waits for the last thread's end waits no longer
  }
  for (unsigned i = before; i < n; ++i) people.open(seat_at(i));
  call_for_inboxes(); // of tasks that came in between
  // Each begins on a seat, and goes idle there if there is nothing to do.
  while (made_.load(std::memory_order_relaxed) < n) {
    unsigned const made = made_.load(std::memory_order_relaxed);
    start_thread(people.claim(), false);
    if (made_.load(std::memory_order_relaxed) <= made) break; // fewer than wanted: seats stay vacant
  }
  await_made();
  if (before != 0 || n == 0 || made_.load(std::memory_order_relaxed) != 0) return;
  // The waiters go on driving, or what is queued would have no thread.
  static_cast<void>(set_target(0));
  for (unsigned i = 0; i != n; ++i) people.close(seat_at(i));
  for (unsigned i = 0; i != n; ++i) retire_seat(*seat_at(i));
  throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                          "rubato: not a single thread could be started");
}

unsigned pool_core::resize(unsigned workers) {
  checked_workers(workers);
  std::lock_guard const guard(life_);
  unsigned const before = target_.load(std::memory_order_relaxed);
  if (closed_.load(std::memory_order_relaxed) || ending_.load(std::memory_order_relaxed) != ending::none) {
    ending_.store(ending::none, std::memory_order_seq_cst);
    closed_.store(false, std::memory_order_seq_cst);
    std::lock_guard const stop(stop_mutex_);
    stop_ = std::stop_source();
  }
  if (workers >= before) {
    open_seats(workers);
  } else {
    set_target(workers);
    for (unsigned i = workers; i != before; ++i) {
      people.close(seat_at(i));
      retire_seat(*seat_at(i)); // its occupant does the same when it leaves, which may take long
    }
    end_surplus(workers);
    if (workers == 0) {
      wake_waiters();      // they drive from now on
      tell_workers_lost(); // and so do waiters in other pools and outside
    }
  }
  if (any_shared() || any_latent()) notify();
  nudge_watch(watch_rest::dozing); // somebody may be busy, and there are sleepers now
  return before;
}

/// So many threads end that `workers` are left: those that sleep now, the others when they have nothing to
/// do, as a thread whose seat is closed has after its task. See sleep().
void pool_core::end_surplus(unsigned workers) noexcept {
  unsigned surplus = 0;
  {
    std::lock_guard const guard(records_);
    unsigned const made = made_.load(std::memory_order_relaxed);
    surplus = made - std::min(made, workers);
    surplus_.store(surplus, std::memory_order_release); // pairs with sleep()
  }
  people.for_each_idle([&](roster_thread& t) {
    if (surplus == 0 || t.active) return; // active: it drives
    --surplus;
    t.parker.unpark();
  });
}

/// What is queued on a closed seat goes where others find it.
void pool_core::retire_seat(seat& s) noexcept {
  {
    in_transit const moving(*this);
    while (task* k = s.queue.pop()) push_entry(k);
    while (task* k = s.inbox.pop()) push_entry(k);
  }
  if (any_shared()) notify();
  on_quiet();
}

/// Every thread that waits here looks again.
void pool_core::wake_waiters() noexcept {
  for_each_thread([](pool_thread& t) { t.parker.unpark(); });
  std::lock_guard const guard(waiters_);
  room_.notify_all();
  idle_.notify_all();
}

/// They see that the pool ends, and leave if they only wait here.
void pool_core::wake_guests() noexcept {
  for_each_thread([](pool_thread& t) {
    if (!t.worker.load(std::memory_order_relaxed)) t.parker.unpark();
  });
}

/// Drops what is queued and has not begun. What has begun is queued because its wait is over: it goes back,
/// unless everything is to go.
void pool_core::discard_queued(bool everything) noexcept {
  {
    in_transit const moving(*this);
    auto const discard_from = [&](auto pop, auto push) {
      task* kept = nullptr; // linked by the queues' own link
      while (task* const k = pop()) {
        if (k->holds_room) release_room();
        task* const resumption = everything ? (k->exec(*k, nullptr), nullptr) : drop_unless_begun(*k);
        if (resumption == nullptr) continue;
        resumption->next.store(kept, std::memory_order_relaxed); // relaxed: only this thread has it
        kept = resumption;
      }
      while (kept != nullptr) {
        task* const k = kept;
        kept = static_cast<task*>(k->next.load(std::memory_order_relaxed));
        push(k);
      }
    };
    discard_from([this] { return any_task(); }, [this](task* k) { push_entry(k); });
    for (unsigned i = 0, n = seats_known(); i != n; ++i) {
      seat& s = *seat_at(i);
      discard_from([&s] { return s.inbox.pop(); }, [&s](task* k) { s.inbox.push(k); });
    }
  }
  call_for_inboxes();
  if (any_shared()) notify();
  on_quiet();
}

// Shutdown, in steps (docs/design/lifecycle.md):
//   1. request_shutdown() says how the pool ends, requests the stop of its token, and tells what waits in it:
//   a drain ends
//      waits for time and I/O, a discard all waits but those for borrowed work. A discard drops what has not
//      begun.
//   2. The workers run what is ready, and what that makes ready, until the pool is quiescent.
//   3. Coroutines that are still suspended on Rubato's own awaitables are destroyed; back to 2.
//   4. close_pool(): no seats, no threads.
// end_if_quiet() does 3 and 4 in the thread that went idle last; shutdown() does them in its caller, and
// joins the threads.

void pool_core::request_shutdown(ending how) {
  {
    std::lock_guard const guard(life_);
    if (closed_.load(std::memory_order_relaxed)) return;
    ending const before = ending_.load(std::memory_order_relaxed);
    if (before == ending::none) {
      late_.store(0, std::memory_order_relaxed);
      was_discarded_ = false;
    }
    if (how == ending::discard) was_discarded_ = true;
    if (before != ending::discard) ending_.store(how, std::memory_order_seq_cst);
  }
  std::stop_source stop(std::nostopstate); // a destructor may come here: it allocates nothing
  {
    std::lock_guard const guard(stop_mutex_);
    stop = stop_;
  }
  stop.request_stop(); // outside the locks: callbacks are user code
  {
    // The pool is not quiescent before the last of them has been asked: what the first do might end it, and
    // destroy the others where they wait.
    in_transit const asking(*this);
    if (how == ending::discard)
      residing.request_stop();
    else
      residing.request_drain();
  }
  if (how == ending::discard) {
    wake_all_waiters(); // of other pools too: they may wait on behalf of what runs here
    discard_queued(false);
  }
  wake_guests();
  {
    std::lock_guard const guard(waiters_);
    room_.notify_all(); // callers that are refused from now on
  }
  tell_if_stuck();
  on_quiet();
}

/// A shutdown was requested and nothing is left to do: the threads end.
void pool_core::end_if_quiet() noexcept {
  // One looks, again for each that comes meanwhile. acq_rel: what they did before is seen then.
  if (end_checks_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  for (unsigned served = 1; served != 0;) {
    if (ending_.load(std::memory_order_seq_cst) != ending::none && quiescent()) residing.drop_stuck();
    // Another thread that holds the lock changes the pool's life at this moment, and looks itself.
    if (std::unique_lock const guard(life_, std::try_to_lock);
        guard && ending_.load(std::memory_order_seq_cst) != ending::none && quiescent())
      static_cast<void>(close_pool());
    served = end_checks_.fetch_sub(served, std::memory_order_acq_rel) - served;
  }
}

/// Under life_, when the pool was quiescent: no seats, no threads. False: something has arrived meanwhile.
bool pool_core::close_pool() noexcept {
  // seq_cst: pairs with arrival. Either the coroutine that arrives sees that the pool is closed, or this
  // thread waits for it, and finds what it has queued.
  closed_.store(true, std::memory_order_seq_cst);
  while (arriving_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  if (!people.nobody_runs() || any_queued() || any_child() || residing.count() != 0) {
    closed_.store(false, std::memory_order_seq_cst);
    return false;
  }
  unsigned const before = set_target(0);
  for (unsigned i = 0; i != before; ++i) {
    people.close(seat_at(i));
    retire_seat(*seat_at(i)); // a task may have come since the pool was seen idle
  }
  {
    std::lock_guard const guard(records_); // no thread is made in between
    winding_up_ = true;
    for_each_thread([](pool_thread& t) {
      if (!t.worker) return;
      t.exiting.store(true, std::memory_order_release);
      t.parker.unpark();
    });
  }
  ending_.store(ending::none, std::memory_order_seq_cst);
  std::lock_guard const guard(waiters_);
  idle_.notify_all();
  room_.notify_all(); // callers that were refused meanwhile have passed no room on
  return true;
}

pool_core::arrival::arrival(pool_core& c)
    : core_(c) {
  core_.arriving_.fetch_add(1, std::memory_order_seq_cst); // pairs with close_pool()
  if (!core_.closed_.load(std::memory_order_seq_cst) && !core_.is_discarding()) return;
  core_.arriving_.fetch_sub(1, std::memory_order_release);
  throw cancelled();
}

bool pool_core::shutdown(ending how, bool destroying, std::chrono::steady_clock::time_point discard_at) {
  if (is_member(*this)) {
    if (destroying)
      os::die("a pool was destroyed by one of its own tasks, which would wait for itself; call "
              "request_shutdown() "
              "there and destroy the pool elsewhere");
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "rubato: shutdown() called from a task of the same pool, which would wait for itself; "
        "call request_shutdown() there");
  }
  if (destroying && size() == 0) how = ending::discard;
  if (destroying) {
    destroyed_.store(true, std::memory_order_seq_cst);
    wake_guests();
  }
  request_shutdown(how);
  seats_left const left; // of other pools
  shutdown_report slow(*this);
  auto const restarted = [this] { // by resize(); under life_
    return ending_.load(std::memory_order_relaxed) == ending::none &&
           !closed_.load(std::memory_order_relaxed);
  };
  for (;;) {
    if (!wait_idle(std::min(discard_at, slow.due()), true)) {
      if (std::chrono::steady_clock::now() >= discard_at) {
        discard_at = std::chrono::steady_clock::time_point::max();
        request_shutdown(ending::discard);
      } else {
        slow.print();
      }
      continue;
    }
    std::unique_lock life(life_);
    bool const drained = !was_discarded_;
    if (restarted() && !destroying) return drained;
    life.unlock();
    if (residing.drop_stuck()) continue; // what that has completed may have queued more
    if (residing.count() != 0) {
      await_residents(std::min(discard_at, slow.due()));
      if (std::chrono::steady_clock::now() >= slow.due()) slow.print();
      continue;
    }
    {
      std::lock_guard const guard(life_);
      if (restarted() && !destroying) return drained;
      if (!closed_.load(std::memory_order_relaxed) && !close_pool()) continue;
    }
    // Without the lock: a task that came in at the last moment may want it.
    bool const all_joined = join_all();
    std::lock_guard const guard(life_);
    if (!all_joined || !closed_.load(std::memory_order_relaxed)) { // resize()
      if (destroying) continue;
      return drained;
    }
    for (unsigned i = 0, n = seats_known(); i != n; ++i) retire_seat(*seat_at(i));
    if (destroying || how == ending::discard || !drained) discard_queued(true);
    // A guest may be on its way out; its last step takes no lock that is held here.
    while (destroying && inside_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    return drained;
  }
}

/// Coroutines are left that wait for something foreign, or are about to be resumed: the thread that resumes
/// one runs it, and calls on_quiet().
void pool_core::await_residents(std::chrono::steady_clock::time_point latest) noexcept {
  // What has been suspended since.
  if (is_discarding())
    residing.request_stop();
  else
    residing.request_drain();
  std::unique_lock lock(waiters_);
  idle_announcement const announced(idle_waiting_);
  if (residing.count() == 0 || !people.nobody_runs() || any_queued()) return;
  if (latest == std::chrono::steady_clock::time_point::max())
    idle_.wait(lock);
  else
    idle_.wait_until(lock, latest);
}

void pool_core::abandon() noexcept {
  abandoned_.store(true, std::memory_order_relaxed);
  handle_->core_.store(nullptr, std::memory_order_relaxed);
  handle_->workers_ = target_.load(std::memory_order_relaxed);
}

std::stop_token pool_core::stop_token() const noexcept {
  std::lock_guard const guard(stop_mutex_);
  return stop_.get_token();
}

pool_stats pool_core::stats() const {
  pool_stats all;
  for_each_thread([&](pool_thread& t) {
    t.counts.add_to(all);
    all.contended += t.counts[counted::contended];
  });
  unsigned const n = size();
  for (unsigned i = 0; i != n && i != seats_known(); ++i) {
    seat_stats s;
    seat_at(i)->counts.add_to(s);
    all.seats.push_back(s);
  }
  unsigned const made = made_.load(std::memory_order_relaxed);
  all.spares = made > n ? made - n : 0;
  all.queued = queued();
  all.timers = fired_.load(std::memory_order_relaxed);
  return all;
}

std::int64_t tick_count() noexcept { return os::now(); }
std::int64_t ticks_per_us() noexcept {
  static std::int64_t const n = os::ticks_from(std::chrono::microseconds(1000)) / 1000;
  return n;
}

} // namespace rubato::detail
