// A vector that gets its elements after several threads have written them.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// Values that can be assigned to memory in which no object has been made.
template<class T>
concept made_by_assignment = std::is_trivially_copyable_v<T> && std::is_move_assignable_v<T> &&
                             std::is_trivially_default_constructible_v<T>;

/// Room for n elements, which filled() makes the elements of a vector when all are assigned. A vector of
/// zeros in their place would write all memory twice, and the calling thread alone would touch its pages
/// first.
template<made_by_assignment T>
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_DEBUG) && !defined(_GLIBCXX_SANITIZE_VECTOR)
class unfilled_vector : std::vector<T> { // so that it may say where the elements end
  using base = std::vector<T>;

public:
  explicit unfilled_vector(std::size_t n) { base::reserve(n); }
  [[nodiscard]] T* room() noexcept { return base::data(); }
  [[nodiscard]] base filled(std::size_t n) && noexcept {
    base::_M_impl._M_finish = base::_M_impl._M_start + n;
    return base(std::move(*this));
  }
};
#else
class unfilled_vector { // libc++ lets no derived class say that
  std::vector<T> all_;

public:
  explicit unfilled_vector(std::size_t n)
      : all_(n) {}
  [[nodiscard]] T* room() noexcept { return all_.data(); }
  [[nodiscard]] std::vector<T> filled(std::size_t /*n*/) && noexcept { return std::move(all_); }
};
#endif

} // namespace rubato::detail
