// What a callable brings: what it returns, or, if that is a future or a task, the result of that.
#pragma once

#include "rubato/detail/callable.hpp"
#include "rubato/detail/member.hpp"

#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class future;
template<class T>
class shared_future;
template<class T>
class task;

namespace detail {

template<class A>
struct is_future : std::false_type {};
template<class T>
struct is_future<future<T>> : std::true_type {};
template<class A>
struct is_shared_future : std::false_type {};
template<class T>
struct is_shared_future<shared_future<T>> : std::true_type {};
template<class A>
struct is_task : std::false_type {};
template<class T>
struct is_task<rubato::task<T>> : std::true_type {};

template<class R>
struct flattened {
  using type = R;
  static constexpr bool is_future = false, is_task = false;
};
template<class T>
struct flattened<future<T>> {
  using type = T;
  static constexpr bool is_future = true, is_task = false;
};
template<class T>
struct flattened<rubato::task<T>> {
  using type = T;
  static constexpr bool is_future = false, is_task = true;
};

template<class F, class... Args>
using brought_t = typename flattened<call_result_t<F, Args...>>::type;

/// The same for the declaration of a function whose body refuses a callable that does not fit.
template<class F, class... Args>
struct brought_if_fits {
  using type = refused;
};
template<class F, class... Args>
  requires fits<F, Args...>
struct brought_if_fits<F, Args...> {
  using type = brought_t<F, Args...>;
};
template<class F, class... Args>
using brought_if_fits_t = typename brought_if_fits<F, Args...>::type;

/// Runs a task from here on the thread's own pool, and waits. In child_job.hpp: whoever has a task has that.
template<class T>
T run_task(member& me, rubato::task<T>&& t);
/// The result, waited for whatever is stopped meanwhile. In future_impl.hpp.
template<class T>
T get_to_end(future<T> f);

/// Calls f and waits for what it returns, if that is a future or a task; f and its arguments live until then.
template<class F, class... Args>
[[gnu::always_inline]] inline decltype(auto) call_and_wait(member& me, F&& f, Args&&... args) {
  using flat = flattened<call_result_t<F, Args...>>;
  if constexpr (flat::is_task)
    return invoke_value([&]() -> typename flat::type {
      return run_task(me, call(me, std::forward<F>(f), std::forward<Args>(args)...));
    });
  else if constexpr (flat::is_future)
    return invoke_value([&]() -> typename flat::type {
      return get_to_end(call(me, std::forward<F>(f), std::forward<Args>(args)...));
    });
  else
    return call(me, std::forward<F>(f), std::forward<Args>(args)...);
}

} // namespace detail

} // namespace rubato
