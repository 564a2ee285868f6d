// A unit of queued work: one allocation that holds a closure.
#pragma once

#include "rubato/detail/callable.hpp"
#include "rubato/detail/queue_node.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Memory for tasks, from caches of the threads; freed from any thread. Both get the same size.
/// Throws std::bad_alloc.
[[nodiscard]] void* allocate(std::size_t bytes);
void deallocate(void* memory, std::size_t bytes) noexcept;

struct task : queue_node {
  /// Runs the closure on `runner`, or only destroys it if that is null; frees the task in either case.
  using exec_type = void (*)(task&, member* runner) noexcept;
  exec_type exec;
  bool holds_room = true; ///< counts towards max_queued

  explicit task(exec_type e) noexcept
      : exec(e) {}
};

/// A fire-and-forget task has thrown; called in its handler.
void unhandled(member& runner) noexcept;

template<class F>
class closure_task final : public task {
  F f_;

  static void run(task& base, member* runner) noexcept {
    auto& self = static_cast<closure_task&>(base);
    if (runner != nullptr) {
      try {
        static_cast<void>(call(*runner, std::move(self.f_)));
      } catch (...) {
        unhandled(*runner);
      }
    }
    std::destroy_at(&self);
    deallocate(&self, sizeof(closure_task));
  }

public:
  template<class G>
  explicit closure_task(G&& g)
      : task(&run)
      , f_(std::forward<G>(g)) {}
};

template<class F>
[[nodiscard]] task* make_task(F&& f) {
  using type = closure_task<std::decay_t<F>>;
  static_assert(alignof(type) <= 64, "rubato: a task's callable may be aligned to at most 64 bytes");
  void* const memory = allocate(sizeof(type));
  try {
    return ::new (memory) type(std::forward<F>(f));
  } catch (...) {
    deallocate(memory, sizeof(type));
    throw;
  }
}

} // namespace rubato::detail
