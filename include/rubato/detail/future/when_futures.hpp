// The arguments of when_all() and when_any(), if all are futures. docs/design/futures.md
#pragma once

#include "rubato/detail/future/when_state.hpp"
#include "rubato/future.hpp"

#include <cstddef>
#include <memory>
#include <ranges>
#include <vector>

namespace rubato::detail {

template<class A>
inline constexpr bool is_some_future =
    is_future<std::remove_cvref_t<A>>::value || is_shared_future<std::remove_cvref_t<A>>::value;

template<class F>
void put_input(when_input& g, F&& f) {
  using type = std::remove_cvref_t<F>;
  using value = typename type::value_type;
  static_assert(
      is_future<type>::value || std::is_void_v<value> || std::is_reference_v<value> ||
          std::is_copy_constructible_v<value>,
      "rubato: when_all() and when_any() copy the value of a shared_future, and this one cannot be copied");
  if (!f.valid()) throw_no_state("rubato: when_all() or when_any() of a future that has no state");
  g.owned = is_future<type>::value;
  if constexpr (is_future<type>::value)
    g.source = std::move(future_access::state(f));
  else
    g.source = future_access::state(f);
}

template<class... Fs>
auto inputs_of(Fs&&... fs) {
  tuple_inputs<typename std::remove_cvref_t<Fs>::value_type...> in;
  std::size_t i = 0;
  (put_input(in[i++], std::forward<Fs>(fs)), ...);
  return in;
}

template<class Range>
auto inputs_of_range(Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  range_inputs<typename element::value_type> in;
  std::vector<when_input> grown;
  if constexpr (std::ranges::sized_range<Range>) grown.reserve(std::ranges::size(range));
  for (auto&& f : range) {
    grown.emplace_back();
    put_input(grown.back(), static_cast<element&>(f));
  }
  in.count = grown.size();
  in.all = std::make_unique<when_input[]>(in.count);
  std::ranges::move(grown, in.all.get());
  return in;
}

template<template<class> class State, class Inputs>
auto gather(Inputs in) {
  using type = State<Inputs>;
  using result = std::remove_cvref_t<decltype(std::declval<type&>().slot().take())>;
  auto* const made = make_in_slab<type>(std::move(in));
  future<result> out = future_access::make<result>(state_ref(made));
  made->begin();
  return out;
}

template<class Range>
concept future_range = std::ranges::input_range<Range> && is_some_future<std::ranges::range_value_t<Range>>;

} // namespace rubato::detail
