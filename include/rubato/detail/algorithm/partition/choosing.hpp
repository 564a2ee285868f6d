// copy_if and filter: rounds of blocks. In a round the threads choose elements of each block. Then it is
// known where these go, and in the next round they are written there. docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/algorithm/partition/chosen_blocks.hpp"
#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/algorithm/search/matching.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/work/callable.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// True for an output at the end of a vector that lends its room.
template<class O, class T>
inline constexpr bool appends_packed = false;
template<class T>
inline constexpr bool appends_packed<appender<T>, T> = appender<T>::makes_room;

/// By the calling thread.
template<class Test, class I, class O>
O choose_alone(Test const& test, I const& first, std::uint64_t lo, std::uint64_t hi, O out) {
  using value = std::iter_value_t<I>;
  if constexpr (packable<I> && takes_bytes_of<O, value>) {
    value* const begin = std::to_address(out);
    return detail::moved_by(out, static_cast<std::uint64_t>(detail::pack(test, lo, hi, begin) - begin));
  } else if constexpr (packable<I> && appends_packed<O, value>) {
    out.append_by(hi - lo, [&](std::uint64_t n, value* to) {
      lo += n;
      return detail::pack(test, lo - n, lo, to);
    });
  } else if constexpr (packable<I>) {
    constexpr std::uint32_t most = 512;
    alignas(value) std::byte room[most * sizeof(value)];
    auto* const values = reinterpret_cast<value*>(room);
    while (lo != hi) {
      auto const size = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, hi - lo));
      auto const chosen = static_cast<std::uint32_t>(detail::pack(test, lo, lo + size, values) - values);
      out = detail::put(values, chosen, std::move(out));
      lo += size;
    }
  } else {
    auto in = detail::cursor_at(first, lo);
    for (auto c = test.cursor(lo); lo != hi; ++lo, void(), ++c, void(), ++in)
      if (test(c)) {
        *out = *in;
        ++out;
      }
  }
  return out;
}

/// The blocks of a round.
inline constexpr std::uint32_t blocks_at_once = 128;

/// Where a round begins, and how long its blocks are. Those of the first half are longer: the calling thread
/// is faster with them, because it writes them to their place at once.
struct round_of_blocks {
  std::uint64_t begin, n;
  std::uint32_t block, longer; // `longer`: by so much
  std::uint32_t blocks = 0;

  static constexpr std::uint64_t half = blocks_at_once / 2;

  /// Where block i begins, from the beginning of the round.
  [[nodiscard]] std::uint64_t offset(std::uint64_t i) const noexcept {
    return i * block + longer * (i < half ? i : 2 * half - i);
  }
  [[nodiscard]] std::uint64_t lo(std::uint64_t i) const noexcept { return begin + offset(i); }
  [[nodiscard]] std::uint64_t hi(std::uint64_t i) const noexcept { return std::min(n, lo(i + 1)); }
  [[nodiscard]] round_of_blocks next() const noexcept {
    round_of_blocks r{blocks == 0 ? begin : hi(blocks - 1), n, block, longer};
    while (r.blocks != blocks_at_once && r.lo(r.blocks) < n) ++r.blocks;
    return r;
  }
};

/// Puts what is chosen of [from, n) into the sink. sink.grow(number, done): so many were chosen of the first
/// `done` elements. sink.at(i): where the i-th of them is written. choose_to(lo, hi, out) writes what is
/// chosen of an interval, and returns the end.
///
/// The calling thread goes through a round from its beginning. So it knows where the elements of its blocks
/// go, until it comes to one that another thread has taken. Those are written when the round is over.
template<class Blocks, class Sink, class ChooseTo>
void choose_in_rounds(pool* p, std::uint64_t from, std::uint64_t n, std::uint32_t block, Blocks& blocks,
                      Sink& sink, ChooseTo const& choose_to) {
  detail::on_pool(p, [&](thread_context& me) {
    notify_of_latent(me); // no round is long enough to do so
    std::array<std::uint64_t, blocks_at_once> place{};
    std::uint64_t number = 0;
    round_of_blocks before{from, n, block, Sink::is_direct ? block / 4 : 0};
    for (round_of_blocks now = before.next(); before.blocks + now.blocks != 0;) {
      std::uint64_t at_place = 0; // the blocks before are written; changed by this thread alone
      detail::for_chunks(
          nullptr, std::max(before.blocks, now.blocks),
          [&](thread_context& here, std::uint64_t lo, std::uint64_t hi) {
            for (std::uint64_t i = lo; i != hi; ++i) {
              if constexpr (Sink::is_shared)
                if (i < before.blocks)
                  blocks.write(i, before.offset(i), before.lo(i), before.hi(i), sink.at(place[i]));
              if (i >= now.blocks) continue;
              if constexpr (Sink::is_direct)
                if (&here == &me && i == at_place) {
                  auto const begin = sink.at(number);
                  number += static_cast<std::uint64_t>(choose_to(now.lo(i), now.hi(i), begin) - begin);
                  blocks.is_written(i);
                  ++at_place;
                  continue;
                }
              blocks.choose(i, now.offset(i), now.lo(i), now.hi(i));
            }
          });
      for (std::uint64_t i = at_place; i < now.blocks; ++i) {
        place[i] = number;
        number += blocks.number(i);
      }
      if (now.blocks != 0) sink.grow(number, now.hi(now.blocks - 1) - from);
      if constexpr (!Sink::is_shared)
        for (std::uint64_t i = 0; i != now.blocks; ++i)
          blocks.write(i, now.offset(i), now.lo(i), now.hi(i), sink.next());
      before = now;
      now = now.next();
    }
    sink.written = number;
  });
}

/// An output that has room for all.
template<class O>
struct output_sink {
  static constexpr bool is_shared = true, is_direct = true;
  O out;
  std::uint64_t written = 0;

  void grow(std::uint64_t /*number*/, std::uint64_t /*done*/) const noexcept {}
  [[nodiscard]] O at(std::uint64_t i) const { return detail::moved_by(out, i); }
};

/// A vector that grows between the rounds. Where its elements cannot be made before they are written, or
/// share a word, the calling thread appends.
template<class T, class Reference>
struct vector_sink {
  static constexpr bool is_direct = false;
  static constexpr bool is_shared = std::is_nothrow_default_constructible_v<T> &&
                                    std::is_assignable_v<T&, Reference> && !std::is_same_v<T, bool>;
  std::vector<T>& values;
  std::uint64_t n; ///< elements that are looked at
  std::size_t begin = values.size();
  std::uint64_t written = 0;

  void grow(std::uint64_t number, std::uint64_t done) {
    std::size_t const wanted = begin + number;
    if (wanted > values.capacity()) {
      double const all = static_cast<double>(number) * (static_cast<double>(n) / static_cast<double>(done));
      values.reserve(
          std::max(wanted, std::min(begin + n, std::max(begin + static_cast<std::size_t>(all * 1.02) + 64,
                                                        values.capacity() / 2 * 3))));
    }
    if constexpr (is_shared) values.resize(wanted);
  }
  [[nodiscard]] auto at(std::uint64_t i) const { return detail::moved_by(values.begin(), begin + i); }
  [[nodiscard]] auto next() const { return appender<T>(values); }
};

/// The elements of a block of a round. The room of a round stays in the cache of a core.
template<class I>
constexpr std::uint32_t block_of_round(std::uint64_t n) noexcept {
  constexpr std::uint64_t most = packable<I> ? 8192 / sizeof(std::iter_value_t<I>) : 4096;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>((n - 1) / blocks_at_once + 1, array_of_numbers<I> ? 64 : 1, most));
}

/// In parallel, [from, n). False: there was no memory, or no second thread, and nothing has happened.
template<class I, class Test, class Sink>
bool choose_with_pool(pool* p, I const& first, std::uint64_t from, std::uint64_t n, Test const& test,
                      Sink& sink) {
  auto const choose_to = [&](std::uint64_t lo, std::uint64_t hi, auto out) {
    return detail::choose_alone(test, first, lo, hi, std::move(out));
  };
  auto const run = [&](auto blocks) {
    if (blocks.has_memory())
      detail::choose_in_rounds(p, from, n, block_of_round<I>(n - from), blocks, sink, choose_to);
    return blocks.has_memory();
  };
  if (size_of(*core_of(pool_or_current(p))) <= 1) return false;
  if constexpr (packable<I>)
    return run(packed_blocks<Test, std::iter_value_t<I>, blocks_at_once>(test, block_of_round<I>(n - from)));
  else
    return run(marked_blocks<I, Test, blocks_at_once>(first, test, block_of_round<I>(n - from)));
}

/// The rest by the calling thread, which sees a stop of the scope around it.
template<class Test, class I, class O>
O choose_rest(Test const& test, I const& first, std::uint64_t from, std::uint64_t n, O out) {
  constexpr std::uint64_t step = array_of_numbers<I> ? 4096 : 16;
  while (from != n) {
    throw_if_stopped();
    std::uint64_t const hi = std::min(n, from + step);
    out = detail::choose_alone(test, first, std::exchange(from, hi), hi, std::move(out));
  }
  return out;
}

/// The first elements, by the calling thread: all of them, if there is little to do. Returns how many.
template<class I, class Test, class O>
std::uint64_t choose_first(I const& first, std::uint64_t n, Test const& test, O& out) {
  constexpr std::int64_t brief_us = 100; // with a second thread each element is written twice
  if constexpr (!array_of_numbers<I>) return 0;
  std::uint64_t done = 0;
  auto const go_on = [&](std::uint64_t hi) {
    out = detail::choose_alone(test, first, std::exchange(done, hi), hi, std::move(out));
  };
  if (n > few_numbers)
    for (std::uint32_t const size : {64U, 448U}) {
      std::int64_t const begin = tick_count();
      go_on(done + size);
      std::int64_t const took = tick_count() - begin;
      if (!detail::will_outlast(brief_us, n - done, size, took)) break;
      if (size == 448 || took > brief_us * ticks_per_us()) return done;
    }
  if constexpr (appends_packed<O, std::iter_value_t<I>>)
    if (done != 0) out.reserve(done, n);
  go_on(n);
  return n;
}

template<class I, class S, class O, class Pred, class Proj>
std::ranges::copy_if_result<I, O> copy_chosen(pool* p, I first, S last, O out, Pred const& pred,
                                              Proj const& proj) {
  if constexpr (std::contiguous_iterator<I> && std::sized_sentinel_for<S, I> && std::contiguous_iterator<O>)
    RUBATO_ASSERT(!detail::begins_within(first, last, out),
                  "copy_if() writes into its own input: remove_if() works in place", last - first);
  if constexpr (splittable_from<I, S>) {
    std::uint64_t const n = detail::length_of(first, last);
    element_test<I, Pred, Proj> const test{first, pred, proj};
    std::uint64_t const done = detail::choose_first(first, n, test, out);
    if (done != n) {
      if constexpr (splittable_output<O>) {
        output_sink<O> sink{std::move(out)};
        if (detail::choose_with_pool(p, first, done, n, test, sink))
          return {detail::moved_by(first, n), sink.at(sink.written)};
        out = std::move(sink.out);
      }
      out = detail::choose_rest(test, first, done, n, std::move(out));
    }
    return {detail::moved_by(first, n), std::move(out)};
  } else {
    for (walk w; first != last; ++first) {
      w.step();
      if (!std::invoke(pred, std::invoke(proj, *first))) continue;
      *out = *first;
      ++out;
    }
    return {std::move(first), std::move(out)};
  }
}

template<class R, class Pred, class Proj>
std::vector<std::ranges::range_value_t<R>> filter_range(pool* p, R& range, Pred const& pred,
                                                        Proj const& proj) {
  using value = std::ranges::range_value_t<R>;
  auto first = std::ranges::begin(range);
  auto const last = detail::end_of(range);
  using iterator = decltype(first);
  std::vector<value> chosen;
  if constexpr (splittable_from<iterator, std::remove_const_t<decltype(last)>>) {
    std::uint64_t const n = detail::length_of(first, last);
    element_test<iterator, Pred, Proj> const test{first, pred, proj};
    appender<value> out(chosen);
    std::uint64_t const done = detail::choose_first(first, n, test, out);
    if (done == n) return chosen;
    vector_sink<value, std::ranges::range_reference_t<R>> sink{chosen, n - done};
    if (!detail::choose_with_pool(p, first, done, n, test, sink))
      detail::choose_rest(test, first, done, n, out);
  } else {
    detail::copy_chosen(p, std::move(first), last, appender<value>(chosen), pred, proj);
  }
  return chosen;
}

} // namespace rubato::detail
