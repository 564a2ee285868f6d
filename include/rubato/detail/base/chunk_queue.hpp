// A queue whose values are never moved while they are in it.
#pragma once

#include "rubato/detail/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace rubato::detail {

/// Of values of Of::type, which may be incomplete where the queue is declared. Grows by chunks, and keeps up
/// to eight empty ones for the next pushes. Its memory follows its content, not its capacity, and a queue
/// that neither grows nor shrinks allocates nothing. Not thread-safe.
template<class Of>
class chunk_queue {
  struct chunk {
    chunk* next = nullptr;
  };
  static constexpr std::align_val_t alignment{std::max(alignof(chunk), alignof(typename Of::type))};
  static constexpr std::size_t first_at = (sizeof(chunk) + alignof(typename Of::type) - 1) /
                                          alignof(typename Of::type) * alignof(typename Of::type);
  static constexpr std::size_t usual_bytes = 1024, most_spares = 8;

  std::size_t const per_chunk_;
  std::size_t size_ = 0;
  chunk* head_ = nullptr; // chunk of the oldest value
  std::size_t begin_ = 0;
  chunk* tail_ = nullptr; // chunk of the newest value
  std::size_t end_ = 0;
  chunk* spare_ = nullptr; // a list of empty chunks
  std::size_t spares_ = 0;

  [[nodiscard]] static std::byte* place(chunk* c, std::size_t i) noexcept {
    return reinterpret_cast<std::byte*>(c) + first_at + i * sizeof(typename Of::type);
  }
  [[nodiscard]] chunk* make_chunk() const {
    return ::new (::operator new(first_at + per_chunk_ * sizeof(typename Of::type), alignment)) chunk;
  }
  static void free_chunk(chunk* c) noexcept { ::operator delete(c, alignment); }

public:
  /// For at most `most` values.
  explicit chunk_queue(std::size_t most) noexcept
      : per_chunk_(std::min(most, std::max(std::size_t{1}, usual_bytes / sizeof(typename Of::type)))) {}
  chunk_queue(chunk_queue const&) = delete;
  chunk_queue& operator=(chunk_queue const&) = delete;
  ~chunk_queue() {
    while (size_ != 0) pop();
    if (head_ != nullptr) free_chunk(head_);
    while (spare_ != nullptr) free_chunk(std::exchange(spare_, spare_->next));
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] auto& front() noexcept {
    return *std::launder(reinterpret_cast<typename Of::type*>(place(head_, begin_)));
  }

  /// Exchanges the values of two queues for the same number of values, and their empty chunks.
  void swap(chunk_queue& other) noexcept {
    RUBATO_ASSERT_STEP(per_chunk_ == other.per_chunk_, "queues are exchanged whose chunks differ",
                       per_chunk_);
    std::swap(size_, other.size_);
    std::swap(head_, other.head_);
    std::swap(begin_, other.begin_);
    std::swap(tail_, other.tail_);
    std::swap(end_, other.end_);
    std::swap(spare_, other.spare_);
    std::swap(spares_, other.spares_);
  }

  /// Throws std::bad_alloc, and exceptions of the value's move; then nothing has changed.
  void push(auto&& value) {
    bool const full = tail_ == nullptr || end_ == per_chunk_;
    if (full && spare_ == nullptr) {
      spare_ = make_chunk();
      ++spares_;
    }
    using type = typename Of::type; // incomplete where the class is made
    ::new (static_cast<void*>(full ? place(spare_, 0) : place(tail_, end_))) type(static_cast<type&&>(value));
    if (full) {
      (tail_ != nullptr ? tail_->next : head_) = spare_;
      tail_ = std::exchange(spare_, spare_->next);
      tail_->next = nullptr;
      --spares_;
      end_ = 0;
    }
    ++end_;
    ++size_;
  }

  void pop() noexcept {
    std::destroy_at(std::addressof(front()));
    ++begin_;
    if (--size_ == 0) {
      begin_ = end_ = 0;
    } else if (begin_ == per_chunk_) {
      chunk* const empty = std::exchange(head_, head_->next);
      begin_ = 0;
      if (spares_ == most_spares) {
        free_chunk(empty);
      } else {
        empty->next = std::exchange(spare_, empty);
        ++spares_;
      }
    }
  }
};

} // namespace rubato::detail
