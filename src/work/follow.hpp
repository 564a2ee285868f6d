// What a result waits for, directly or not. docs/design/futures.md
#pragma once

#include "rubato/detail/future_state.hpp"

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rubato::detail {

/// Calls f with all that a result waits for, directly or not, until it returns false. False: that is more
/// than `most`, not counting what waits for nothing. Throws std::bad_alloc.
template<class F>
[[nodiscard]] bool follow(future_state& result, std::size_t most, F f) {
  struct step {
    future_state* at;
    std::size_t next;
  } now{&result, 0};
  std::vector<step> above; // most often there is nothing below the first, and so no allocation
  std::unordered_map<future_state const*, state_ref> seen; // of them, held
  for (;;) {
    state_ref input(now.at->unfinished_input(now.next));
    if (!input) {
      if (above.empty()) return true;
      now = above.back();
      above.pop_back();
      continue;
    }
    if (!f(*input.get())) return true;
    std::size_t first = 0;
    if (!state_ref(input->unfinished_input(first)) || seen.contains(input.get())) continue;
    if (seen.size() == most) return false;
    above.push_back(now);
    now = {input.get(), 0};
    seen.emplace(input.get(), std::move(input));
  }
}

} // namespace rubato::detail
