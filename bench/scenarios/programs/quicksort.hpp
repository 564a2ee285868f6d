// examples/algorithms/quicksort.hpp on any contender: random numbers of 32 bits; the whole sort.
#pragma once

#include "mergesort.hpp"

#include <algorithms/serial/partition_by.hpp>

#include <bit>

namespace bench {

template<class R>
void quicksort_to(numbers items, std::size_t depth) {
  if (items.size() <= algorithms::few) return algorithms::insertion_sort(items, std::less<>());
  if (depth == 0) {
    std::ranges::make_heap(items);
    std::ranges::sort_heap(items);
    return;
  }
  const std::uint32_t pivot = algorithms::choose_pivot(sorted_numbers(items), std::less<>());
  const std::size_t low = algorithms::partition_by(items, [pivot](std::uint32_t x) { return x < pivot; });
  if (low == 0) {
    const std::size_t equal =
        algorithms::partition_by(items, [pivot](std::uint32_t x) { return x <= pivot; });
    return quicksort_to<R>(items.subspan(equal), depth - 1);
  }
  const auto first = [=] { return quicksort_to<R>(items.first(low), depth - 1), 0; };
  const auto second = [=] { return quicksort_to<R>(items.subspan(low), depth - 1), 0; };
  if (items.size() <= worth_a_fork) {
    first();
    second();
  } else {
    static_cast<void>(R::join(first, second));
  }
}

template<class R>
measurement quicksort(R& r, std::uint64_t n) {
  auto items = random_numbers(n);
  warm_up(r);
  measurement m;
  r.run([&] {
    m = timed(1, [&] {
      return quicksort_to<R>(items, 2 * static_cast<std::size_t>(std::bit_width(n))), std::uint64_t{0};
    });
  });
  m.checksum = sum_of_places(items);
  return m;
}

} // namespace bench
