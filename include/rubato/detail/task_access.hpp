// The coroutine of a task, for those who run it.
#pragma once

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
  template<class T>
  [[nodiscard]] static auto let_go(rubato::task<T>& t) noexcept {
    return std::exchange(t.frame_, nullptr);
  }
};

} // namespace detail

} // namespace rubato
