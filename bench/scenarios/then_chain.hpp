// A chain of continuations, each of which adds one, from the first link made to the last value got; ns per
// link.
#pragma once

#include "../harness/measure.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace bench {

enum class known { first, last };

/// first: the value is there before the chain is made. last: it comes when the chain is complete.
template<known Value, class R>
measurement then_chain(R& r, std::uint64_t links) {
  auto chain = [&r](std::uint64_t n) {
    std::atomic<bool> made{Value == known::first};
    std::atomic<bool> begun{false};
    auto f = r.spawn([&] {
      begun.store(true);
      begun.notify_one();
      made.wait(false);
      return std::uint64_t{1};
    });
    begun.wait(false);
    if constexpr (Value == known::first) {
      while (!R::ready(f)) sleep_ns(10'000);
    }
    for (std::uint64_t i = 0; i != n; ++i) f = f.then([](std::uint64_t v) { return v + 1; });
    made.store(true);
    made.notify_one();
    return f.get();
  };
  chain(1000);
  return timed(static_cast<double>(links), [&] { return chain(links); });
}

} // namespace bench
