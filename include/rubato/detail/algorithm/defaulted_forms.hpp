// Function objects whose comparator may be written as `{}`, as in std::ranges: sort(v, {}, &record::key).
#pragma once

#include "rubato/detail/work/callable.hpp"

#include <functional>
#include <utility>

namespace rubato::detail {

/// What `{}` becomes as an argument. No other argument converts to it.
struct braces {};

/// pool_forms<Function>, and the same calls with `{}` where the comparator stands, which passes `Default`. A
/// second `{}` right behind it passes std::identity, for the first of two projections. The comparator is the
/// second to the eighth argument, pool and tags included; Function::on() gets the arguments in the same
/// places. A parameter that is deduced accepts no `{}`, so at most one of the forms fits a call.
template<class Function, class Default = std::ranges::less>
struct defaulted_forms : pool_forms<Function> { // NOLINT(bugprone-crtp-constructor-accessibility)
  using pool_forms<Function>::operator();

  template<class A, class... Rest>
  decltype(auto) operator()(A&& a, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), Default{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), Default{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), Default{},
                   std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d), Default{},
                   std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class E, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                   std::forward<E>(e), Default{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class E, class F, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e, F&& f, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                   std::forward<E>(e), std::forward<F>(f), Default{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class E, class F, class G, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e, F&& f, G&& g, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                   std::forward<E>(e), std::forward<F>(f), std::forward<G>(g), Default{},
                   std::forward<Rest>(rest)...);
  }

  template<class A, class... Rest>
  decltype(auto) operator()(A&& a, braces, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), Default{}, std::identity{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, braces, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), Default{}, std::identity{},
                   std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, braces, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), Default{}, std::identity{},
                   std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, braces, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d), Default{},
                   std::identity{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class E, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e, braces, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                   std::forward<E>(e), Default{}, std::identity{}, std::forward<Rest>(rest)...);
  }
  template<class A, class B, class C, class D, class E, class F, class... Rest>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e, F&& f, braces, braces, Rest&&... rest) const {
    return (*this)(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                   std::forward<E>(e), std::forward<F>(f), Default{}, std::identity{},
                   std::forward<Rest>(rest)...);
  }
};

} // namespace rubato::detail
