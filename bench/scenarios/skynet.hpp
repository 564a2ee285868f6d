// Skynet: a tree with ten children at every node, whose 10^levels leaves return their numbers.
#pragma once

#include "fib.hpp"

namespace bench {

template<class R>
[[gnu::noinline]] std::uint64_t skynet_of(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  const std::uint64_t part = leaves / 10;
  return R::sum(10, [=](std::uint64_t i) { return skynet_of<R>(first + i * part, part); });
}

template<class R>
measurement skynet(R& r, std::uint64_t levels) {
  std::uint64_t leaves = 1;
  for (; levels != 0; --levels) leaves *= 10;
  warm_up(r);
  measurement m;
  r.run([&] { m = timed(1, [&] { return skynet_of<R>(0, leaves); }); });
  return m;
}

} // namespace bench
