// A queue of values that stay where they were put until they are taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace rubato::detail {

/// Grows by chunks, and keeps one that has become empty for the next: its memory follows what is in it, not
/// what it might hold, and a queue that neither grows nor shrinks allocates nothing. Not thread-safe.
template<class T>
class chunk_queue {
  struct chunk {
    chunk* next = nullptr;
  };
  static constexpr std::align_val_t alignment{std::max(alignof(chunk), alignof(T))};
  static constexpr std::size_t first_at = (sizeof(chunk) + alignof(T) - 1) / alignof(T) * alignof(T);
  static constexpr std::size_t usual_bytes = 1024;

  std::size_t const per_chunk_;
  std::size_t size_ = 0;
  chunk* head_ = nullptr; // what is in the queue begins there
  std::size_t begin_ = 0;
  chunk* tail_ = nullptr; // and ends there
  std::size_t end_ = 0;
  chunk* spare_ = nullptr;

  [[nodiscard]] static std::byte* place(chunk* c, std::size_t i) noexcept {
    return reinterpret_cast<std::byte*>(c) + first_at + i * sizeof(T);
  }
  [[nodiscard]] chunk* make_chunk() const {
    return ::new (::operator new(first_at + per_chunk_ * sizeof(T), alignment)) chunk;
  }
  static void free_chunk(chunk* c) noexcept { ::operator delete(c, alignment); }

public:
  /// For at most so many values.
  explicit chunk_queue(std::size_t most) noexcept
      : per_chunk_(std::min(most, std::max(std::size_t{1}, usual_bytes / sizeof(T)))) {}
  chunk_queue(chunk_queue const&) = delete;
  chunk_queue& operator=(chunk_queue const&) = delete;
  ~chunk_queue() {
    while (size_ != 0) pop();
    if (head_ != nullptr) free_chunk(head_);
    if (spare_ != nullptr) free_chunk(spare_);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& front() noexcept { return *std::launder(reinterpret_cast<T*>(place(head_, begin_))); }

  /// Throws std::bad_alloc, or what moving the value throws; then nothing has changed.
  void push(T&& value) {
    bool const full = tail_ == nullptr || end_ == per_chunk_;
    if (full && spare_ == nullptr) spare_ = make_chunk();
    ::new (static_cast<void*>(full ? place(spare_, 0) : place(tail_, end_))) T(std::move(value));
    if (full) {
      (tail_ != nullptr ? tail_->next : head_) = spare_;
      tail_ = std::exchange(spare_, nullptr);
      end_ = 0;
    }
    ++end_;
    ++size_;
  }

  void pop() noexcept {
    std::destroy_at(&front());
    ++begin_;
    if (--size_ == 0) {
      begin_ = end_ = 0;
    } else if (begin_ == per_chunk_) {
      chunk* const empty = std::exchange(head_, head_->next);
      begin_ = 0;
      if (spare_ != nullptr) {
        free_chunk(empty);
      } else {
        empty->next = nullptr;
        spare_ = empty;
      }
    }
  }
};

} // namespace rubato::detail
