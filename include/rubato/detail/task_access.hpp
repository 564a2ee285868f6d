// The coroutine of a task, for those who run it.
#pragma once

#include "rubato/detail/future_state.hpp"

#include <stdexcept>
#include <utility>

namespace rubato {

template<class T>
class task;

namespace detail {

struct task_access {
  template<class T>
  [[nodiscard]] static auto frame(rubato::task<T> const& t) noexcept {
    return t.frame_;
  }
  /// The same of one that is about to begin. Throws if there is none, or if it has begun already.
  template<class T>
  [[nodiscard]] static auto unbegun(rubato::task<T> const& t) {
    if (!t.valid()) throw_no_state("rubato: an empty task cannot be run");
    if (t.frame_.promise().continuation() != nullptr || t.frame_.done())
      throw std::logic_error("rubato: a task is run again that has been awaited before");
    return t.frame_;
  }
  template<class T>
  [[nodiscard]] static auto let_go(rubato::task<T>& t) noexcept {
    return std::exchange(t.frame_, nullptr);
  }
};

} // namespace detail

} // namespace rubato
