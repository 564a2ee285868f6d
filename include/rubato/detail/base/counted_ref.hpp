// One reference to an object that counts them.
#pragma once

#include <utility>

namespace rubato::detail {

/// The object has hold() and release(), which destroys it after the last one.
template<class T>
class counted_ref {
  T* object_ = nullptr;

public:
  counted_ref() noexcept = default;
  explicit counted_ref(T* adopted) noexcept
      : object_(adopted) {}
  counted_ref(counted_ref&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  counted_ref(counted_ref const& other) noexcept
      : object_(other.object_) {
    if (object_ != nullptr) object_->hold();
  }
  counted_ref& operator=(counted_ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~counted_ref() {
    if (object_ != nullptr) object_->release();
  }
  [[nodiscard]] T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] T* take() noexcept { return std::exchange(object_, nullptr); }
};

} // namespace rubato::detail
