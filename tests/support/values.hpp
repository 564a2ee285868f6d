// Types that are awkward on purpose, and types that notice when they leak.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace rubato_test {

/// A value whose live instances are counted. A moved-from one holds -1 but still counts until it dies.
class counted {
public:
  explicit counted(int v = 0)
      : value(v) {
    ++live_;
  }
  counted(counted const& other)
      : value(other.value) {
    ++live_;
  }
  counted(counted&& other) noexcept
      : value(std::exchange(other.value, -1)) {
    ++live_;
  }
  counted& operator=(counted const&) = default;
  counted& operator=(counted&& other) noexcept {
    value = std::exchange(other.value, -1);
    return *this;
  }
  ~counted() { --live_; }

  static int live() { return live_.load(); }

  int value;

private:
  inline static std::atomic<int> live_{0};
};

/// An exception whose copies in flight are counted with everything else.
struct counted_error : counted {
  using counted::counted;
};

/// The value of the counted_error that f() throws; nothing if it throws none.
template<class F>
std::optional<int> thrown_by(F&& f) {
  try {
    static_cast<void>(std::forward<F>(f)());
  } catch (counted_error const& error) {
    return error.value;
  }
  return std::nullopt;
}
/// The same of f() in the pool.
template<class Pool, class F>
std::optional<int> thrown_by(Pool& pool, F f) {
  return thrown_by([&] { pool.run(f); });
}

/// In a coroutine's frame, or another: counts those that exist.
class in_frame {
  std::atomic<int>* count_;

public:
  explicit in_frame(std::atomic<int>& count)
      : count_(&count) {
    ++*count_;
  }
  in_frame(in_frame const&) = delete;
  in_frame& operator=(in_frame const&) = delete;
  ~in_frame() { --*count_; }
};

/// Fails the test if there are more or fewer counted instances at its end than at its beginning.
class leak_check {
public:
  leak_check() = default;
  leak_check(leak_check const&) = delete;
  leak_check& operator=(leak_check const&) = delete;
  ~leak_check() { EXPECT_EQ(counted::live(), before_) << "instances leaked, or were destroyed twice"; }

private:
  int const before_ = counted::live();
};

/// Can be moved and nothing else; moving empties the source.
class move_only {
public:
  explicit move_only(int v)
      : value(v) {}
  move_only(move_only const&) = delete;
  move_only& operator=(move_only const&) = delete;
  move_only(move_only&& other) noexcept
      : value(std::exchange(other.value, -1)) {}
  move_only& operator=(move_only&& other) noexcept {
    value = std::exchange(other.value, -1);
    return *this;
  }
  ~move_only() = default;

  int value;
};

/// No default constructor, no assignment: the most that a result may be asked for is a move.
class only_constructible {
public:
  explicit only_constructible(int v)
      : value(v) {}
  only_constructible(only_constructible const&) = default;
  only_constructible(only_constructible&&) = default;
  only_constructible& operator=(only_constructible const&) = delete;
  only_constructible& operator=(only_constructible&&) = delete;
  ~only_constructible() = default;

  int value;
};

/// Stricter than what operator new gives by default, and than a cache line.
struct alignas(256) over_aligned {
  int value = 0;
};

template<class T>
bool is_aligned(T const& object) {
  return reinterpret_cast<std::uintptr_t>(&object) % alignof(T) == 0;
}

} // namespace rubato_test
