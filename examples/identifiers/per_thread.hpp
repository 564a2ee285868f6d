// One object for each thread, without a lock.
#pragma once

#include <rubato/pool.hpp>

#include <memory>
#include <vector>

namespace identifiers {

/// One T for each thread that works for the pool, made when the thread first asks.
template<class T>
class per_thread {
  std::vector<std::unique_ptr<T>> items_; // by the thread's number; the last: a caller that has none

public:
  explicit per_thread(const rubato::pool& pool)
      : items_(pool.slots() + std::size_t{1}) {}

  /// The calling thread's own. Do not keep the reference across a wait (join, loop, scope): work that
  /// this thread runs meanwhile gets the same object.
  T& local() {
    const auto number = rubato::current_worker();
    auto& mine = items_[number ? *number : items_.size() - 1];
    if (!mine) mine = std::make_unique<T>();
    return *mine;
  }

  /// All objects; call it when no thread uses its own any more.
  std::vector<std::unique_ptr<T>> take() {
    std::erase(items_, nullptr);
    return std::move(items_);
  }
};

} // namespace identifiers
