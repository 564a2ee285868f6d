// What when_all() of tasks returns: to be awaited. docs/design/coroutines.md
#pragma once

#include "rubato/detail/as_task.hpp"
#include "rubato/detail/gather.hpp"
#include "rubato/detail/siblings.hpp"
#include "rubato/detail/value_in_std.hpp"
#include "rubato/task.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace rubato::detail {

/// A fixed number of tasks, forked in the frame of the coroutine that awaits them. Movable.
template<class... Ts>
class [[nodiscard("when_all() of tasks begins only when it is awaited")]] all_tasks
    : public awaited_in_place {
  using result = std::tuple<in_tuple<Ts>...>;
  std::tuple<rubato::task<Ts>...> tasks_;

public:
  class [[nodiscard]] awaiter_type {
    nested_scope limit_;
    siblings<sizeof...(Ts)> all_;

    template<std::size_t... I>
    [[nodiscard]] result values(std::index_sequence<I...> /*all*/) {
      return result{all_[I].template result<Ts>().take()...};
    }

  public:
    explicit awaiter_type(activity& of, rubato::task<Ts>&... tasks)
        : limit_(of.scope())
        , all_(of, limit_, std::move(tasks)...) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
      all_.group.begin(h);
    }
    result await_resume() {
      all_.group.finish();
      return values(std::index_sequence_for<Ts...>());
    }
  };

  explicit all_tasks(rubato::task<Ts>&&... tasks) noexcept
      : tasks_(std::move(tasks)...) {}
  /// By co_await, in a coroutine of ours.
  [[nodiscard]] awaiter_type awaiter() {
    return std::apply([](auto&... tasks) { return awaiter_type(*this_trampoline().running, tasks...); },
                      tasks_);
  }
  /// As a task; so it can be spawned too.
  operator rubato::task<result>() && { return as_task(std::move(*this)); }
  [[nodiscard]] rubato::task<result> operator()() && { return as_task(std::move(*this)); }
};

/// As many as there are.
template<class T>
class [[nodiscard("when_all() of tasks begins only when it is awaited")]] all_tasks_of_range
    : public awaited_in_place {
  using result = std::vector<storable<T>>;
  std::vector<rubato::task<T>> tasks_;

public:
  class [[nodiscard]] awaiter_type {
    nested_scope limit_;
    sibling_range<T> all_;

  public:
    awaiter_type(activity& of, std::vector<rubato::task<T>>&& tasks)
        : limit_(of.scope())
        , all_(of, limit_, std::move(tasks)) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
      all_.group.begin(h);
    }
    result await_resume() {
      all_.group.finish();
      result values;
      values.reserve(all_.size());
      for (std::size_t i = 0; i != all_.size(); ++i) values.push_back(all_[i].template result<T>().take());
      return values;
    }
  };

  explicit all_tasks_of_range(std::vector<rubato::task<T>>&& tasks) noexcept
      : tasks_(std::move(tasks)) {}
  [[nodiscard]] awaiter_type awaiter() { return awaiter_type(*this_trampoline().running, std::move(tasks_)); }
  operator rubato::task<result>() && { return as_task(std::move(*this)); }
  [[nodiscard]] rubato::task<result> operator()() && { return as_task(std::move(*this)); }
};

} // namespace rubato::detail
