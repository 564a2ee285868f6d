// Memory for elements that an algorithm moves out of its range for a while.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace rubato::detail {

/// Room for n elements, none of them constructed. Null if there is no memory: the algorithm works in place
/// then.
template<class T>
class raw_memory {
  void* room_ = nullptr;

public:
  explicit raw_memory(std::size_t n) noexcept {
    if (n > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) return;
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
      room_ = ::operator new(n * sizeof(T), std::align_val_t{alignof(T)}, std::nothrow);
    else
      room_ = ::operator new(n * sizeof(T), std::nothrow);
  }
  raw_memory(raw_memory const&) = delete;
  raw_memory& operator=(raw_memory const&) = delete;
  ~raw_memory() {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
      ::operator delete(room_, std::align_val_t{alignof(T)});
    else
      ::operator delete(room_);
  }

  /// The first element; null: there was no memory.
  [[nodiscard]] T* get() const noexcept { return static_cast<T*>(room_); }
};

} // namespace rubato::detail
