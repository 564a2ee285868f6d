// The stages of a pipeline: their callables, and the types of the items between them.
#pragma once

#include "rubato/detail/graph/pipeline_core.hpp"
#include "rubato/detail/work/callable.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato::detail {

template<stage_kind Kind, class F>
struct pipeline_stage {
  using callable = F;
  static constexpr stage_kind kind = Kind;
  F f;
};
template<class S>
struct is_pipeline_stage : std::false_type {};
template<stage_kind Kind, class F>
struct is_pipeline_stage<pipeline_stage<Kind, F>> : std::true_type {};

template<class O>
struct optional_value {
  static constexpr bool is_optional = false;
};
template<class T>
struct optional_value<std::optional<T>> {
  static constexpr bool is_optional = true;
  using type = T;
};

/// The types of the items: of the input of each stage behind the source, and of the last result.
template<class In, class... Fs>
struct item_types {
  using inputs = std::tuple<>;
  using last = In;
};
template<class In, class F, class... Fs>
struct item_types<In, F, Fs...> {
  using rest = item_types<brought_t<F&, In>, Fs...>;
  using inputs = decltype(std::tuple_cat(std::declval<std::tuple<std::type_identity<In>>>(),
                                         std::declval<typename rest::inputs>()));
  using last = typename rest::last;
};

template<class In, class F, class... Fs>
[[nodiscard]] consteval bool stages_fit() {
  constexpr bool has_input = !std::is_void_v<In>;
  static_assert(has_input, "rubato: pipeline(): only the last stage returns void");
  if constexpr (has_input) {
    constexpr bool called = fits<F&, In>;
    static_assert(called, "rubato: pipeline(): a stage must be callable as f(item), with the result of the "
                          "stage before it as an rvalue");
    if constexpr (called) {
      using result = brought_t<F&, In>;
      if constexpr (sizeof...(Fs) != 0) {
        return can_be_returned<call_result_t<F&, In>>() && stages_fit<result, Fs...>();
      } else {
        static_assert(std::is_void_v<result>, "rubato: pipeline(): the last stage must return void");
        return std::is_void_v<result> && can_be_returned<call_result_t<F&, In>>();
      }
    }
  }
  return false;
}

template<class Source, class... Fs>
[[nodiscard]] consteval bool source_fits() {
  constexpr bool called = fits<Source&>;
  static_assert(called, "rubato: pipeline(): the first stage, the source, must be callable as f()");
  if constexpr (called) {
    using item = optional_value<brought_t<Source&>>;
    static_assert(item::is_optional, "rubato: pipeline(): the first stage, the source, must return a "
                                     "std::optional, which is empty at the end");
    if constexpr (item::is_optional) return stages_fit<typename item::type, Fs...>();
  }
  return false;
}

/// True if pipeline() accepts these stages; otherwise an assertion fails with a message.
template<class... Stages>
[[nodiscard]] consteval bool is_pipeline() {
  constexpr bool stages = (is_pipeline_stage<Stages>::value && ...);
  static_assert(stages, "rubato: pipeline(max_in_flight, stage(kind, f), ...): kind is serial_in_order, "
                        "serial or parallel");
  static_assert(sizeof...(Stages) >= 2, "rubato: pipeline(): a source and at least one other stage");
  if constexpr (stages && sizeof...(Stages) >= 2) {
    using first = std::tuple_element_t<0, std::tuple<Stages...>>;
    static_assert(first::kind != stage_kind::parallel,
                  "rubato: pipeline(): the first stage, the source, is serial");
    return first::kind != stage_kind::parallel && source_fits<typename Stages::callable...>();
  }
  return false;
}

/// An item between two stages.
template<class T>
using stored_item = std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, T>;

template<class Source, class... Fs>
struct pipeline_types {
  using first = typename optional_value<brought_t<Source&>>::type;
  using inputs = typename item_types<first, Fs...>::inputs;
  /// What stage number S gets.
  template<std::size_t S>
  using input = typename std::tuple_element_t<S - 1, inputs>::type;
  /// How that is stored. The source's result is kept as it was returned.
  template<std::size_t S>
  using stored = std::conditional_t<S == 1, std::optional<first>, stored_item<input<S>>>;
};

} // namespace rubato::detail
