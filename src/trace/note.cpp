// How protocols that are templates over the policy tell the trace.
#include "rubato/detail/trace/note.hpp"

#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

void std_policy::note_parking(parking what, void const* parker) noexcept {
  switch (what) {
  case parking::sleeps:
    note<event_kind::park>(parker);
    break;
  case parking::polls:
    note<event_kind::park>(parker, 0, 1);
    break;
  case parking::has_slept:
    note<event_kind::unparked>(parker);
    break;
  case parking::woken:
    note<event_kind::wake>(parker);
  }
}

} // namespace rubato::detail
