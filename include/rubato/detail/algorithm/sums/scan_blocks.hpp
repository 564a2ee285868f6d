// Scans by several threads, in one run over the memory. docs/design/algorithms.md
//
// The range is cut into blocks that fit into a cache. What comes before a block is known once the sums of all
// earlier blocks are. So a thread takes the next block, adds it up, and scans it while it is in its cache. If
// what comes before is not known yet, it leaves the scan for later and takes the next block: no thread waits
// for another one. A thread that works alone scans at once, without a sum.
//
// Related: D. Merrill and M. Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016).
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/algorithm/sums/add_up.hpp"
#include "rubato/detail/algorithm/sums/scan_order.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace rubato::detail {

template<class T, class Kernel>
class scan_in_blocks {
  using step = scan_order::step;
  struct block {
    std::optional<T> before{}, sum{};
  };

  Kernel const& kernel_;
  std::uint64_t const n_, length_;
  std::uint64_t const count_ = n_ / length_ + (n_ % length_ != 0);
  scan_order order_;
  std::unique_ptr<block[]> blocks_ = std::make_unique<block[]>(count_);

  /// For a thread that takes part.
  class taking_part {
    scan_order& order_;

  public:
    explicit taking_part(scan_order& order) noexcept
        : order_(order) {
      order_.enter();
    }
    taking_part(taking_part const&) = delete;
    ~taking_part() { order_.leave(); }
  };

  T scan(std::uint64_t b, T before) {
    return kernel_.scan(b * length_, std::min(n_, (b + 1) * length_), std::move(before));
  }
  void carry_on() {
    for (std::uint64_t b; (b = order_.to_carry()) != scan_order::no_block; order_.carried())
      blocks_[b + 1].before.emplace(
          detail::combined<T>(kernel_.op, std::as_const(*blocks_[b].before), std::move(*blocks_[b].sum)));
  }
  void run(scan_order::job const& j) {
    if (j.what == step::scan) {
      static_cast<void>(scan(j.first, *blocks_[j.first].before));
    } else if (j.what == step::add_up) {
      blocks_[j.first].sum.emplace(kernel_.sum(j.first * length_, std::min(n_, j.last * length_)));
      order_.added_up(j.first);
      carry_on();
    } else {
      T before = std::move(*blocks_[j.first].before);
      for (std::uint64_t b = j.first; b != j.last; ++b) before = scan(b, std::move(before));
      if (j.last != count_) blocks_[j.last].before.emplace(std::move(before));
      order_.scanned_at_once(j.last);
      carry_on();
    }
  }
  void take_part(thread_context& me) {
    stop_around const stop(me);
    taking_part const here(order_);
    std::uint32_t const workers = std::max(1U, size_of(*me.core));
    std::int64_t const us = ticks_per_us();
    chunk_size size;
    std::uint64_t mine = scan_order::no_block;
    std::int64_t begin = tick_count();
    for (bool called = workers == 1;;) {
      if (stop.stopped()) throw cancelled();
      scan_order::job const j = order_.next(mine, size, workers);
      if (j.what == step::none) return;
      run(j);
      std::int64_t const end = tick_count(), took = end - std::exchange(begin, end);
      auto const blocks = static_cast<std::uint32_t>(j.size());
      if (j.what == step::scan_at_once) size.learn(blocks, took, chunk_size::brief_us * us);
      if (j.what == step::add_up) mine = j.first;
      if (!called &&
          detail::outlasts(worth_a_wake_us * us, static_cast<std::uint32_t>(count_ - j.last), blocks, took)) {
        called = true;
        notify_of_latent(me);
      }
      if (me.chain.must_poll()) poll_requests(me);
    }
  }

public:
  /// `at_once`: see scan_order.
  scan_in_blocks(Kernel const& kernel, std::uint64_t n, std::uint64_t length, bool at_once, T before)
      : kernel_(kernel)
      , n_(n)
      , length_(length)
      , order_(count_, at_once) {
    blocks_[0].before.emplace(std::move(before));
  }

  void operator()(thread_context& me) {
    detail::for_chunks(nullptr, std::max(1U, size_of(*me.core)),
                       [this](thread_context& here, std::uint64_t, std::uint64_t) { take_part(here); });
    std::uint64_t const first = order_.oldest_left();
    detail::for_chunks(nullptr, count_ - first,
                       [this, first](thread_context&, std::uint64_t lo, std::uint64_t hi) {
                         for (; lo != hi; ++lo)
                           if (order_.claim(first + lo))
                             static_cast<void>(scan(first + lo, *blocks_[first + lo].before));
                       });
  }
};

} // namespace rubato::detail
