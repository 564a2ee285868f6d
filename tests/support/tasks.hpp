// Coroutines that tests await together.
#pragma once

#include <rubato/task.hpp>
#include <rubato/time.hpp>

#include <atomic>
#include <chrono>

#include "support/outcome.hpp"

namespace rubato_test {

inline rubato::task<int> number(int n) {
  co_await rubato::yield();
  co_return n;
}

inline rubato::task<int> fails(int n) {
  co_await rubato::yield();
  throw failure(n);
}

/// Waits for a stop; counts its own end.
inline rubato::task<int> until_stopped(std::atomic<int>& ended) {
  struct note {
    std::atomic<int>& count;
    ~note() { ++count; }
  } const at_end{ended};
  co_await rubato::sleep_for(std::chrono::hours(1));
  co_return -1;
}

} // namespace rubato_test
