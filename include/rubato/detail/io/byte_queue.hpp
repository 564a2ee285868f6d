// The bytes that a buffered stream has read ahead: they leave at the front and come at the back.
#pragma once

#include "rubato/detail/base/api.hpp"
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace rubato::detail {

/// Takes no memory before the first byte, and keeps at most `least` bytes of memory when it is empty.
class byte_queue {
  std::unique_ptr<std::byte[]> memory_; // NOLINT(modernize-avoid-c-arrays)
  std::size_t capacity_ = 0, begin_ = 0, end_ = 0;

  void move_to(std::size_t capacity);

public:
  static constexpr std::size_t least = 4'096; ///< of memory

  byte_queue() noexcept = default;
  byte_queue(byte_queue&& other) noexcept { swap(other); }
  byte_queue& operator=(byte_queue&& other) noexcept {
    byte_queue moved(std::move(other));
    moved.swap(*this);
    return *this;
  }
  ~byte_queue() = default;
  void swap(byte_queue& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(capacity_, other.capacity_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
  }

  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] std::string_view text() const noexcept {
    return {reinterpret_cast<char const*>(memory_.get()) + begin_, size()};
  }
  /// Memory for bytes that add() then appends: a quarter of all memory or more. Throws std::bad_alloc, and
  /// then nothing has changed.
  [[nodiscard]] RUBATO_API std::span<std::byte> room();
  void add(std::size_t n) noexcept { end_ += n; }
  /// Copies as many as there are, and fit; returns their number.
  std::size_t copy_to(std::span<std::byte> into) const noexcept;
  /// The first n go.
  RUBATO_API void drop(std::size_t n) noexcept;
  /// Throws std::bad_alloc, and then nothing has changed.
  RUBATO_API void append(std::span<std::byte const> more);
};

} // namespace rubato::detail
