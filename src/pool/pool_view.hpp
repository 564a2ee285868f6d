// What a pool's threads and suspended coroutines do, as a report copies it. docs/design/dump.md
#pragma once

#include "coro/coroutine_view.hpp"
#include "os/modules.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rubato::detail {

class future_state;
class pool_core;
struct pool_thread;

struct thread_view {
  enum class condition : unsigned char { waits, runs, blocked, idle, between };
  condition is = condition::between;
  unsigned index = 0;
  long kernel_id = 0; ///< 0: unknown
  bool is_guest = false;
  // If it waits:
  char const* in = nullptr; ///< a literal
  std::int64_t runner = -1; ///< the number of the thread that runs what it waits for; -1: unknown
  std::chrono::microseconds since{};
  std::string node; ///< of a task graph, in which it waits
};

/// Coroutines, the memory of which is apart: the code of frames, and names.
class coroutine_views {
  /// What tells two coroutines apart that wait for no other one.
  using likeness = std::pair<std::vector<std::uint64_t>, std::string>;
  std::map<likeness, std::size_t> alike_;
  coroutine_chain chain_;

public:
  struct view : coroutine_view {
    std::size_t first_code = 0; ///< among `codes`
    std::string node;
    std::size_t more = 0; ///< coroutines that are like this one, but for the address
  };
  std::vector<view> views; ///< each chain from the coroutine at its end on; see coroutine_view::goes_on
  std::vector<std::uint64_t> codes;
  std::size_t others = 0; ///< owned tasks that are no coroutines

  /// For a thread that keeps the work from being destroyed.
  void add(future_state& work);
};

struct pool_view {
  std::string name;
  unsigned size = 0, made = 0;
  std::size_t queued = 0;
  std::vector<thread_view> threads;
  coroutine_views coroutines;

  explicit pool_view(pool_core& core);
};

struct process_view {
  std::vector<pool_view> pools;           ///< all that there are
  std::vector<os::loaded_module> modules; ///< in which names are; none if there is no pool
};

/// Throws std::bad_alloc.
[[nodiscard]] process_view view_process();

} // namespace rubato::detail
