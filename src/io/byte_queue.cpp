#include "rubato/detail/io/byte_queue.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rubato::detail {

void byte_queue::move_to(std::size_t capacity) {
  std::size_t const n = size();
  if (capacity != capacity_) {
    auto fresh = std::make_unique_for_overwrite<std::byte[]>(capacity); // NOLINT(modernize-avoid-c-arrays)
    if (n != 0) std::memcpy(fresh.get(), memory_.get() + begin_, n);
    memory_ = std::move(fresh);
    capacity_ = capacity;
  } else if (n != 0) {
    std::memmove(memory_.get(), memory_.get() + begin_, n);
  }
  begin_ = 0;
  end_ = n;
}

// At most half of the memory is full after a move, and less than a quarter is free before the next. So a
// quarter of the memory has come in between, and pays for moving at most half of it.
std::span<std::byte> byte_queue::room() {
  if (capacity_ == 0 || capacity_ - end_ < capacity_ / 4) move_to(std::max(least, std::bit_ceil(2 * size())));
  return {memory_.get() + end_, capacity_ - end_};
}

std::size_t byte_queue::copy_to(std::span<std::byte> into) const noexcept {
  std::size_t const n = std::min(into.size(), size());
  if (n != 0) std::memcpy(into.data(), memory_.get() + begin_, n);
  return n;
}

void byte_queue::drop(std::size_t n) noexcept {
  begin_ += n;
  if (begin_ != end_) return;
  begin_ = end_ = 0;
  if (capacity_ <= least) return;
  memory_.reset();
  capacity_ = 0;
}

void byte_queue::append(std::span<std::byte const> more) {
  if (more.empty()) return;
  if (capacity_ - end_ < more.size()) move_to(std::max(least, std::bit_ceil(size() + more.size())));
  std::memcpy(memory_.get() + end_, more.data(), more.size());
  end_ += more.size();
}

} // namespace rubato::detail
