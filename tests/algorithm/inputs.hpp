// The inputs that algorithms on ordered elements are tested with, as integers of any kind of order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato_test {

enum class shape : unsigned char {
  random,
  sorted,
  reversed,
  constant,
  organ_pipe,
  sawtooth,
  ten_values,
  median_of_3_killer,
  almost_sorted
};
inline constexpr std::array all_shapes{
    shape::random,   shape::sorted,     shape::reversed,           shape::constant,     shape::organ_pipe,
    shape::sawtooth, shape::ten_values, shape::median_of_3_killer, shape::almost_sorted};

constexpr std::string_view name_of(shape s) {
  constexpr std::array names{std::string_view("random"),       std::string_view("sorted"),
                             std::string_view("reversed"),     std::string_view("constant"),
                             std::string_view("organ_pipe"),   std::string_view("sawtooth"),
                             std::string_view("ten_values"),   std::string_view("median_of_3_killer"),
                             std::string_view("almost_sorted")};
  return names[static_cast<std::size_t>(s)];
}

/// Scattered numbers, the same in each run: splitmix64.
class scattered {
  std::uint64_t state_;

public:
  explicit constexpr scattered(std::uint64_t seed)
      : state_(seed) {}
  constexpr std::uint64_t operator()() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
  /// Below `bound`.
  constexpr std::size_t below(std::size_t bound) { return static_cast<std::size_t>((*this)() % bound); }
};

/// n numbers in that arrangement; up to 2^31 of them fit.
inline std::vector<int> input_of(shape s, std::size_t n, std::uint64_t seed = 1) {
  std::vector<int> made(n);
  scattered next(seed);
  auto const number = [](std::size_t i) { return static_cast<int>(i); };
  for (std::size_t i = 0; i != n; ++i) switch (s) {
    case shape::random:
      made[i] = static_cast<int>(next() >> 32U);
      break;
    case shape::sorted:
    case shape::almost_sorted:
      made[i] = number(i);
      break;
    case shape::reversed:
      made[i] = number(n - i);
      break;
    case shape::constant:
      made[i] = 7;
      break;
    case shape::organ_pipe:
      made[i] = number(i < n / 2 ? i : n - i);
      break;
    case shape::sawtooth:
      made[i] = number(i % 1'000);
      break;
    case shape::ten_values:
      made[i] = number(next.below(10));
      break;
    case shape::median_of_3_killer: {
      // D. Musser's sequence (1997): the median of the first, the middle and the last is always nearly the
      // least.
      std::size_t const half = n / 2;
      made[i] = number(i >= half ? 2 * (i - half + 1) : i % 2 == 0 ? i + 1 : half + i + half % 2);
      break;
    }
    }
  if (s == shape::almost_sorted && n != 0)
    for (std::size_t i = 0; i <= n / 100; ++i) std::swap(made[next.below(n)], made[next.below(n)]);
  return made;
}

} // namespace rubato_test
