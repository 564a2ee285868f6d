// Elements that own memory, and whose moves and calls can be made to throw: after that each must be there
// once.
#pragma once

#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rubato_test {

struct broken {};

/// The calls that are left before one throws; below 0: none does.
class fuse {
  std::atomic<std::int64_t> left_{-1};

public:
  void set(std::int64_t calls) { left_ = calls; }
  /// True if it has thrown.
  bool is_burnt() const { return left_ < 0; }
  /// Throws once.
  void burn() {
    if (left_.load(std::memory_order_relaxed) >= 0 && left_.fetch_sub(1) == 0) throw broken();
  }
};

inline fuse moves_of_fragile;

/// Moved only, which throws when the fuse is burnt, before anything has changed. Comparing it changes what it
/// owns: a stale copy of the pointer shows under a sanitizer.
class fragile {
  std::unique_ptr<int> id_;
  mutable std::unique_ptr<std::atomic<int>> looks_ = std::make_unique<std::atomic<int>>(0);
  int key_ = 0;

public:
  fragile(int id, int key)
      : id_(std::make_unique<int>(id))
      , key_(key) {}
  fragile(fragile&& other) noexcept(false) // NOLINT(performance-noexcept-move-constructor)
      : fragile((moves_of_fragile.burn(), std::move(other)), 0) {}
  fragile& operator=(fragile&& other) noexcept(false) { // NOLINT(performance-noexcept-move-constructor)
    moves_of_fragile.burn();
    id_ = std::move(other.id_);
    looks_ = std::move(other.looks_);
    key_ = other.key_;
    return *this;
  }
  ~fragile() = default;

  int key() const {
    ++*looks_;
    return key_;
  }
  int id() const { return id_ != nullptr ? *id_ : -1; }

private:
  fragile(fragile&& other, int /*checked*/) noexcept
      : id_(std::move(other.id_))
      , looks_(std::move(other.looks_))
      , key_(other.key_) {}
};

/// The same without throwing moves.
struct sturdy {
  std::unique_ptr<int> id_;
  int key_;
  sturdy(int id, int key)
      : id_(std::make_unique<int>(id))
      , key_(key) {}
  int key() const { return key_; }
  int id() const { return id_ != nullptr ? *id_ : -1; }
};

/// Plain data.
struct plain {
  int id_, key_;
  plain(int id, int key)
      : id_(id)
      , key_(key) {}
  int key() const { return key_; }
  int id() const { return id_; }
};

template<class T>
std::vector<T> elements_of(std::vector<int> const& keys) {
  std::vector<T> made;
  made.reserve(keys.size());
  for (std::size_t i = 0; i != keys.size(); ++i) made.emplace_back(static_cast<int>(i), keys[i]);
  return made;
}

/// The ids 0 to n - 1 are there once.
template<class T>
void expect_each_once(std::vector<T> const& v) {
  std::vector<int> ids;
  for (T const& x : v) ids.push_back(x.id());
  std::ranges::sort(ids);
  for (std::size_t i = 0; i != ids.size(); ++i) ASSERT_EQ(ids[i], static_cast<int>(i));
}

/// Calls run(elements, call), where `call` is to be made with each call of a comparator or a predicate, in
/// `rounds` rounds: in each, one of those calls throws, or one of the moves.
template<class T, class Run>
void break_anywhere(unsigned rounds, std::size_t n, std::size_t calls, Run run) {
  scattered next(n + rounds);
  for (unsigned round = 0; round != rounds; ++round) {
    auto v = elements_of<T>(input_of(round % 3 == 0 ? shape::ten_values : shape::random, n, round));
    fuse calls_left;
    bool const moves = round % 2 == 1;
    auto const limit = static_cast<std::int64_t>(next.below(calls));
    (moves ? moves_of_fragile : calls_left).set(limit);
    try {
      run(v, [&calls_left] { calls_left.burn(); });
    } catch (broken const&) {
    }
    moves_of_fragile.set(-1);
    ASSERT_NO_FATAL_FAILURE(expect_each_once(v)) << (moves ? "move " : "call ") << limit;
  }
}

} // namespace rubato_test
