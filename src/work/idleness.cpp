// When nothing is left to do, and who waits for that. docs/design/parking.md
#include "work/park.hpp"
#include "work/pool_core.hpp"

#include <system_error>

namespace rubato::detail {

std::uint64_t pool_core::begun() const noexcept {
  std::uint64_t n = moved_.load(std::memory_order_acquire);
  for_each_thread([&](pool_thread& t) { n += t.counts[counted::began]; });
  return n;
}

/// Nobody runs and nothing is queued, at one and the same moment. False: somebody will call on_quiet().
bool pool_core::quiescent() const noexcept {
  auto const nothing_moves = [this] {
    return people.nobody_runs() && moving_.load(std::memory_order_seq_cst) == 0;
  };
  for (;;) {
    std::uint64_t const before = begun();
    // acquire: pairs with disarmed(), because what the timer made ready is queued.
    if (armed_.load(std::memory_order_acquire) != 0) return false;
    if (!nothing_moves() || any_queued() || any_latent() || !nothing_moves()) return false;
    // Who began in between, queued more and has ended again (it lost its seat in a wait, say) has counted it.
    // It may have called on_quiet() long ago: look again.
    if (begun() == before) return true;
  }
}

void pool_core::disarmed() noexcept {
  // acq_rel: release, for quiescent(). The last one tells who waits, unless somebody runs, who will.
  if (armed_.fetch_sub(1, std::memory_order_acq_rel) == 1) on_quiet();
}

/// After a thread went idle, left or began to search: it may have been the last one that ran.
void pool_core::on_quiet() noexcept {
  if (!people.nobody_runs()) return;
  // seq_cst: pairs with idle_waiting_ in wait_idle() and with ending_ in request_shutdown().
  bool const ends = ending_.load(std::memory_order_seq_cst) != ending::none;
  if (ends || idle_waiting_.load(std::memory_order_seq_cst) != 0) {
    std::lock_guard const guard(waiters_);
    idle_.notify_all();
  }
  if (ends) end_if_quiet();
}

bool pool_core::wait_idle(std::chrono::steady_clock::time_point deadline, bool or_closed) {
  if (is_member(*this))
    throw std::system_error(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "rubato: wait_idle() called from a task of the same pool, which is not idle before the "
        "task ends; wait for the tasks themselves instead, in a scope");
  idle_announcement const announced(idle_waiting_);
  auto const has_time = [&] {
    return deadline == std::chrono::steady_clock::time_point::max() ||
           std::chrono::steady_clock::now() < deadline;
  };
  if (quiescent()) return true;
  seats_left const left; // of other pools
  // What is queued in a closed pool is for its next life.
  auto const is_over = [&] { return or_closed && closed_.load(std::memory_order_seq_cst); };
  auto const to_drive = [&] {
    return size() == 0 && !is_over() && (any_shared() || any_child()) && has_time();
  };
  for (;;) {
    if (to_drive()) {
      auto drive = [&](pool_thread& t) {
        while (size() == 0 && !is_over() && has_time() && run_one(t)) {
        }
      };
      run_as_member(
          handle_, [](void* arg, member& me) { (*static_cast<decltype(drive)*>(arg))(thread_of(me)); },
          &drive);
    }
    std::unique_lock lock(waiters_);
    if (is_over() || quiescent()) return true;
    if (to_drive()) continue;
    if (deadline == std::chrono::steady_clock::time_point::max())
      idle_.wait(lock);
    else if (idle_.wait_until(lock, deadline) == std::cv_status::timeout)
      return quiescent();
  }
}

} // namespace rubato::detail
