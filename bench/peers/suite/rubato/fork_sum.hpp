// f(first) + ... + f(last - 1) by joins of closures, the range halved down to single numbers.
#pragma once

#include <rubato/join.hpp>

namespace entry {

template<class F>
auto fork_sum(unsigned first, unsigned last, F const& f) -> decltype(f(first)) {
  if (last - first == 1) return f(first);
  unsigned const middle = first + (last - first) / 2;
  auto [low, high] = rubato::join([&f, first, middle] { return fork_sum(first, middle, f); },
                                  [&f, middle, last] { return fork_sum(middle, last, f); });
  return low + high;
}

} // namespace entry
