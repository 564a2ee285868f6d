// The same function once on every seat.
#include "work/park.hpp"
#include "work/pool_core.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace rubato::detail {

namespace {

struct call_state {
  void (*body)(void*, std::size_t, member&);
  void* arg;
  std::atomic<std::size_t> left;
  pool_thread* waiter;
};

/// In the inbox of its seat, and in the caller's list until then; the last of the two frees it.
struct copy final : task {
  call_state* state;   // gone once the copy has run
  pool_thread* waiter; // the record outlives both
  std::size_t seat_index;
  bool kept = false; // by the caller, who runs it
  std::atomic<bool> begun{false};
  std::atomic<bool> dropped{false}; ///< by a shutdown: the waiter is to run it
  std::atomic<int> owners{2};

  copy(call_state& s, std::size_t i) noexcept
      : task(&run_or_drop)
      , state(&s)
      , waiter(s.waiter)
      , seat_index(i) {
    holds_room = false;
  }

  /// True: the caller is the one who runs it.
  [[nodiscard]] bool claim() noexcept { return !begun.exchange(true, std::memory_order_acq_rel); }

  void run(pool_thread& t) noexcept {
    state->body(state->arg, seat_index, t);
    pool_thread* const w = waiter; // before: all dies with the last one
    if (state->left.fetch_sub(1, std::memory_order_acq_rel) == 1) w->parker.unpark();
  }

  static void run_or_drop(task& base, member* runner) noexcept {
    auto& self = static_cast<copy&>(base);
    if (runner != nullptr) {
      if (self.claim()) self.run(thread_of(*runner));
    } else if (!self.begun.load(std::memory_order_acquire)) {
      self.dropped.store(true, std::memory_order_release);
      self.waiter->parker.unpark();
    }
    self.let_go();
  }
  void let_go() noexcept {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
};

} // namespace

void pool_core::broadcast(void (*prepare)(void*, std::size_t), void (*body)(void*, std::size_t, member&),
                          void* arg) {
  pool_thread& me = thread_of(*current);
  std::vector<std::unique_ptr<copy>> copies;
  call_state state{body, arg, 0, &me};
  // A worker runs the copy for its own seat before it waits and leaves the seat. A guest leaves its own to a
  // worker, for which the copy is.
  seat const* const own = me.worker ? me.sits_on() : nullptr;
  {
    std::lock_guard const guard(life_); // a snapshot: no seat opens or closes meanwhile
    std::size_t const n = size();
    prepare(arg, n);
    copies.reserve(n);
    for (std::size_t i = 0; i != n; ++i) copies.push_back(std::make_unique<copy>(state, i));
    state.left.store(n, std::memory_order_relaxed);
    for (std::size_t i = 0; i != n; ++i)
      if (seat* s = seat_at(static_cast<unsigned>(i)); s == own)
        copies[i]->kept = true;
      else
        enqueue_for(*s, copies[i].get());
  }
  if (copies.empty()) return;
  // Who waits first runs what it waits for.
  for (auto const& c : copies) {
    if (!c->kept) continue;
    if (c->claim()) c->run(me);
    c->let_go(); // it is in no inbox
  }
  auto const stranded = [&](copy const& c) {
    // Nobody sits there and nobody can: the waiter is the one thread that is left for it.
    return !c.begun.load(std::memory_order_acquire) &&
           (c.dropped.load(std::memory_order_acquire) ||
            (seat_at(static_cast<unsigned>(c.seat_index))->occupant.load(std::memory_order_acquire) ==
                 nullptr &&
             nobody_to_call()));
  };
  auto const ended = [&] { return state.left.load(std::memory_order_acquire) == 0; };
  while (!ended()) {
    park_until(me, "broadcast", nullptr, [&] {
      return ended() ||
             std::any_of(copies.begin(), copies.end(), [&](auto const& c) { return stranded(*c); });
    });
    for (auto const& c : copies)
      if (!ended() && stranded(*c) && c->claim()) c->run(me);
  }
  for (auto& c : copies) c.release()->let_go();
}

void broadcast_erased(pool_core& c, void (*prepare)(void*, std::size_t seats),
                      void (*body)(void*, std::size_t seat, member&), void* arg) {
  struct args {
    pool_core& core;
    void (*prepare)(void*, std::size_t);
    void (*body)(void*, std::size_t, member&);
    void* arg;
  } a{c, prepare, body, arg};
  run_as_member(
      &c.handle(),
      [](void* p, member&) {
        auto& x = *static_cast<args*>(p);
        x.core.broadcast(x.prepare, x.body, x.arg);
      },
      &a);
}

} // namespace rubato::detail
