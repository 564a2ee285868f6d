// The search for the first place at which something is so: blocks are taken in order, and none behind the
// first match so far. docs/design/algorithms.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

namespace rubato::detail {

/// The first place so far at which a search would end: a match, or a predicate that has thrown.
class first_event {
  relaxed<std::uint64_t> at_; // changed under the lock
  mutex mutex_;
  std::exception_ptr error_ RUBATO_GUARDED_BY(mutex_);

public:
  explicit first_event(std::uint64_t end) noexcept
      : at_(end) {}

  [[nodiscard]] std::uint64_t place() const noexcept { return at_.get(); }
  void happens(std::uint64_t at, std::exception_ptr error = nullptr) noexcept {
    lock_guard const guard(mutex_);
    if (at >= at_.get()) return;
    at_.set(at);
    std::swap(error_, error); // the old one is destroyed after the lock
  }
  /// When all threads have ended.
  [[nodiscard]] std::uint64_t result() {
    lock_guard const guard(mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
    return at_.get();
  }
};

/// The elements that a thread takes at once: more while they are brief, fewer towards the end.
class search_chunk {
  static constexpr std::int64_t brief_us = 10;
  std::uint32_t wanted_;

public:
  static constexpr std::uint32_t most = 1U << 15U;

  explicit search_chunk(std::uint32_t first) noexcept
      : wanted_(first) {}

  [[nodiscard]] std::uint32_t of(std::uint64_t left, std::uint32_t threads) const noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(left / (2 * threads), 1, wanted_));
  }
  void learn(std::uint32_t size, std::int64_t took) noexcept {
    std::int64_t const brief = brief_us * ticks_per_us();
    if (took < brief / 4)
      wanted_ = std::min(wanted_ * 4, most);
    else if (took > brief) // as many of these elements as are brief
      wanted_ = static_cast<std::uint32_t>(std::max(std::int64_t{1}, size * brief / took));
  }
};

/// test(lo, hi, at) returns the first match in [lo, hi), else hi. Before it throws, `at` is the place.
template<class Test>
class ordered_search {
  std::uint64_t const n_;
  std::uint32_t const threads_, first_chunk_;
  Test const& test_;
  first_event found_;
  relaxed<std::uint64_t> next_;

public:
  ordered_search(std::uint64_t from, std::uint64_t n, std::uint32_t threads, std::uint32_t first_chunk,
                 Test const& test) noexcept
      : n_(n)
      , threads_(threads)
      , first_chunk_(first_chunk)
      , test_(test)
      , found_(n)
      , next_(from) {}

  /// For each thread. Throws cancelled if stopped.
  void take_part(thread_context& me) {
    stop_around const around(me);
    search_chunk chunk(first_chunk_);
    bool called = threads_ == 1;
    for (std::int64_t before = tick_count();;) {
      if (around.stopped()) throw cancelled();
      std::uint64_t const end = found_.place();
      std::uint64_t const seen = next_.get();
      if (seen >= end) return;
      std::uint32_t const size = chunk.of(end - seen, threads_);
      std::uint64_t const lo = next_.add(size);
      if (lo >= end) return;
      search(lo, std::min(lo + size, n_));
      std::int64_t const now = tick_count();
      std::int64_t const took = now - std::exchange(before, now);
      chunk.learn(size, took);
      if (!called && detail::will_outlast(worth_a_wake_us, end - lo, size, took)) {
        called = true;
        notify_of_latent(me);
      }
    }
  }
  [[nodiscard]] std::uint64_t result() { return found_.result(); }

private:
  void search(std::uint64_t lo, std::uint64_t hi) noexcept {
    std::uint64_t at = lo;
    try {
      std::uint64_t const match = test_(lo, hi, at);
      if (match != hi) found_.happens(match);
    } catch (...) {
      found_.happens(at, std::current_exception());
    }
  }
};

template<class Test>
std::uint64_t search_with_pool(pool* p, std::uint64_t from, std::uint64_t n, std::uint32_t first_chunk,
                               Test const& test) {
  return detail::on_pool(p, [&](thread_context& me) {
    std::uint32_t const threads = std::max(1U, size_of(*me.core));
    ordered_search<Test> search(from, n, threads, first_chunk, test);
    detail::for_chunks(nullptr, threads, [&search](thread_context& m, std::uint64_t lo, std::uint64_t hi) {
      for (; lo != hi; ++lo) search.take_part(m);
    });
    return search.result();
  });
}

template<class Test>
std::uint64_t call_test(Test const& test, std::uint64_t lo, std::uint64_t hi) {
  std::uint64_t at = lo;
  return test(lo, hi, at);
}

/// The first match in [0, n), else n. The caller looks at the first elements alone: a match there costs no
/// look at a pool, and it shows whether the others are worth sharing.
template<bool Numbers, class Test>
std::uint64_t first_match(pool* p, std::uint64_t n, Test const& test) {
  constexpr std::uint32_t few = 64;
  if (n <= (Numbers ? few_numbers : few)) return detail::call_test(test, 0, n);
  std::uint64_t done = 0;
  bool heavy = false;
  for (std::uint64_t const end : {std::uint64_t{few}, std::min(few_numbers, n)}) {
    std::int64_t const begin = tick_count();
    std::uint64_t const match = detail::call_test(test, done, end);
    if (match != end || end == n) return match;
    std::int64_t const took = tick_count() - begin;
    if (!detail::is_worth_sharing(n - end, static_cast<std::uint32_t>(end - done), took))
      return detail::call_test(test, end, n);
    done = end;
    heavy = took > brief_rest_us * ticks_per_us();
    if (heavy) break;
  }
  if (!heavy) {
    std::uint64_t match = n;
    done = detail::blocks_alone(p, done, n, alone_at_once, [&](std::uint64_t lo, std::uint64_t hi) {
      std::uint64_t const at = detail::call_test(test, lo, hi);
      if (at != hi) match = at;
      return at == hi;
    });
    if (match != n || done == n) return match;
  }
  return detail::search_with_pool(p, done, n, heavy ? 1 : few, test);
}

} // namespace rubato::detail
