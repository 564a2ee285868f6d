// How coroutines are resumed, suspended and destroyed. docs/design/coroutines.md
#include "rubato/detail/activity.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/siblings.hpp"
#include "rubato/detail/token_in_force.hpp"
#include "work/pool_core.hpp"
#include "work/trampoline.hpp"
#include "work/visit.hpp"

#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

[[gnu::noinline]] trampoline& this_trampoline() noexcept { return own_trampoline; }

/// Stands in a queue for an activity whose own entry is in one already. May be claimed like that one; then it
/// stands for nothing until somebody comes across it.
class second_entry final : public task {
  activity& of_; // held
  std::uint32_t const number_;

  [[nodiscard]] bool is_stale() const noexcept {
    return of_.second_.load(std::memory_order_relaxed) != number_;
  }
  void dispose() noexcept {
    of_.release();
    deallocate(this, sizeof(second_entry));
  }
  static void run(task& base, member* runner) noexcept {
    auto& self = static_cast<second_entry&>(base);
    std::uint32_t expected = self.number_;
    // acquire: pairs with make(). Should the numbers have gone round meanwhile, it stands for the newest one.
    if (self.of_.second_.compare_exchange_strong(expected, expected & ~1U, std::memory_order_acquire,
                                                 std::memory_order_relaxed)) {
      if (runner != nullptr)
        self.of_.resume(*runner);
      else
        self.of_.drop();
    }
    self.dispose();
  }

public:
  second_entry(activity& a, std::uint32_t number) noexcept
      : task(&run)
      , of_(a)
      , number_(number) {
    holds_room = false;
    a.hold();
  }
  /// Null: there is no memory.
  [[nodiscard]] static task* make(activity& a) noexcept {
    try {
      // relaxed: nothing stands for it now, so nobody changes that.
      std::uint32_t const number = (a.second_.load(std::memory_order_relaxed) + 2) | 1U;
      task* const made = ::new (allocate(sizeof(second_entry))) second_entry(a, number);
      a.second_.store(number, std::memory_order_release); // pairs with whoever claims it
      return made;
    } catch (std::bad_alloc const&) {
      return nullptr;
    }
  }
  [[nodiscard]] static bool is_one(task const& k) noexcept { return k.exec == &run; }
  /// False: it is none, or not stale.
  [[nodiscard]] static bool drop_if_stale(task& k) noexcept {
    if (k.exec != &run || !static_cast<second_entry&>(k).is_stale()) return false;
    static_cast<second_entry&>(k).dispose();
    return true;
  }
};

bool may_have_begun(task const& k) noexcept {
  return k.exec == &future_state::exec_entry || second_entry::is_one(k);
}

task* drop_unless_begun(task& k) noexcept {
  if (k.exec == &future_state::exec_entry)
    return static_cast<future_state&>(k).drop_unless_begun() ? &k : nullptr;
  if (second_entry::is_one(k)) return &k; // of a coroutine that was resumed before
  k.exec(k, nullptr);
  return nullptr;
}

task* activity::second() noexcept { return second_entry::make(*this); }

bool drop_stale_entry(task& k, pool_core& where) noexcept {
  return k.exec == &future_state::exec_entry ? static_cast<future_state&>(k).drop_if_stale(where)
                                             : second_entry::drop_if_stale(k);
}

bool activity::waits_again() noexcept {
  suspension* const s = waits_on_.get(); // its own: it is being resumed
  return s != nullptr && s->waits_again();
}

void activity::resume(member& runner) noexcept {
  if (waits_again()) return; // it may run elsewhere by now
  bool finished = false;
  {
    token_in_force const token(runner.chain, scope_);
    if (leaf_ == nullptr) {
      if (stop.stop_requested())
        fail(cancelled_error());
      else
        leaf_ = begin(runner);
    }
    if (std::coroutine_handle<> h = std::exchange(leaf_, nullptr)) {
      waits_on_.clear(); // before what it waited for, a part of its frame, goes
      trampoline const outer =
          std::exchange(own_trampoline, trampoline{this, nullptr, false, runner.chain.mark()});
      for (; h != nullptr; h = std::exchange(own_trampoline.next, nullptr)) h.resume();
      // Unless it has finished it may run elsewhere by now, and be gone.
      finished = own_trampoline.finished;
      own_trampoline = outer;
      if (!finished) return;
    }
  }
  if (is_listed()) home()->residing.remove(*this);
  end(finished);
  complete();
}

void activity::drop() noexcept {
  hold(); // the last child may destroy it
  state_ref const held(this);
  // Then its pool waits for that child.
  if (children_.load(std::memory_order_relaxed) != 0 && !is_listed()) home()->residing.add(*this);
  std::uint32_t now = 0;
  // acq_rel: pairs with child_ended(). Whoever finds that the other has been there destroys it, once: a stop
  // request that is still on its way may count itself as a child later.
  while (!children_.compare_exchange_weak(now, now == 0 ? dropped : now | to_be_dropped,
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  if (now == 0)
    destroy();
  else
    stop.request_stop();
}

bool activity::child_ended() noexcept {
  constexpr std::uint32_t last = one_child | to_be_dropped;
  std::uint32_t now = children_.load(std::memory_order_relaxed);
  while (!children_.compare_exchange_weak(now, now == last ? dropped : now - one_child,
                                          std::memory_order_acq_rel,
                                          std::memory_order_relaxed)) { // see drop()
  }
  return now == last;
}

/// By its pool, or by its last child, perhaps in another one. As long as it is listed its pool does not end.
void activity::destroy() noexcept {
  pool_core& core = *home();
  bool const listed = is_listed();
  hold();
  state_ref const held(this);
  // What it waited in may be a part of something that outlives it, as a generator does.
  if (suspension* const s = waits_on_.clear()) static_cast<void>(s->retire());
  scope_ = &stop; // what is in force may be in a frame
  fail(broken_promise());
  destroy_inner_frames();
  end(false);
  complete();
  if (!listed) return;
  visit const here(core);
  core.resident_left(*this);
}

/// From the innermost outwards, so that a deep recursion needs no deep stack. It stops at what is not ours.
void activity::destroy_inner_frames() noexcept {
  if (leaf_is_ours_ == 0) return;
  while (leaf_ != nullptr && own_promise::in(leaf_).is_owned()) {
    std::coroutine_handle<> const around = own_promise::in(leaf_).continuation();
    void const* const outer = std::exchange(tombstone::wanted_for, leaf_.address());
    leaf_.destroy();
    tombstone::wanted_for = outer;
    leaf_ = around;
  }
}

bool activity::withdraw(resident const& /*as*/) noexcept {
  return waits_on_.look([this](suspension& s) {
    // acquire: what the last child has done comes before.
    return !stop.is_shielded() && children_.load(std::memory_order_acquire) == 0 && s.withdraw();
  });
}

void activity::stops_with(stop_scope& s) noexcept {
  scope_ = &s;
  current->chain.change_token(&s);
}

void activity::settle_in() noexcept {
  if (is_listed()) return;
  home()->residing.add(*this);
  if (home()->is_discarding())
    stop.request_stop();
  else if (home()->is_ending() && !stop.is_shielded())
    stop.request_drain();
}

/// What it has forked and nobody has taken is no part of it any more: it may be run by anybody, at once.
void activity::flush() noexcept {
  latent_chain& chain = current->chain;
  auto const forked = static_cast<std::uint32_t>(chain.mark() - own_trampoline.mark);
  if (forked == 0) return;
  ++flushes_;
  children_begun(forked); // those that were taken too: now we know
  for (std::uint32_t i = 0; i != forked; ++i) {
    auto& newest = static_cast<sibling&>(*chain.newest());
    if (chain.pop_settled()) newest.queue();
  }
}

void activity::suspend_elsewhere(std::coroutine_handle<> h) noexcept {
  flush();
  leaf_ = h;
  leaf_is_ours_ = 0;
  settle_in();
}

void activity::requeue(std::coroutine_handle<> h, bool is_ours, pool_core* to) {
  std::optional<pool_core::arrival> arrival;
  if (to != nullptr && to != home())
    arrival.emplace(*to);
  else if (home()->is_discarding())
    throw cancelled();
  flush();
  leaf_ = h;
  leaf_is_ours_ = is_ours ? 1 : 0;
  if (to != nullptr && to != home()) {
    if (is_listed()) home()->residing.remove(*this);
    seat = any_seat;
    displaced.store(entry.is_queued(), std::memory_order_relaxed); // see offer()
    settle(to);
  }
  pool_core& there = *home();
  std::uint16_t const where = seat;
  // As soon as it is ready somebody may run it, and its pool end.
  std::optional<visit> here;
  if (&there != current->core) here.emplace(there);
  // Its own entry may stand where it belongs no more: in the middle of a queue, or in another pool's. Without
  // memory for a second one it goes on there.
  task* node = entry.is_queued() ? second() : nullptr;
  if (node == nullptr) {
    node = this;
    if (!entry.offer()) {
      there.notify(); // as in offer()
      return;
    }
  }
  if (where == any_seat)
    there.enqueue(node);
  else
    there.enqueue_on(where, node);
}

bool suspension::suspend(std::coroutine_handle<> h, bool is_ours) {
  activity& a = *own_trampoline.running;
  who_ = &a;
  a.flush();
  a.settle_in();
  if (!structured_ && !a.scope().add(*this)) {
    stopped_ = true;
    return false;
  }
  a.leaf_ = h;
  a.leaf_is_ours_ = is_ours ? 1 : 0;
  a.waits_on_.set(*this);
  bool inserted = false;
  try {
    inserted = insert();
  } catch (...) {
    a.waits_on_.clear();
    throw;
  }
  if (inserted && (stays_inserted() || waits_again())) return true;
  a.waits_on_.clear();
  return false;
}

bool suspension::stays_inserted() noexcept {
  // Either a stop request that came in between finds us in the list, or we find that it came: it says so
  // first, and looks into the list, under its lock, afterwards. seq_cst: as it does.
  if (stop_pending_.load(std::memory_order_seq_cst) && remove()) {
    stopped_ = true;
    return false;
  }
  phase expected = phase::setting_up;
  // acq_rel: release, for whoever resumes us; acquire: what it brought is there.
  return phase_.compare_exchange_strong(expected, phase::suspended, std::memory_order_acq_rel,
                                        std::memory_order_acquire);
}

bool suspension::waits_again() noexcept {
  while (!stopped_) {
    phase_.store(phase::setting_up, std::memory_order_relaxed); // relaxed: it is in no list
    if (!insert_again()) return false;
    if (stays_inserted()) return true;
  }
  return false;
}

void suspension::end_wait() noexcept {
  activity& a = *who_;
  // acq_rel: pairs with suspend().
  if (phase_.exchange(phase::over, std::memory_order_acq_rel) == phase::suspended) offer(a);
}

void suspension::stop_requested() noexcept {
  stop_pending_.store(true, std::memory_order_seq_cst);
  if (!remove()) return;
  stopped_ = true;
  end_wait();
}

bool suspension::retire() noexcept {
  // Once: afterwards the activity may end before this does.
  if (activity* const a = std::exchange(who_, nullptr)) a->scope().remove(*this);
  return stopped_;
}

} // namespace rubato::detail
