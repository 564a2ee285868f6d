// How protocols that are templates over the policy tell the trace.
#include "rubato/detail/trace/note.hpp"

#include "os/clock.hpp"
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

std::uint64_t std_policy::time_of_change() noexcept {
  return is_traced<event_kind::seats>() ? static_cast<std::uint64_t>(os::now()) : 0;
}

void std_policy::note_seats(void const* pool, bool any_is_free, std::uint64_t at) noexcept {
  if (at != 0) note<event_kind::seats>(pool, at, any_is_free ? 1 : 0);
}

} // namespace rubato::detail
