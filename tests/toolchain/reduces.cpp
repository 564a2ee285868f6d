// A program that does little else than to reduce: g++ 12 inlines all of it, and looked into the result's
// destructor, which it took for a use of an exception that is not there (-Wmaybe-uninitialized).
#include <rubato/algorithm.hpp>
#include <rubato/pool.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <ranges>

int main() {
  rubato::pool pool(2);
  std::size_t sum = 0;
  for (long lo : {0L, 1L}) {
    auto const r = std::views::iota(lo, 100L);
    auto const one = [](long) { return std::size_t{1}; };
    sum += rubato::reduce(pool, r, std::size_t{0}, std::plus<>(), one);
    sum += rubato::reduce(pool, rubato::deterministic, r, std::size_t{0}, std::plus<>(), one);
  }
  std::printf("%zu\n", sum);
}
