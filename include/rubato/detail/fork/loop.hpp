// The engine of every parallel loop: one latent job per thread that works on it, which is split while a
// worker is idle.
//
// A thread has its share, a range [lo, hi), in one word. It takes chunks from the front; a thief takes half
// of the rest from the back. The split depends only on the remaining range, so no grain has to be given.
// docs/design/loops.md. Source: lazy binary splitting (Tzannes et al., PPoPP 2010); chunks that shrink
// towards the end as in guided self-scheduling (Polychronopoulos and Kuck, 1987).
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "rubato/detail/fork/chunk_size.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>

namespace rubato::detail {

/// The rest of a piece: both ends in one word, so owner and thief agree by compare-exchange alone.
template<class Policy>
class basic_split_range {
  typename Policy::template atomic<std::uint64_t> word_;

  static std::uint64_t pack(std::uint32_t lo, std::uint32_t hi) noexcept {
    return (std::uint64_t{hi} << 32U) | lo;
  }

public:
  struct part {
    std::uint32_t lo = 0, hi = 0;
    [[nodiscard]] std::uint32_t size() const noexcept { return hi - lo; }
  };

  basic_split_range(std::uint32_t lo, std::uint32_t hi) noexcept
      : word_(pack(lo, hi)) {}

  [[nodiscard]] part left() const noexcept {
    std::uint64_t const w = word_.load(std::memory_order_relaxed);
    return {static_cast<std::uint32_t>(w), static_cast<std::uint32_t>(w >> 32U)};
  }

  /// For the owner: takes at most `most` items from the front. Empty: nothing is left.
  [[nodiscard]] part take_front(std::uint32_t most) noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      auto const lo = static_cast<std::uint32_t>(w), hi = static_cast<std::uint32_t>(w >> 32U);
      std::uint32_t const n = std::min(most, hi - lo);
      if (n == 0) return {hi, hi};
      // relaxed: the word alone is agreed on; the items' data was written before the loop.
      if (word_.compare_exchange_weak(w, pack(lo + n, hi), std::memory_order_relaxed,
                                      std::memory_order_relaxed))
        return {lo, lo + n};
    }
  }

  /// For thieves, under the chain's lock: takes the back half, also a single item.
  [[nodiscard]] part take_back() noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      auto const lo = static_cast<std::uint32_t>(w), hi = static_cast<std::uint32_t>(w >> 32U);
      if (lo == hi) return {hi, hi};
      std::uint32_t const middle = detail::even_middle(lo, hi);
      if (word_.compare_exchange_weak(w, pack(lo, middle), std::memory_order_relaxed, // as above
                                      std::memory_order_relaxed))
        return {middle, hi};
    }
  }
};

using split_range = basic_split_range<std_policy>;

/// The stop scope of the calling thread's task, as a loop that begins there sees it.
class stop_around {
  pool_core* core_;
  stop_scope const* scope_; // null: it cannot be stopped

  [[nodiscard]] RUBATO_API bool scope_stopped() const noexcept;

public:
  explicit stop_around(thread_context& me) noexcept
      : core_(me.core)
      , scope_(scope_of_token(me.chain.token())) {}
  /// True if the loop must not begin another chunk.
  [[nodiscard]] bool stopped() const noexcept { return scope_ != nullptr && scope_stopped(); }
};

/// A loop as a whole, in the frame of the thread that called it.
class RUBATO_API loop_root {
  thread_context* owner_;
  stop_around around_;
  fp_modes const modes_ = fp_modes::of_this_thread();
  fork_scope stop_;                    // all calls of the loop; the first failure stops it
  countdown<std::uint32_t> elsewhere_; // pieces that other threads run
  relaxed<bool> ended_early_;
  mutex mutex_;
  std::exception_ptr error_ RUBATO_GUARDED_BY(mutex_);

public:
  explicit loop_root(thread_context& owner) noexcept
      : owner_(&owner)
      , around_(owner)
      , stop_(scope_of_token(owner.chain.token())) {}

  /// True if no further chunk may begin.
  [[nodiscard]] bool stopped() const noexcept { return ended_early_.get() || around_.stopped(); }
  /// Those of the thread that called the loop. All calls of the loop have them.
  [[nodiscard]] fp_modes const& modes() const noexcept { return modes_; }
  /// The scope of the loop's calls.
  [[nodiscard]] stop_scope& stop() noexcept { return stop_.own; }
  /// For a thread that runs a part of the loop, outside its handler: stop callbacks run here.
  void fail(std::exception_ptr e) noexcept {
    {
      lock_guard const guard(mutex_);
      if (error_ != nullptr) return;
      error_ = std::move(e);
      ended_early_.set(true);
    }
    stop_.own.request_stop();
  }

  /// Some items will never begin.
  void cut_short() noexcept { ended_early_.set(true); }

  /// Under the lock of a chain that holds a piece, which keeps the root alive.
  void piece_leaves() noexcept { elsewhere_.add(); }
  /// The last access of the thread that ran a piece: the root may be gone afterwards.
  void piece_ends() noexcept;
  [[nodiscard]] bool all_back() const noexcept { return elsewhere_.is_over(); }

  /// For the owner, when its own share is done: helps with other threads' pieces, then waits. Throws the
  /// first exception; throws cancelled if the scope around the loop was stopped before the end.
  void finish();

  /// Throws the first exception, if there was one.
  void throw_first();
};

/// A thread's share of a loop. `Body` defines the work: `typename Body::cell` per piece (may be empty), found
/// by `Body::cell* next_cell(cell*)`, and `void operator()(cell&, thread_context&, std::uint64_t lo,
/// std::uint64_t hi)`.
template<class Body>
class loop_share final : latent_loop {
  using cell = typename Body::cell;
  Body* body_;
  cell* cell_;
  std::uint64_t base_;
  split_range range_;

  static bool split_off(latent_loop& l, loop_piece& out) noexcept {
    auto& self = static_cast<loop_share&>(l);
    // The cell first: taken items cannot be given back.
    cell* const c = self.body_->next_cell(self.cell_);
    if (c == nullptr) return false;
    split_range::part const p = self.range_.take_back();
    if (p.size() == 0) {
      self.body_->drop_cell(self.cell_, c);
      return false;
    }
    self.body_->root.piece_leaves();
    out.exec = &run_elsewhere;
    out.root = self.body_;
    out.cell = c;
    out.base = self.base_;
    out.lo = p.lo;
    out.hi = p.hi;
    return true;
  }

  static void run_elsewhere(loop_piece const& p, thread_context& me) {
    auto& body = *static_cast<Body*>(p.root);
    {
      fp_modes_in_force const modes(body.root.modes());
      loop_share share(body, static_cast<cell*>(p.cell), p.base, p.lo, p.hi);
      static_cast<void>(share.run(me));
    }
    body.root.piece_ends();
  }

  /// False: it has failed.
  [[gnu::always_inline]] bool run_chunk(thread_context& me, split_range::part p) noexcept {
    std::exception_ptr error;
    try {
      (*body_)(*cell_, me, base_ + p.lo, base_ + p.hi);
    } catch (...) {
      error = std::current_exception();
    }
    if (error == nullptr) [[likely]]
      return true;
    body_->root.fail(std::move(error));
    return false;
  }

public:
  loop_share(Body& body, cell* c, std::uint64_t base, std::uint32_t lo, std::uint32_t hi) noexcept
      : latent_loop(&split_off, &body.root)
      , body_(&body)
      , cell_(c)
      , base_(base)
      , range_(lo, hi) {}

  /// Works until the share is empty. False: it ended early, for a reason that the root has.
  bool run(thread_context& me) noexcept {
    bool const linked = range_.left().size() > 1 && !me.chain.full(); // a single item is not shared: no wake
    if (linked) {
      me.chain.push(this);
      if (me.chain.must_poll()) poll_requests(me);
    }
    std::uint32_t const workers = std::max(1U, size_of(*me.core));
    std::int64_t const us = ticks_per_us();
    chunk_size chunk;
    bool called = false;
    std::int64_t before = tick_count();
    bool complete = true;
    for (;;) {
      split_range::part const rest = range_.left();
      std::uint32_t const left = rest.size();
      if (left == 0) break;
      if (body_->root.stopped()) {
        body_->root.cut_short();
        complete = false;
        break;
      }
      split_range::part const p =
          range_.take_front(detail::ending_even(rest.lo, chunk.of(left, workers), left));
      if (p.size() == 0) break;
      complete = run_chunk(me, p);
      if (!complete) [[unlikely]]
        break;
      std::int64_t const now = tick_count();
      std::int64_t const took = now - before;
      before = now;
      chunk.learn(p.size(), took, chunk_size::brief_us * us);
      if (!called && workers > 1 && outlasts(worth_a_wake_us * us, left, p.size(), took)) {
        called = true;
        notify_of_latent(me);
      }
      if (linked && me.chain.must_poll()) poll_requests(me);
    }
    // Items that left the share left by the range. This only makes sure that no thief reads this frame any
    // more.
    if (linked) static_cast<void>(me.chain.pop_settled());
    return complete;
  }
};

/// Runs body over [0, n) on the calling thread and all idle workers.
template<class Body>
void run_loop(thread_context& me, Body& body, std::uint64_t n) {
  constexpr std::uint64_t stride = std::numeric_limits<std::uint32_t>::max() / even_items * even_items;
  std::uint64_t base = 0;
  // Pieces that other threads split off get it as the token in force at the share.
  token_in_force const token(me.chain, &body.root.stop());
  do {
    auto const size = static_cast<std::uint32_t>(std::min(stride, n - base));
    loop_share<Body> share(body, body.first_cell(base), base, 0, size);
    static_cast<void>(share.run(me));
    body.root.finish(); // throws if it ended early
    base += size;
  } while (base != n);
}

} // namespace rubato::detail
