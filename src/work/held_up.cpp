// A pool that ends while threads wait in it for what nobody will bring. docs/design/lifecycle.md
#include "work/follow.hpp"
#include "work/pool_core.hpp"
#include "work/watch.hpp"

#include <cstddef>
#include <new>

namespace rubato::detail {

namespace {

// Looks in a row at which nothing had gone on, at least 10 ms apart but for the first.
constexpr unsigned before_giving_up = 3, before_breaking_off = 6;

} // namespace

promised waits_for_promises(future_state& s) noexcept {
  if (s.is_promised()) return promised::all;
  if (!s.only_relays()) return promised::not_it;
  auto const relays = [](future_state& input) { // one that has its input, and is about to go on, does not
    std::size_t first = 0;
    return input.only_relays() && state_ref(input.unfinished_input(first));
  };
  bool any = false, all = true;
  try {
    static_cast<void>(follow(s, ~std::size_t{0}, [&](future_state& input) {
      any = true;
      all = input.is_promised() || relays(input);
      return all;
    }));
  } catch (std::bad_alloc const&) {
    return promised::some;
  }
  return any && all ? promised::all : promised::some;
}

/// `awake`: of the active threads, those that are about to ask and do not count as waiting.
bool pool_core::ends_but_waits(unsigned awake) const noexcept {
  // seq_cst: a wait is counted before this is read, and whoever ends the pool says so before it looks.
  return ending_.load(std::memory_order_seq_cst) != ending::none && all_wait(awake);
}

/// Waits that got what they waited for, tasks that were run, coroutines that were broken off: goes on when
/// anything does. relaxed: counts, which order nothing; a look that misses one is followed by others.
std::uint64_t pool_core::progress() const noexcept {
  std::uint64_t n = 1 + returns_.load(std::memory_order_relaxed) - expired_.load(std::memory_order_relaxed) +
                    broken_off_.load(std::memory_order_relaxed);
  for_each_thread([&](pool_thread& t) { n += t.counts[counted::executed]; });
  return n;
}

bool pool_core::wants_letting_go() const noexcept {
  if (!ends_but_waits()) return false;
  // Whoever was called to break off may have had to give its seat to a guest.
  if (held_up_looks_ != before_breaking_off || held_up_at_ != progress() || is_to_break_off()) return true;
  bool later = false;
  for_each_thread(
      [&](pool_thread& t) { later |= t.may_give_up.load(std::memory_order_relaxed) == giving_up::later; });
  return later;
}

/// By the watch, which runs no user code: it only says that somebody is to do it.
bool pool_core::held_up() noexcept {
  if (!wants_letting_go()) return false;
  if (std::uint64_t const now = progress(); held_up_at_ != now || held_up_looks_ == before_breaking_off) {
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
      // release: pairs with await() and scope_core::wait(), because the wait is judged by what was seen here.
      t.may_give_up.store(giving_up::if_promised, std::memory_order_release);
      t.parker.unpark();
    });
  } else if (held_up_looks_ == before_breaking_off) {
    break_off_.store(true, std::memory_order_release); // pairs with break_off()
    if (nobody_else_breaks_off())
      for_each_thread([](pool_thread& t) {
        if (t.waits_in.load(std::memory_order_relaxed) != nullptr) t.parker.unpark();
      });
    else
      call_worker(nullptr, true); // it finds nothing to do, and sees to it before it rests
  }
  return true;
}

/// If nobody is left who takes it, what is queued is stale, or else its waiter runs it: see is_stranded().
bool pool_core::somebody_will_run() noexcept { return any_queued() && (size() == 0 || !nobody_to_call()); }

bool pool_core::nobody_else_breaks_off() noexcept { return size() == 0 || nobody_to_call(); }

void pool_core::break_off() noexcept {
  // acquire: pairs with held_up().
  if (!break_off_.exchange(false, std::memory_order_acquire)) return;
  // Meanwhile somebody may run again, and bring what is waited for; also when the first have been dropped.
  while (ends_but_waits(1) && !somebody_will_run()) {
    if (!residing.drop_stuck()) {
      residing.stop_parents();
      return;
    }
    broken_off_.fetch_add(1, std::memory_order_relaxed);
  }
  broken_off_.fetch_add(1, std::memory_order_relaxed); // nothing is certain: the watch begins anew
}

} // namespace rubato::detail
