// What the functions of the C interface share: handles, nodes in the caller's memory, errors. docs/c.md
#pragma once

#include "rubato/c/abi.h"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/thread_pool.hpp"

#include <new>

namespace rubato::detail {

[[nodiscard]] inline rb_worker* to_c(thread_context* me) noexcept {
  return reinterpret_cast<rb_worker*>(me); // NOLINT: opaque to C
}
[[nodiscard]] inline thread_context& of_c(rb_worker* w) noexcept {
  return *reinterpret_cast<thread_context*>(w); // NOLINT: it came from to_c()
}
[[nodiscard]] inline thread_context const& of_c(rb_worker const* w) noexcept {
  return *reinterpret_cast<thread_context const*>(w); // NOLINT: as above
}
[[nodiscard]] inline rb_pool* to_c(pool* p) noexcept {
  return reinterpret_cast<rb_pool*>(p); // NOLINT: opaque to C
}
[[nodiscard]] inline pool& of_c(rb_pool* p) noexcept {
  return *reinterpret_cast<pool*>(p); // NOLINT: it came from to_c()
}
[[nodiscard]] inline pool const& of_c(rb_pool const* p) noexcept {
  return *reinterpret_cast<pool const*>(p); // NOLINT: as above
}

/// The object that the library keeps at the beginning of a C struct.
template<class T, class Node>
[[nodiscard]] T& kept_in(Node* node) noexcept {
  static_assert(sizeof(T) <= sizeof(node->opaque) && alignof(T) <= alignof(Node));
  return *std::launder(reinterpret_cast<T*>(node->opaque)); // NOLINT: built there by the library
}
/// The C struct of an object that the library keeps there.
template<class Node, class T>
[[nodiscard]] Node* node_of(T& kept) noexcept {
  return reinterpret_cast<Node*>(&kept); // NOLINT: its first member
}

/// The negative errno of the exception that is being handled.
[[nodiscard]] int error_of_exception() noexcept;

/// Calls f. 0, or the negative errno of its exception.
template<class F>
[[nodiscard]] int without_exceptions(F&& f) noexcept {
  try {
    f();
    return 0;
  } catch (...) {
    return error_of_exception();
  }
}

} // namespace rubato::detail
