// An array of a fixed length in the memory of small objects.
#pragma once

#include "rubato/detail/memory/slab.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace rubato::detail {

/// Its elements are default-constructed. Movable: the elements stay where they are.
template<class T>
class slab_array {
  static_assert(fits_slab<T>);
  T* first_ = nullptr;
  std::size_t count_ = 0;

public:
  slab_array() noexcept = default;
  explicit slab_array(std::size_t n)
      : first_(static_cast<T*>(allocate(n * sizeof(T))))
      , count_(n) {
    std::uninitialized_default_construct_n(first_, n);
  }
  slab_array(slab_array&& other) noexcept
      : first_(std::exchange(other.first_, nullptr))
      , count_(std::exchange(other.count_, 0)) {}
  slab_array& operator=(slab_array&&) = delete;
  ~slab_array() {
    if (first_ == nullptr) return;
    std::destroy_n(first_, count_);
    deallocate(first_, count_ * sizeof(T));
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return first_[i]; }
};

} // namespace rubato::detail
