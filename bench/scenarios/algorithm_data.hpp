// The inputs of the algorithms, a function of the place alone, and checksums of what becomes of them.
// rust/common/src/algorithm_data.rs says the same in Rust.
#pragma once

#include "../harness/work.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bench {

/// The i-th number of the generator splitmix64 (G. Steele et al., OOPSLA 2014) with the seed 0.
inline std::uint64_t random_at(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
  z = (z ^ z >> 27) * 0x94d049bb133111ebU;
  return z ^ z >> 31;
}

/// Sixteen bytes, sorted by the key. Of ten million about a quarter have the key of another one.
struct keyed_record {
  std::uint64_t key;
  std::uint64_t place;
};

struct by_key {
  bool operator()(const keyed_record& a, const keyed_record& b) const { return a.key < b.key; }
};
/// The same order as by default, which no library can know: as a user's own comparator.
struct by_value {
  template<class T>
  bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

/// 12 to 18 letters: some in the string object, some on the heap.
inline std::string random_string(std::uint64_t i) {
  const std::uint64_t low = random_at(2 * i), high = random_at(2 * i + 1);
  std::string made(12 + high % 7, '\0');
  for (std::size_t k = 0; k != made.size(); ++k) {
    const std::uint64_t bits = k < 12 ? low >> 5 * k : high >> (8 + 5 * (k - 12));
    made[k] = static_cast<char>('a' + bits % 32 % 26);
  }
  return made;
}

template<class T, class F>
std::vector<T> made_by(std::uint64_t n, F value) {
  std::vector<T> all;
  all.reserve(n);
  for (std::uint64_t i = 0; i != n; ++i) all.push_back(value(i));
  return all;
}

inline std::int32_t random_int(std::uint64_t i) { return static_cast<std::int32_t>(random_at(i) >> 32); }
/// 0 to 2^31 - 1: never -1, for which searches look in vain.
inline std::int32_t positive_int(std::uint64_t i) { return static_cast<std::int32_t>(random_at(i) >> 33); }
/// In [0, 1).
inline double random_double(std::uint64_t i) { return static_cast<double>(random_at(i) >> 11) * 0x1p-53; }
/// A whole number below 1,024: every sum of a hundred million of them is exact, in any order.
inline double whole_double(std::uint64_t i) { return static_cast<double>(random_at(i) >> 54); }

inline std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) { return hash_rounds(sum ^ value, 1); }

inline std::uint64_t bits_of(std::int32_t v) { return static_cast<std::uint32_t>(v); }
inline std::uint64_t bits_of(double v) { return std::bit_cast<std::uint64_t>(v); }
inline std::uint64_t bits_of(const std::string& v) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : v) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

/// Of values in their order.
template<class T>
std::uint64_t checksum_of(std::span<const T> all) {
  std::uint64_t sum = all.size();
  for (const T& v : all) sum = mixed(sum, bits_of(v));
  return sum;
}
/// Of every 61st value: all of a large output would take longer than to make it.
template<class T>
std::uint64_t checksum_of_some(std::span<const T> all) {
  std::uint64_t sum = all.size();
  for (std::size_t i = 0; i < all.size(); i += 61) sum = mixed(sum, bits_of(all[i]));
  return sum;
}
/// Records with equal keys may be in any order, unless it is that of their places.
template<bool Stable>
std::uint64_t checksum_of_records(std::span<const keyed_record> all) {
  std::uint64_t sum = all.size(), places = 0;
  for (const auto& r : all) {
    sum = mixed(sum, r.key);
    if constexpr (Stable) sum = mixed(sum, r.place);
    places += mixed(r.key, r.place);
  }
  return sum + places;
}
/// Of values in any order.
inline std::uint64_t checksum_of_set(std::span<const std::int32_t> all) {
  std::uint64_t sum = all.size();
  for (const auto v : all) sum += mixed(0, bits_of(v));
  return sum;
}

} // namespace bench
