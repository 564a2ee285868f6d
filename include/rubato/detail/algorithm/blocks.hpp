// Loops over blocks of an interval: what an algorithm does with contiguous elements between two looks at the
// share.
#pragma once

#include "rubato/detail/fork/index_loop.hpp"

#include <algorithm>
#include <cstdint>

namespace rubato {
class pool;
}

namespace rubato::detail {

/// Calls f(lo, hi) for intervals that partition [0, n), in parallel; each but the last ends at a multiple of
/// `block`. A thread takes several blocks in one call while they are brief. f has the stop scope, the
/// exceptions and the floating-point modes of a loop.
template<class F>
void for_blocks(pool* p, std::uint64_t n, std::uint64_t block, F&& f) {
  detail::for_chunks(p, n / block + (n % block != 0),
                     [&f, n, block](thread_context&, std::uint64_t lo, std::uint64_t hi) {
                       f(lo * block, std::min(n, hi * block));
                     });
}

} // namespace rubato::detail
