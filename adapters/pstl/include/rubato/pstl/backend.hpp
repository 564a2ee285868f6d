// What the parallel algorithms of libstdc++ expect of a backend, on Rubato. Include rubato/pstl.hpp.
//
// libstdc++ calls these functions under the names of its backend for TBB, and passes bricks: serial
// algorithms for a part of a range. The policy says nothing more, because libstdc++ has looked at it. All
// names here are libstdc++'s.
#pragma once

#include "rubato/detail/algorithm/order/raw_memory.hpp"
#include "rubato/pstl/blocks.hpp"
#include "rubato/pstl/ordering.hpp"

#include <pstl/parallel_backend_utils.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace __pstl::__tbb_backend {

/// Memory for n elements, none of them constructed.
template<class T>
class __buffer {
  ::rubato::detail::raw_memory<T> memory_;

public:
  /// Throws std::bad_alloc, which the algorithm passes on.
  explicit(false) __buffer(std::size_t n)
      : memory_(n) {
    if (memory_.get() == nullptr) throw std::bad_alloc();
  }
  explicit operator bool() const { return true; }
  T* get() const { return memory_.get(); }
};

/// The rest of a search is not wanted. There is nothing to do: each later brick looks first whether the
/// answer is known, so the loop is through with them in as many calls as it has chunks.
inline void __cancel_execution() {}

template<class Policy, class Index, class F>
void __parallel_for(Policy&&, Index first, Index last, F f) {
  ::rubato::detail::pstl::for_parts(first, last, f);
}

template<class Policy, class Value, class Index, class Brick, class Combine>
Value __parallel_reduce(Policy&&, Index first, Index last, Value const& identity, Brick const& brick,
                        Combine const& combine) {
  return ::rubato::detail::pstl::reduce_parts<Value>(first, last, identity, brick, combine);
}

template<class Policy, class Index, class Term, class T, class Combine, class Brick>
T __parallel_transform_reduce(Policy&&, Index first, Index last, Term term, T init, Combine combine,
                              Brick brick) {
  return ::rubato::detail::pstl::reduce_terms<T>(first, last, term, std::move(init), brick, combine);
}

template<class Policy, class Index, class Term, class T, class Combine, class Sum, class Scan>
void __parallel_transform_scan(Policy&&, Index n, Term term, T init, Combine combine, Sum sum, Scan scan) {
  using op = ::rubato::detail::pstl::shared_operator<Combine, T>;
  using kernel = ::rubato::detail::pstl::scan_of_input<T, Term, op, Sum, Scan>;
  ::rubato::detail::pstl::scan_blocks<T>(kernel{term, {combine}, sum, scan}, static_cast<std::uint64_t>(n),
                                         std::move(init));
}

/// `at_end` is called between the sums and the scans. One without a state has nothing to do there: the scans
/// of floating-point numbers pass such a one.
template<class Policy, class Index, class T, class Sum, class Combine, class Scan, class AtEnd>
void __parallel_strict_scan(Policy&&, Index n, T init, Sum sum, Combine combine, Scan scan, AtEnd at_end) {
  if constexpr (std::is_empty_v<AtEnd> && std::is_floating_point_v<T>) {
    using op = ::rubato::detail::pstl::shared_operator<Combine, T>;
    using kernel = ::rubato::detail::pstl::scan_of_output<T, Index, op, Sum, Scan>;
    ::rubato::detail::pstl::scan_blocks<T>(kernel{{combine}, sum, scan}, static_cast<std::uint64_t>(n),
                                           std::move(init));
    at_end(init);
  } else {
    ::rubato::detail::pstl::scan_in_two_passes<T>(n, init, sum, combine, scan, at_end);
  }
}

template<class Policy, class Iterator, class Less, class Leaf>
void __parallel_stable_sort(Policy&&, Iterator first, Iterator last, Less less, Leaf leaf,
                            std::size_t sorted = 0) {
  ::rubato::detail::pstl::sort_by_leaves(first, last, less, leaf, sorted);
}

template<class Policy, class Iterator1, class Iterator2, class Iterator3, class Less, class Leaf>
void __parallel_merge(Policy&&, Iterator1 first1, Iterator1 last1, Iterator2 first2, Iterator2 last2,
                      Iterator3 out, Less less, Leaf leaf) {
  ::rubato::detail::pstl::merge_by_leaves(first1, last1, first2, last2, out, less, leaf);
}

template<class Policy, class F, class G>
void __parallel_invoke(Policy&&, F&& f, G&& g) {
  ::rubato::detail::pstl::unstopped(
      [&](::rubato::detail::thread_context&) { ::rubato::join(std::forward<F>(f), std::forward<G>(g)); });
}

} // namespace __pstl::__tbb_backend
