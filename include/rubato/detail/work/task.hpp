// A unit of queued work: one allocation that holds a closure.
#pragma once

#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/callable.hpp"

#include <type_traits>
#include <utility>

namespace rubato::detail {

struct task : queue_node {
  /// Runs the closure on `runner`, or only destroys it if that is null; frees the task in either case.
  using exec_type = void (*)(task&, thread_context* runner) noexcept;
  exec_type exec;
  bool holds_capacity = false; ///< counts towards max_queued
  bool is_second = false;      ///< a second_entry, see future_state.hpp

  explicit task(exec_type e) noexcept
      : exec(e) {}
};

template<class F>
class closure_task final : public task {
  F f_;

  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<closure_task&>(base);
    if (runner != nullptr) {
      try {
        note_call(self.f_);
        static_cast<void>(call(*runner, std::move(self.f_)));
      } catch (...) {
        unhandled(*runner);
      }
    }
    free_in_slab(&self);
  }

public:
  template<class G>
  explicit closure_task(G&& g)
      : task(&run)
      , f_(std::forward<G>(g)) {}
};

template<class F>
[[nodiscard]] task* make_task(F&& f) {
  return make_in_slab<closure_task<std::decay_t<F>>>(std::forward<F>(f));
}

} // namespace rubato::detail
