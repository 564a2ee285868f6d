// A pool that ends while threads wait in it for what nobody will bring. docs/design/lifecycle.md
#include "rubato/detail/future_state.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <cstddef>

namespace rubato::detail {

namespace {

constexpr unsigned deepest = 16; // gatherings inside each other

// Looks in a row at which nothing had gone on, at least 10 ms apart but for the first.
constexpr unsigned before_giving_up = 3, before_breaking_off = 6;

bool is_promised(future_state& s, unsigned depth) noexcept {
  if (s.is_promised()) return true;
  if (s.is_work() || depth == deepest) return false;
  bool any = false;
  for (std::size_t next = 0; state_ref const input{s.unfinished_input(next)}; any = true)
    if (!is_promised(*input.get(), depth + 1)) return false;
  return any;
}

} // namespace

bool waits_for_promises_alone(future_state& s) noexcept { return is_promised(s, 0); }

bool pool_core::ends_but_waits() const noexcept {
  // seq_cst: a wait is counted before this is read, and whoever ends the pool says so before it looks.
  return ending_.load(std::memory_order_seq_cst) != ending::none && all_wait();
}

/// Waits that have ended and tasks that were run: goes on when anything does.
std::uint64_t pool_core::progress() const noexcept {
  std::uint64_t n = returns_.load(std::memory_order_relaxed) + 1; // never 0
  for_each_thread([&](pool_thread& t) { n += t.counts[counted::executed]; });
  return n;
}

bool pool_core::wants_letting_go() const noexcept {
  return ends_but_waits() && (held_up_looks_ != before_breaking_off || held_up_at_ != progress());
}

/// If nobody is left who takes it, what is queued is stale, or else its waiter runs it: see is_stranded().
bool pool_core::somebody_will_run() noexcept { return any_queued() && (size() == 0 || !nobody_to_call()); }

/// By the watch, which runs no user code: it only says that somebody is to do it.
bool pool_core::held_up() noexcept {
  if (!wants_letting_go()) return false;
  if (std::uint64_t const now = progress(); held_up_at_ != now) {
    held_up_at_ = now;
    held_up_looks_ = 0;
  }
  bool asleep = true; // woken but not run for a while, a thread still counts as waiting
  for_each_thread([&](pool_thread& t) {
    if (t.waits_in.load(std::memory_order_relaxed) != nullptr && !t.parker.sleeps()) asleep = false;
  });
  if (!asleep || somebody_will_run() || any_latent() || armed_.load(std::memory_order_relaxed) != 0) {
    held_up_looks_ = held_up_looks_ < before_giving_up ? 0 : before_giving_up;
    return true;
  }
  ++held_up_looks_;
  if (held_up_looks_ == before_giving_up) {
    for_each_thread([](pool_thread& t) {
      if (t.waits_in.load(std::memory_order_relaxed) == nullptr) return;
      t.may_give_up.store(true, std::memory_order_release);
      t.parker.unpark();
    });
  } else if (held_up_looks_ == before_breaking_off) {
    break_off_.store(true, std::memory_order_release);
    if (nobody_else_breaks_off())
      for_each_thread([](pool_thread& t) {
        if (t.waits_in.load(std::memory_order_relaxed) != nullptr) t.parker.unpark();
      });
    else
      call_worker(nullptr, true); // it finds nothing to do, and sees to it before it rests
  }
  return held_up_looks_ != before_breaking_off;
}

bool pool_core::nobody_else_breaks_off() noexcept { return size() == 0 || nobody_to_call(); }

void pool_core::break_off_if_asked() noexcept {
  // acquire: pairs with held_up(). relaxed before: most often there is nothing.
  if (!break_off_.load(std::memory_order_relaxed) || !break_off_.exchange(false, std::memory_order_acquire))
    return;
  // Meanwhile somebody may run again, and bring what is waited for; also when the first have been dropped.
  while (ends_but_waits() && !somebody_will_run())
    if (!residing.drop_stuck()) {
      residing.stop_parents();
      return;
    }
}

} // namespace rubato::detail
