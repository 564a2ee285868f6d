// Callables that allow less than a lambda does.
#pragma once

#include <utility>

namespace rubato_test {

/// Can be moved but not copied, and returns what it was made with.
template<class T>
class move_only_call {
public:
  explicit move_only_call(T value)
      : value_(std::move(value)) {}
  move_only_call(move_only_call const&) = delete;
  move_only_call& operator=(move_only_call const&) = delete;
  move_only_call(move_only_call&&) noexcept = default;
  move_only_call& operator=(move_only_call&&) noexcept = default;
  ~move_only_call() = default;

  T operator()() { return std::move(value_); }

private:
  T value_;
};

/// Can only be called as an rvalue: once, and then it is spent.
template<class F>
class rvalue_call {
public:
  explicit rvalue_call(F f)
      : f_(std::move(f)) {}
  decltype(auto) operator()() && { return std::move(f_)(); }

private:
  F f_;
};

/// Neither copied nor moved: every call is one of this very object.
class pinned_call {
public:
  pinned_call() = default;
  pinned_call(pinned_call const&) = delete;
  pinned_call& operator=(pinned_call const&) = delete;
  ~pinned_call() = default;

  int operator()() { return ++calls; }

  int calls = 0;
};

} // namespace rubato_test
