// How a thread waits for a job that somebody else runs, for idleness and for room; and what a wait does to
// its seat.
#include "work/park.hpp"
#include "work/pool_core.hpp"

#include <system_error>

namespace rubato::detail {

void wait_for(member& me, departure& d) noexcept { me.core->wait_for(thread_of(me), d); }

void announce(departure& d) noexcept {
  // Read before: the frame may be gone right after finish().
  auto& owner = thread_of(*d.owner);
  if (d.finish()) owner.parker.unpark();
}

void answer(member& me) noexcept { static_cast<void>(me.chain.look(&me)); }

void pool_core::wait_for(pool_thread& t, departure& d) noexcept {
  os::ticks spin_until = os::now() + search_ticks_;
  while (!d.done()) {
    // Leapfrogging: what the runner forks from here on descends from what we wait for.
    auto& runner = thread_of(*d.runner);
    if (loot const l = obtain(t, runner, {.descends_from = &d})) {
      run(t, l);
      spin_until = os::now() + search_ticks_;
    } else if (os::now() < spin_until) {
      for (unsigned i = 0; i != 16; ++i) std_policy::pause();
    } else if (d.await()) {
      park_until(t, "join", d.runner, [&d] { return d.done(); });
    }
  }
}

void* leave_seat(member& me) noexcept {
  pool_thread& t = thread_of(me);
  return me.core->leave(t);
}

void come_back(member& me, void* s) noexcept { me.core->come_back(thread_of(me), static_cast<seat*>(s)); }

seat* pool_core::leave(pool_thread& t) noexcept {
  seat* const s = vacate(t, false);
  if (s != nullptr) {
    t.counts.bump(counted::vacated);
    s->counts.bump(counted::vacated);
    after_vacating(s);
  }
  return s;
}

void pool_core::come_back(pool_thread& t, seat* s) noexcept {
  // Who had no seat before does not get one now.
  if (s != nullptr && people.sit(t, s, true)) pin(t, *t.sits_on());
}

void pool_core::acquire_room() {
  if (!limited_ || try_acquire_room()) return;
  pool_thread* const t = current->core == this ? &thread_of(*current) : nullptr;
  if (size() == 0 && t == nullptr) {
    // Nobody else would make room.
    run_as_member(handle_, [](void* arg, member&) { static_cast<pool_core*>(arg)->acquire_room(); }, this);
    return;
  }
  seat* const s = t != nullptr ? leave(*t) : nullptr;
  room_waiting_.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    if (size() == 0 && t != nullptr) {
      if (try_acquire_room()) break;
      if (task* k = any_task()) {
        run(*t, *k);
        continue;
      }
    }
    std::unique_lock lock(waiters_);
    if (try_acquire_room()) break;
    // A timeout only where the pool may lose its workers meanwhile.
    room_.wait(lock);
  }
  room_waiting_.fetch_sub(1, std::memory_order_seq_cst);
  if (t != nullptr) come_back(*t, s);
}

bool pool_core::try_acquire_room() noexcept {
  if (!limited_) return true;
  std::size_t n = room_used_.load(std::memory_order_seq_cst);
  do
    if (n >= *options_.max_queued_) return false;
  while (!room_used_.compare_exchange_weak(n, n + 1, std::memory_order_seq_cst, std::memory_order_seq_cst));
  return true;
}

void pool_core::release_room() noexcept {
  if (!limited_) return;
  // seq_cst: pairs with room_waiting_, as in Dekker's algorithm: either the waiter sees the room or we see
  // it.
  room_used_.fetch_sub(1, std::memory_order_seq_cst);
  if (room_waiting_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard const guard(waiters_);
  room_.notify_one();
}

void acquire_room(pool_core& c) { c.acquire_room(); }
bool try_acquire_room(pool_core& c) noexcept { return c.try_acquire_room(); }
void release_room(pool_core& c) noexcept { c.release_room(); }

bool pool_core::quiescent(unsigned but) const noexcept {
  return active_.load(std::memory_order_seq_cst) <= but && !any_queued() && !any_latent();
}

/// The last active thread went to sleep.
void pool_core::on_quiet() noexcept {
  // seq_cst: pairs with idle_waiting_ in wait_idle() and with ending_ in request_shutdown().
  if (idle_waiting_.load(std::memory_order_seq_cst) != 0 ||
      ending_.load(std::memory_order_seq_cst) != ending::none) {
    std::lock_guard const guard(waiters_);
    idle_.notify_all();
  }
  if (ending_.load(std::memory_order_seq_cst) != ending::none) end_if_quiet();
}

bool pool_core::wait_idle(std::chrono::steady_clock::time_point deadline) {
  if (current->core == this)
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "rubato: wait_idle() called from a task of the same pool, which is not idle before the "
        "task ends; wait for the tasks themselves instead, in a scope");
  struct waiting {
    std::atomic<unsigned>& n;
    explicit waiting(std::atomic<unsigned>& c)
        : n(c) {
      n.fetch_add(1, std::memory_order_seq_cst);
    }
    waiting(waiting const&) = delete;
    waiting& operator=(waiting const&) = delete;
    ~waiting() { n.fetch_sub(1, std::memory_order_seq_cst); }
  };
  waiting const guard(idle_waiting_);
  for (;;) {
    if (size() == 0 && (any_queued() || any_latent())) {
      waiting const driver(idle_drivers_);
      struct state {
        pool_core* core;
        std::chrono::steady_clock::time_point deadline;
      } s{this, deadline};
      run_as_member(
          handle_,
          [](void* arg, member& me) {
            auto& [core, until] = *static_cast<state*>(arg);
            while (core->size() == 0 && std::chrono::steady_clock::now() < until) {
              if (task* k = core->any_task())
                core->run(thread_of(me), *k);
              else if (finding const f = core->find_latent(thread_of(me)))
                core->run(thread_of(me), f);
              else
                return;
            }
          },
          &s);
    }
    std::unique_lock lock(waiters_);
    if (quiescent(idle_drivers_.load(std::memory_order_seq_cst))) return true;
    if (size() == 0 && (any_queued() || any_latent()) && std::chrono::steady_clock::now() < deadline)
      continue;
    if (deadline == std::chrono::steady_clock::time_point::max()) {
      idle_.wait(lock);
    } else if (idle_.wait_until(lock, deadline) == std::cv_status::timeout) {
      return quiescent(idle_drivers_.load(std::memory_order_seq_cst));
    }
  }
}

} // namespace rubato::detail
