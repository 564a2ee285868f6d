// A pipeline that a coroutine awaits.
//
//   #include <rubato/async_pipeline.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//   #include <optional>
//
//   rubato::task<int> doubled(int n) { co_return 2 * n; } // might await a database
//
//   int main() {
//     int sum = 0;
//     auto source = [n = 0]() mutable { return n != 3 ? std::optional(n++) : std::nullopt; };
//     rubato::block_on(rubato::async_pipeline(
//         8, rubato::stage(rubato::serial, source), rubato::stage(rubato::parallel, doubled),
//         rubato::stage(rubato::serial, [&](int n) { sum += n; })));
//     std::printf("%d\n", sum); // -> 6
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/pipeline.hpp"
#include "rubato/task.hpp"

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

struct async_pipeline_fn : pool_forms<async_pipeline_fn> {
  /// co_await async_pipeline(max_in_flight, stage(kind, f), ...): as pipeline(), but holds no thread while
  /// all items wait. Returns a task<void>, which keeps the stages. The items are run on the pool of the
  /// coroutine, or on the one that is given. A stop of the coroutine stops the pipeline. Throws
  /// std::invalid_argument at the call unless max_in_flight is positive.
  template<std::integral N, class... Stages>
  static rubato::task<void> on(pool* p, N max_in_flight, Stages&&... stages) {
    std::size_t const limit = items_in_flight(max_in_flight);
    if constexpr (is_pipeline<std::remove_cvref_t<Stages>...>())
      return run_async_pipeline<std::remove_cvref_t<Stages>...>(p, limit, std::forward<Stages>(stages)...);
    else
      return {};
  }
};

} // namespace detail

inline constexpr detail::async_pipeline_fn async_pipeline{};

} // namespace rubato
