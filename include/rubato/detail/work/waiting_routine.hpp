// A routine that waits, as its pool sees it at the end. docs/design/routines.md
#pragma once

#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/timer/timer.hpp"

namespace rubato::detail {

/// Whether a routine is in the list of its stripe, used only by that list.
class waiting_routine_place {
  friend class waiting_routines;
  bool listed_ = false; // guarded by the lock of the stripe
};

/// In its pool's list of waiting routines from before it waits until a thread has moved it on. The place
/// stands second, where a timer ends with padding: that saves eight bytes.
class waiting_routine : public timer, public waiting_routine_place, public list_node<waiting_routine> {
protected:
  waiting_routine() noexcept = default;
  ~waiting_routine() = default;

public:
  // The first two are called under the lock of its stripe. A thread that moves a waiting routine takes this
  // lock, too, before it pushes the routine. True: the caller has moved the routine, and calls go_on() after
  // interrupt(), or end_wait() after withdraw().

  /// The pool drains: a wait for time ends.
  [[nodiscard]] virtual bool interrupt() noexcept = 0;
  /// The pool ends all waits, for time or not.
  [[nodiscard]] virtual bool withdraw() noexcept = 0;
  /// After interrupt(): queues it.
  virtual void go_on() noexcept = 0;
  /// After withdraw(): the routine is its owner's again.
  virtual void end_wait() noexcept = 0;
};

} // namespace rubato::detail
