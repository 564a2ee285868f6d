// fib(n), a fork at every call and nothing else: what a fork costs.
#pragma once

#include "../harness/measure.hpp"
#include "../harness/work.hpp"

namespace bench {

template<class R>
[[gnu::noinline]] std::uint64_t fib_of(std::uint64_t n) {
  if (n < 2) return n;
  auto [a, b] = R::join([n] { return fib_of<R>(n - 1); }, [n] { return fib_of<R>(n - 2); });
  return a + b;
}

/// Lets the contender start its threads before the clock does.
template<class R>
  requires requires(R& r) { r.run([] {}); }
void warm_up(R& r) {
  r.run([] { keep(fib_of<R>(18)); });
}

template<class R>
measurement fib(R& r, std::uint64_t n) {
  warm_up(r);
  measurement m;
  r.run([&] { m = timed(1, [&] { return fib_of<R>(n); }); });
  return m;
}

} // namespace bench
