// Who belongs to a pool: how threads are made, numbered, pinned and let go; guests.
#include "os/die.hpp"
#include "os/membarrier.hpp"
#include "os/memory.hpp"
#include "os/thread.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <new>
#include <system_error>

namespace rubato::detail {

namespace {

// A fork needs at least this much stack, so that many slots are never used up.
constexpr std::size_t least_frame = 64;
constexpr std::size_t most_slots = std::size_t{1} << 20U;

/// Pool and number, as far as the kernel keeps names: the pool's is shortened, never the number.
std::string thread_name(std::string const& pool, unsigned number) {
  constexpr std::size_t most = 15;
  std::string const tail = "/" + std::to_string(number);
  if (pool.size() + tail.size() <= most) return pool + tail;
  return pool.substr(0, most - tail.size() - 1) + "~" + tail;
}

} // namespace

/// A record for a thread that joins: one that was used before, or a new one. Null: there is no number left.
pool_thread* pool_core::make_record(bool guest) {
  std::lock_guard const guard(records_);
  if (guest ? guests_ >= max_guests : winding_up_ || made_ >= size() + options_.spares_) return nullptr;
  pool_thread* t = nullptr;
  if (!free_records_.empty()) {
    t = free_records_.back();
    free_records_.pop_back();
  } else {
    unsigned const number = known_.load(std::memory_order_relaxed);
    if (number == slots_) return nullptr;
    free_records_.reserve(number + 1); // so that giving it back cannot fail
    exited_.reserve(number + 1);
    auto made = std::make_unique<pool_thread>();
    thread_storage_.reserve(number + 1);
    std::size_t const stack = options_.stack_size_ != 0 ? options_.stack_size_ : os::stack_bytes();
    std::size_t const slots = std::clamp(stack / least_frame, std::size_t{1024}, most_slots);
    made->memory_bytes = (slots + 2) * sizeof(latent_chain::slot);
    made->memory = os::reserve(made->memory_bytes);
    made->chain.attach(static_cast<latent_chain::slot*>(made->memory), slots, os::membarrier_available());
    made->chain.remind(); // the watch may be asleep: it has not seen this thread
    made->index = number;
    made->core = this;
    made->next_victim = number;
    t = made.get();
    thread_storage_.push_back(std::move(made));
    // release, both: pair with for_each_thread(), because the record was written before.
    threads_[number].store(t, std::memory_order_release);
    known_.store(number + 1, std::memory_order_release);
  }
  if (guest)
    ++guests_;
  else
    ++made_, ++unjoined_; // at once: a pool that ends meanwhile waits for it
  t->worker.store(!guest, std::memory_order_relaxed);
  t->exiting.store(false, std::memory_order_relaxed);
  t->relief.store(false, std::memory_order_relaxed);
  t->resting = false;
  t->boundaries.store((t->boundaries.load(std::memory_order_relaxed) | 1U) + 1U, std::memory_order_relaxed);
  t->tid.store(0, std::memory_order_relaxed);
  t->outer = &outside;
  t->local_since = 0;
  t->pinned_to = -1;
  return t;
}

void pool_core::free_number(pool_thread& t) noexcept {
  std::lock_guard const guard(records_);
  if (t.worker)
    --made_;
  else
    --guests_;
  free_records_.push_back(&t);
}

/// Makes a thread for a call, or one without a seat. It is active from now on. False: there is none to be
/// had.
bool pool_core::launch(roster::call const& c, bool relief, pool_thread* blocked) noexcept {
  pool_thread* t = nullptr;
  try {
    join_ended();
    t = make_record(false);
  } catch (std::exception const&) { // no memory, no thread either
    no_threads_.store(true, std::memory_order_relaxed);
  }
  if (t == nullptr) return false;
  if (relief) call_for_relief(*t, blocked);
  if (c)
    people.settle(c, *t);
  else
    people.count_in(*t);
  if (!options_.inherit_scheduling_ && !schedules_like_watch()) {
    to_make_.fetch_add(1, std::memory_order_relaxed); // relaxed: handed over under the watch's lock
    make_on_watch(*t);
    return true;
  }
  if (create(*t)) return true;
  undo_launch(c, *t);
  return false;
}

bool pool_core::create(pool_thread& t) noexcept {
  try {
    os::thread_options const wanted{.name = thread_name(options_.name_, t.index),
                                    .stack_size = options_.stack_size_,
                                    .blocks_signals = !options_.inherit_scheduling_};
    // Under the lock, which the thread takes at its end: whoever joins it finds the handle.
    std::lock_guard const guard(records_);
    t.handle = os::thread(wanted, &pool_core::thread_main, &t);
    no_threads_.store(false, std::memory_order_relaxed);
    return true;
  } catch (std::exception const&) {
    no_threads_.store(true, std::memory_order_relaxed);
    return false;
  }
}

void pool_core::undo_launch(roster::call const& c, pool_thread& t) noexcept {
  t.relief.store(false, std::memory_order_relaxed);
  if (c)
    people.unsettle(c, t);
  else
    vacate(t, leaving::for_good);
  {
    std::lock_guard const guard(records_);
    --unjoined_;
  }
  free_number(t);
  std::lock_guard const guard(waiters_);
  idle_.notify_all(); // as in reclaim()
}

/// By the watch, for a thread that was scheduled otherwise than new ones are to be.
void pool_core::make_now(pool_thread& t) noexcept {
  visit const here(*this); // the new thread, or its lack, may let the pool end
  roster::call const c{.where = t.sits_on(), .who = nullptr};
  if (!create(t)) {
    undo_launch(c, t);
    not_launched(c);
  }
  to_make_.fetch_sub(1, std::memory_order_release); // pairs with await_made()
  std::lock_guard const guard(waiters_);
  idle_.notify_all(); // open_seats() may wait, and shutdown
}

/// Until the watch has made those threads that it was told to make. It wants none of the caller's locks.
void pool_core::await_made() noexcept {
  std::unique_lock lock(waiters_);
  while (to_make_.load(std::memory_order_acquire) != 0) idle_.wait(lock);
}

/// What cannot be had is no error: whoever is busy goes on.
void pool_core::start_thread(roster::call const& c, bool relief, pool_thread* blocked) noexcept {
  if (!launch(c, relief, blocked)) not_launched(c);
}

void pool_core::not_launched(roster::call const& c) noexcept {
  if (c) {
    people.give_up(c);
    auto& s = static_cast<seat&>(*c.where);
    if (s.closed.load(std::memory_order_relaxed)) retire_seat(s);
  }
  // Somebody may have gone idle in the meantime without leaving a seat, and have found none vacant.
  if (people.has_idle()) {
    call_for_inboxes();
    if (any_shared()) notify();
  }
  nudge_watch(watch_rest::dozing); // it looks after what is latent, which no thread was made for
  tell_if_stuck();
  on_quiet();
  // Nobody is left to sit down: whoever waits for what must run on a given seat can do it himself.
  for_each_thread([](pool_thread& w) {
    if (w.waits_in.load(std::memory_order_relaxed) != nullptr) w.parker.unpark();
  });
}

void pool_core::thread_main(void* arg) {
  auto& t = *static_cast<pool_thread*>(arg);
  pool_core& core = *t.core;
  current = &t;
  t.tid.store(os::this_thread_id(), std::memory_order_relaxed);
  if (seat* const s = t.sits_on()) core.pin(t, *s);
  if (core.options_.on_start_) core.options_.on_start_(t.index);
  core.work(t);
  if (core.options_.on_exit_) {
    core.people.count_in(t);
    core.options_.on_exit_(t.index);
    core.after_vacating(core.vacate(t, leaving::for_good));
    core.on_quiet();
  }
  current = &outside;
  core.thread_ended(t);
}

void pool_core::thread_ended(pool_thread& t) noexcept {
  join_ended(); // one that ended before, so that not all their stacks are kept
  {
    std::lock_guard const guard(records_);
    exited_.push_back(&t);
  }
  std::lock_guard const guard(waiters_);
  idle_.notify_all();
}

void pool_core::reclaim(pool_thread& t) noexcept {
  {
    std::lock_guard const guard(records_);
    --unjoined_;
    free_records_.push_back(&t);
  }
  std::lock_guard const guard(waiters_);
  idle_.notify_all(); // somebody may wait for the last one
}

pool_thread* pool_core::take_exited() noexcept {
  std::lock_guard const guard(records_);
  if (exited_.empty()) return nullptr;
  pool_thread* const t = exited_.back();
  exited_.pop_back();
  return t;
}

/// Gives back the record of a thread that has ended altogether. It waits for none: the destructors of
/// thread-local objects are user code.
void pool_core::join_ended() noexcept {
  pool_thread* const t = take_exited();
  if (t == nullptr) return;
  if (t->handle.try_join()) {
    reclaim(*t);
  } else {
    std::lock_guard const guard(records_);
    exited_.push_back(t);
  }
}

/// Waits until all threads have ended. False: resize() has started the pool again.
bool pool_core::join_all() noexcept {
  for (;;) {
    if (pool_thread* const t = take_exited()) {
      t->handle.join();
      reclaim(*t);
      continue;
    }
    std::unique_lock lock(waiters_);
    {
      std::lock_guard const guard(records_);
      if (unjoined_ == 0) return true;
      if (!winding_up_) return false;
      if (!exited_.empty()) continue;
    }
    idle_.wait(lock);
  }
}

void pool_core::pin(pool_thread& t, seat& s) noexcept {
  if (s.cpu == t.pinned_to) return;
  if (!t.worker) return; // a guest's affinity is its own affair
  if (s.cpu >= 0)
    static_cast<void>(os::pin(s.cpu));
  else
    static_cast<void>(os::unpin());
  t.pinned_to = s.cpu;
}

/// The calling thread joins for a while. Throws std::system_error if too many are in already.
pool_thread* pool_core::enter(bool guest) {
  pool_thread* const t = make_record(guest);
  if (t == nullptr)
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                            "rubato: more than 65,535 outside threads run in one pool at the same time");
  inside_.fetch_add(1, std::memory_order_relaxed);
  t->tid.store(os::this_thread_id(), std::memory_order_relaxed);
  t->pass_boundary(); // a guest is in a task from the beginning
  people.enter(*t);
  t->counts.bump(counted::began);
  t->chain.remind(); // the watch has not seen this thread when it went to sleep
  return t;
}

void pool_core::leave_pool(pool_thread& t) noexcept {
  after_vacating(vacate(t, leaving::for_good));
  free_number(t);
  on_quiet();
  inside_.fetch_sub(1, std::memory_order_release); // the last touch: pairs with the end of shutdown()
}

/// A seat on which a thread may drive a pool without workers. Null: there is no memory, try again.
seat* pool_core::sit_temporarily(pool_thread& t) noexcept {
  if (t.own_seat == nullptr) {
    try {
      auto made = std::make_unique<seat>();
      made->personal = true;
      std::lock_guard const guard(records_);
      seat_storage_.push_back(std::move(made));
      t.own_seat = seat_storage_.back().get();
    } catch (std::bad_alloc const&) {
      return nullptr;
    }
  }
  people.open(t.own_seat);
  if (people.sit(t, t.own_seat, false)) return t.own_seat;
  people.close(t.own_seat);
  return nullptr;
}

bool is_member(pool_core const& core) noexcept {
  member const* m = current;
  while (m->core != nullptr && m->core != &core) m = static_cast<pool_thread const*>(m)->outer;
  return m->core != nullptr;
}

bool pool_core::nobody_to_call() noexcept {
  bool const none_made = made_.load(std::memory_order_relaxed) >= size() + options_.spares_ ||
                         no_threads_.load(std::memory_order_relaxed);
  return none_made && !people.has_idle();
}

void run_as_member(pool* p, void (*body)(void*, member&), void* arg) {
  member& before = *current;
  pool& target = pool_or_current(p);
  if (before.core != nullptr && before.core == core_of(target)) {
    body(arg, before);
    return;
  }
  membership const in = target.join_as_member();
  body(arg, *current);
}

} // namespace rubato::detail

namespace rubato {

membership::membership(pool& p)
    : previous_(detail::current)
    , mine_(previous_) {
  detail::pool_core& core = *detail::core_of(p);
  if (previous_->core == &core) return;
  detail::pool_thread* const mine = core.enter(true);
  mine->outer = previous_;
  detail::current = mine_ = mine;
}

membership::~membership() {
  if (mine_ == previous_) return;
  if (detail::current == &detail::outside) return; // in the child after fork(): there is no pool to leave
  if (detail::current != mine_)
    os::die("a membership ended on another thread, or before one that began later");
  detail::current = previous_;
  mine_->core->leave_pool(detail::thread_of(*mine_));
}

membership pool::join_as_member() { return membership(*this); }

} // namespace rubato
