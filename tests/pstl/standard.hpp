// What the tests of the standard library's parallel algorithms share.
#pragma once

#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/pool.hpp>

#include <array>
#include <cstddef>
#include <execution>
#include <memory>
#include <string>
#include <vector>

namespace rubato_test {

inline constexpr auto const& par = std::execution::par;

/// Lengths around those where a backend forks: with few blocks, with many, with none.
inline std::vector<std::size_t> standard_lengths() {
  std::vector<std::size_t> lengths{0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 100, 1000, 2047, 2049, 4097, 10'000};
  if (!under_tsan && !under_asan) lengths.push_back(40'000);
  return lengths;
}

/// Numbers below `bound`, scattered.
inline std::vector<int> numbers_below(int bound, std::size_t n, std::uint64_t seed = 1) {
  std::vector<int> made(n);
  scattered next(seed);
  for (int& x : made) x = static_cast<int>(next.below(static_cast<std::size_t>(bound)));
  return made;
}

/// Too long for a string without memory of its own.
inline std::string as_text(int x) { return "a number that needs memory: " + std::to_string(x); }
inline std::vector<std::string> texts_of(std::vector<int> const& numbers) {
  std::vector<std::string> made;
  for (int const x : numbers) made.push_back(as_text(x));
  return made;
}

inline std::vector<std::unique_ptr<int>> owned(std::vector<int> const& numbers) {
  std::vector<std::unique_ptr<int>> made;
  for (int const x : numbers) made.push_back(std::make_unique<int>(x));
  return made;
}
inline std::vector<int> values_of(std::vector<std::unique_ptr<int>> const& all) {
  std::vector<int> made;
  for (auto const& p : all) made.push_back(p != nullptr ? *p : -1);
  return made;
}
inline bool less_owned(std::unique_ptr<int> const& a, std::unique_ptr<int> const& b) { return *a < *b; }

/// A function object that its calls change, so that two threads must not share one.
template<class Op>
struct changing {
  Op op{};
  int calls = 0;
  template<class A, class B>
  auto operator()(A const& a, B const& b) {
    ++calls;
    return op(a, b);
  }
};

/// Each test runs its algorithms in a task of the pool, for all lengths.
class standard_algorithms : public on_workers {
protected:
  template<class F>
  void for_lengths(F f) {
    pool.run([&] {
      for (std::size_t const n : standard_lengths()) f(n);
    });
  }
};

} // namespace rubato_test
