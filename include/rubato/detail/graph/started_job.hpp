// Work that a part of a run has started and that goes on after the call: a coroutine, or a future's. The part
// ends with it, and holds no thread meanwhile. docs/design/graphs.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/task.hpp"

#include <concepts>
#include <exception>
#include <functional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// What goes on when such work has ended. The starter and the end of the work may come in any order: the
/// second of the two goes on, the starter by itself, the end through an entry in a queue of the pool.
class job_end : public task {
  pool_core* core_ = nullptr;
  flag first_over_; // the starter has left it, or the work has ended

protected:
  explicit job_end(exec_type e) noexcept
      : task(e) {}
  ~job_end() = default;

public:
  std::exception_ptr error;   ///< of the work; the second of the two reads it
  char const* name = nullptr; ///< of the node of a graph, for reports; null: it has none

  /// Before the work is started.
  void begin(pool_core& core) noexcept {
    core_ = &core;
    first_over_.lower();
  }
  /// By the starter, which does not touch it any more unless this is true: the work has ended.
  [[nodiscard]] bool has_ended() noexcept { return !first_over_.try_raise(); }
  /// The work has ended. Afterwards this may be gone.
  void end_it() noexcept {
    if (!first_over_.try_raise()) queue_task(*core_, future_state::any_seat, priority::normal, *this);
  }
};

/// Calls a callable that outlives the work: with the token if the callable takes one before the arguments.
template<class F, class... Args>
struct borrowed_call {
  F* f;
  std::tuple<Args&&...> args;

  template<std::same_as<std::stop_token>... Token>
    requires std::is_invocable_v<F&, Token..., Args...>
  decltype(auto) operator()(Token... token) {
    return std::apply(
        [&](Args&&... as) -> decltype(auto) {
          return std::invoke(*f, std::move(token)..., static_cast<Args&&>(as)...);
        },
        std::move(args));
  }
};

/// The waiter for such work, by which the debugger finds whose work it is.
struct started_work : future_waiter {
  job_end& told;
  started_work(job_end& e, void (*ended)(future_waiter&, completions&) noexcept) noexcept
      : future_waiter(ended)
      , told(e) {}
};

/// The work, of a callable that returns a task or a future. `Take` gets its result, if it has one: it is
/// called as take(state_result&) before the end is told.
template<class Call, class Take>
class started_job final : link_holder, public job_for<Call>::type, started_work {
  using base = typename job_for<Call>::type;
  Take take_;

  static void ended(future_waiter& w, completions& /*more*/) noexcept {
    auto& self = static_cast<started_job&>(w);
    job_end& to = self.told;
    to.error = self.take_error();
    if (to.error == nullptr) {
      try {
        self.take_(self.slot());
      } catch (...) {
        to.error = std::current_exception();
      }
    }
    self.slot().reset(); // its destructor may refer to what the run encloses
    to.end_it();
  }
  [[nodiscard]] bool may_report() const noexcept override { return false; } // its failure is the run's
  [[nodiscard]] work_origin origin() const noexcept override { return {.node = this->told.name}; }

public:
  started_job(job_end& to, stop_scope& around, Call c, Take t)
      : link_holder(&around)
      , base(1U, &link, std::move(c))
      , started_work(to, &ended)
      , take_(std::move(t)) {}

  /// Runs it on the calling thread until it is suspended. True: it has ended.
  [[nodiscard]] static bool start(pool_core& core, job_end& end, stop_scope& around, thread_context& me,
                                  Call c, Take t) {
    auto* const made = make_in_slab<started_job>(end, around, std::move(c), std::move(t));
    end.begin(core);
    made->set_home(&core);
    made->is_child = true;                       // a discard cancels it
    static_cast<void>(made->waiters.add(*made)); // it has not begun
    made->begun_by.set(me.index + 1);
    made->resume(me);
    return end.has_ended();
  }
};

} // namespace rubato::detail
