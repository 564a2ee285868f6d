// The engine of every parallel loop: one latent job per thread that works on it, split as long as anybody is
// idle.
//
// A thread holds a range [lo, hi) in one word. It takes chunks from the front; whoever wants work takes half
// of what is left from the back, in proportion to nothing but what is really left, so no grain has to be
// given. docs/design/loops.md. Source: lazy binary splitting (Tzannes et al., PPoPP 2010); chunks that shrink
// towards the end as in guided self-scheduling (Polychronopoulos and Kuck, 1987).
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/member.hpp"
#include "rubato/detail/pool_access.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>

namespace rubato::detail {

/// What is left of a piece: both ends in one word, so that owner and thief agree by compare-exchange alone.
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

  /// The owner: at most `most` from the front. Empty: nothing is left.
  [[nodiscard]] part take_front(std::uint32_t most) noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      auto const lo = static_cast<std::uint32_t>(w), hi = static_cast<std::uint32_t>(w >> 32U);
      std::uint32_t const n = std::min(most, hi - lo);
      if (n == 0) return {hi, hi};
      // relaxed: the word is all that is agreed on; what the items refer to was there before the loop.
      if (word_.compare_exchange_weak(w, pack(lo + n, hi), std::memory_order_relaxed,
                                      std::memory_order_relaxed))
        return {lo, lo + n};
    }
  }

  /// Others, under the chain's lock: the back half, the only item included.
  [[nodiscard]] part take_back() noexcept {
    std::uint64_t w = word_.load(std::memory_order_relaxed);
    for (;;) {
      auto const lo = static_cast<std::uint32_t>(w), hi = static_cast<std::uint32_t>(w >> 32U);
      if (lo == hi) return {hi, hi};
      std::uint32_t const middle = lo + (hi - lo) / 2;
      if (word_.compare_exchange_weak(w, pack(lo, middle), std::memory_order_relaxed, // as above
                                      std::memory_order_relaxed))
        return {middle, hi};
    }
  }
};

using split_range = basic_split_range<std_policy>;

/// A loop as a whole, in the frame of the thread that called it.
class loop_root {
  member* owner_;
  void* token_;                             // whose stop ends the loop
  std::atomic<std::uint32_t> elsewhere_{0}; // pieces that other threads run
  std::atomic<bool> ended_early_{false};
  mutex mutex_;
  std::exception_ptr error_; // guarded by mutex_

public:
  explicit loop_root(member& owner) noexcept
      : owner_(&owner)
      , token_(owner.chain.token()) {}
  loop_root(loop_root const&) = delete;
  loop_root& operator=(loop_root const&) = delete;

  [[nodiscard]] member& owner() const noexcept { return *owner_; }

  /// Begin nothing new?
  [[nodiscard]] bool stopped() const noexcept {
    return ended_early_.load(std::memory_order_relaxed) || (token_ != nullptr && scope_stopped());
  }
  void fail(std::exception_ptr e) noexcept {
    std::lock_guard const guard(mutex_);
    if (error_ == nullptr) error_ = std::move(e);
    ended_early_.store(true, std::memory_order_relaxed); // relaxed: an early end orders nothing
  }

  /// Some items will not be begun.
  void cut_short() noexcept { ended_early_.store(true, std::memory_order_relaxed); } // relaxed: as in fail()

  /// Under the lock of a chain that holds a piece, which keeps the root alive.
  void piece_leaves() noexcept { elsewhere_.fetch_add(1, std::memory_order_relaxed); }
  /// The last touch of whoever ran a piece: the root may be gone afterwards.
  void piece_ends() noexcept;
  [[nodiscard]] bool all_back() const noexcept {
    // acquire: pairs with piece_ends(), because the pieces' effects come before.
    return elsewhere_.load(std::memory_order_acquire) == 0;
  }

  /// The owner, out of work itself: helps with other threads' pieces, then waits. Throws the first exception;
  /// throws cancelled if the scope around the loop was stopped before it was done.
  void finish();

  /// Throws the first exception, if there was one.
  void throw_first();

private:
  [[nodiscard]] bool scope_stopped() const noexcept;
};

/// More work is left than is good for one thread: wakes a sleeping worker if there is one and none searches.
void call_for_help(member& me) noexcept;

/// A thread's share of a loop. `Body` gives the work: `typename Body::cell` per piece (may be empty), found
/// by `Body::cell* next_cell(cell*)`, and `void operator()(cell&, member&, std::uint64_t lo, std::uint64_t
/// hi)`.
template<class Body>
class loop_share final : latent_loop {
  using cell = typename Body::cell;
  static constexpr std::uint32_t most = 4096;
  static constexpr std::int64_t chunk_us = 50, worth_a_wake_us = 100;

  Body* body_;
  cell* cell_;
  std::uint64_t base_;
  split_range range_;

  static bool split_off(latent_loop& l, loop_piece& out) noexcept {
    auto& self = static_cast<loop_share&>(l);
    // The cell first: once items are taken there is no way back.
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

  static void run_elsewhere(loop_piece const& p, member& me) {
    auto& body = *static_cast<Body*>(p.root);
    loop_share share(body, static_cast<cell*>(p.cell), p.base, p.lo, p.hi);
    static_cast<void>(share.run(me));
    body.root.piece_ends();
  }

public:
  loop_share(Body& body, cell* c, std::uint64_t base, std::uint32_t lo, std::uint32_t hi) noexcept
      : latent_loop(&split_off, &body.root)
      , body_(&body)
      , cell_(c)
      , base_(base)
      , range_(lo, hi) {}

  /// Works until nothing is left here. False: it ended early, and the root knows why.
  bool run(member& me) noexcept {
    bool complete = true;
    bool const linked = !me.chain.full();
    if (linked) {
      me.chain.push(this);
      if (me.chain.must_look()) answer(me);
    }
    std::uint32_t const workers = std::max(1U, size_of(*me.core));
    std::uint32_t chunk = 1;
    bool called = false;
    std::int64_t before = tick_count();
    std::int64_t const short_chunk = chunk_us * ticks_per_us();
    for (;;) {
      std::uint32_t const left = range_.left().size();
      if (left == 0) break;
      if (body_->root.stopped()) {
        body_->root.cut_short();
        complete = false;
        break;
      }
      // Towards the end the chunks shrink, so that a heavy item hides no more than its share behind it.
      // Not quite, where items have been short so far: each chunk has its price.
      std::uint32_t const share = workers == 1 ? left : std::max(chunk < 64 ? 1U : 8U, left / workers);
      split_range::part const p = range_.take_front(std::min(chunk, share));
      if (p.size() == 0) break;
      try {
        (*body_)(*cell_, me, base_ + p.lo, base_ + p.hi);
      } catch (...) {
        body_->root.fail(std::current_exception());
        complete = false;
        break;
      }
      std::int64_t const now = tick_count();
      std::int64_t const took = now - before;
      before = now;
      if (took < short_chunk)
        chunk = std::min(chunk * (took < short_chunk / 8 ? 4 : 2), most);
      else
        chunk = std::max(1U, chunk / 2);
      if (!called && workers > 1 && took / p.size() * left > worth_a_wake_us * ticks_per_us()) {
        called = true;
        call_for_help(me);
      }
      if (linked && me.chain.must_look()) answer(me);
    }
    // Whatever left has left by the range; nothing is to be settled but that nobody looks at this frame.
    if (linked) static_cast<void>(me.chain.pop_settled());
    return complete;
  }
};

/// Runs body over [0, n) on the calling thread, with the help of whoever is idle.
template<class Body>
void run_loop(member& me, Body& body, std::uint64_t n) {
  constexpr std::uint64_t stride = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t base = 0;
  do {
    auto const size = static_cast<std::uint32_t>(std::min(stride, n - base));
    loop_share<Body> share(body, body.first_cell(base), base, 0, size);
    static_cast<void>(share.run(me));
    body.root.finish(); // throws if it ended early
    base += size;
  } while (base != n);
}

} // namespace rubato::detail
