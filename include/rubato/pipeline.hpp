// Items that go through stages, several at a time, in order where that is asked for.
//
//   #include <rubato/pipeline.hpp>
//
//   #include <cstdio>
//   #include <optional>
//
//   int main() {
//     int next = 0, sum = 0;
//     auto source = [&] { return next != 4 ? std::optional(next++) : std::nullopt; };
//     rubato::pipeline(16, // items in flight at most
//                      rubato::stage(rubato::serial_in_order, source),
//                      rubato::stage(rubato::parallel, [](int n) { return n * n; }),
//                      rubato::stage(rubato::serial_in_order, [&](int n) { sum = 10 * sum + n; }));
//     std::printf("%d\n", sum); // -> 149
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

// Included first: a compiler's message about a misuse names the includes through which it reached a header
// for the first time.
#include "rubato/detail/graph/pipeline_stage.hpp"

#include "rubato/detail/graph/pipeline_impl.hpp"
#include "rubato/thread_pool.hpp"

#include <concepts>
#include <type_traits>
#include <utility>

namespace rubato {

/// The type of `serial_in_order`.
struct serial_in_order_t {
  explicit constexpr serial_in_order_t() = default;
  /// For stage().
  static constexpr detail::stage_kind kind = detail::stage_kind::serial_in_order;
};
/// The type of `serial`.
struct serial_t {
  explicit constexpr serial_t() = default;
  /// For stage().
  static constexpr detail::stage_kind kind = detail::stage_kind::serial;
};
/// The type of `parallel`.
struct parallel_t {
  explicit constexpr parallel_t() = default;
  /// For stage().
  static constexpr detail::stage_kind kind = detail::stage_kind::parallel;
};
/// Tag: a stage that has one item at a time, in the order in which the source returned them.
inline constexpr serial_in_order_t serial_in_order{};
/// Tag: a stage that has one item at a time, in any order.
inline constexpr serial_t serial{};
/// Tag: a stage that may have several items at the same time.
inline constexpr parallel_t parallel{};

namespace detail {

struct stage_fn {
  /// A stage of a pipeline: stage(serial_in_order | serial | parallel, f). f is decay-copied.
  template<class Kind, class F>
    requires requires { std::remove_cvref_t<Kind>::kind; }
  [[nodiscard]] constexpr auto operator()(Kind /*kind*/, F&& f) const {
    static_assert(can_be_kept<F>, "rubato: stage(kind, f): f is copied unless it is passed as an rvalue: "
                                  "std::move what cannot be copied");
    return pipeline_stage<Kind::kind, std::decay_t<F>>{std::forward<F>(f)};
  }
};

struct pipeline_fn : pool_forms<pipeline_fn> {
  /// pipeline(max_in_flight, stage(kind, f), ...): runs items through all stages, on the calling thread and
  /// idle workers, and returns when the source has ended and all items have gone through.
  ///
  /// - The first stage is the source: f() returns a std::optional, which is empty at the end. It is called by
  ///   one thread at a time; the order of the items is that in which it returned them.
  /// - Each other stage is called as f(item), with the result of the stage before it as an rvalue. The last
  ///   one returns void. A stage may take a stop token first. Nothing is dropped: a std::optional that a
  ///   stage in the middle returns is an ordinary item.
  /// - A stage may return a task or a future. It holds no thread until that ends; a serial stage is occupied
  ///   meanwhile.
  ///
  /// At most max_in_flight items are under way, counted from before the call of the source to the end of the
  /// item, those included that wait for a serial stage. With 1 nothing overlaps. Throws std::invalid_argument
  /// unless it is positive.
  ///
  /// A thread takes an item through as many stages as it can. Where items take less than 10 us, it takes
  /// several consecutive ones from stage to stage, so that a stage may have ended them all before the next
  /// one begins the first; if the source stays away meanwhile, other threads take those that are there. The
  /// pipeline moves no item, unless a coroutine returns it. It allocates max_in_flight places at most, as
  /// they are needed, and what coroutines need.
  ///
  /// After the first exception nothing further begins, and stages that run are asked to stop; all items are
  /// destroyed, and pipeline() throws the exception. A stop of the task around ends it with `cancelled`.
  /// Source: pipelines with serial and parallel filters and a limit on tokens (oneTBB, S. MacDonald et al.,
  /// "From patterns to frameworks to parallel programs", 2002).
  template<std::integral N, class... Stages>
  static void on(pool* p, N max_in_flight, Stages&&... stages) {
    if constexpr (is_pipeline<std::remove_cvref_t<Stages>...>())
      run_pipeline<std::remove_reference_t<Stages>...>(p, items_in_flight(max_in_flight), stages...);
  }
};

} // namespace detail

inline constexpr detail::stage_fn stage{};
inline constexpr detail::pipeline_fn pipeline{};

} // namespace rubato
