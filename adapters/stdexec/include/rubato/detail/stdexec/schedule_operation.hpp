// schedule() on a pool: the operation's state is the entry in the pool's queue. Nothing is allocated.
#pragma once

#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <stdexec/execution.hpp>

#include <utility>

namespace rubato::detail {

template<class Receiver>
class schedule_operation final : task {
  pool& pool_;
  [[no_unique_address]] Receiver receiver_;

  /// Null: the pool drops it.
  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<schedule_operation&>(base);
    if (runner == nullptr || stdexec::get_stop_token(stdexec::get_env(self.receiver_)).stop_requested())
      stdexec::set_stopped(std::move(self.receiver_));
    else
      stdexec::set_value(std::move(self.receiver_));
  }

public:
  schedule_operation(pool& p, Receiver r) noexcept
      : task(&run)
      , pool_(p)
      , receiver_(std::move(r)) {}
  schedule_operation(schedule_operation const&) = delete;
  schedule_operation& operator=(schedule_operation const&) = delete;
  ~schedule_operation() = default;

  void start() & noexcept {
    pool_core& core = *core_of(pool_); // the scheduler has started it
    // No arrival: an open pool does not close meanwhile. The caller may also be a member of a closed one.
    if (current->core == &core && !is_closed(core)) {
      queue(core, this);
      return;
    }
    bool refused = false;
    {
      arrival const in(core, arrival::at_once(), arriving::unlimited);
      refused = in.is_refused();
      if (!refused) queue(core, this); // the last access: it may have completed
    }
    if (refused) stdexec::set_stopped(std::move(receiver_));
  }
};

} // namespace rubato::detail
