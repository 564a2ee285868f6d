// fib(n) by futures alone: a spawn at every leaf, when_all(...).then(...) at every node, no wait but for
// the last. The tree is made by one outside thread. ns per call of fib.
#pragma once

#include "../harness/measure.hpp"

#include <cstdint>
#include <tuple>
#include <utility>

namespace bench {

template<class R>
auto future_fib_of(R& r, std::uint64_t n) {
  if (n < 2) return r.spawn([n] { return n; });
  auto a = future_fib_of(r, n - 1);
  auto b = future_fib_of(r, n - 2);
  return R::when_all(std::move(a), std::move(b)).then([](std::tuple<std::uint64_t, std::uint64_t> both) {
    return std::get<0>(both) + std::get<1>(both);
  });
}

template<class R>
measurement future_fib(R& r, std::uint64_t n) {
  double calls[] = {1, 1};
  for (std::uint64_t i = 2; i <= n; ++i) {
    const double next = calls[0] + calls[1] + 1;
    calls[0] = calls[1];
    calls[1] = next;
  }
  future_fib_of(r, 12).get();
  return timed(calls[1], [&] { return std::uint64_t{future_fib_of(r, n).get()}; });
}

} // namespace bench
