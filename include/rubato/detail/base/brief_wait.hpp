// A wait for a step of another thread that has begun and takes an instant: that thread sleeps in no lock and
// runs no long code of the user on its way there. Where the step may be far, the waiter sleeps on a futex.
//
// No wait spins, or yields, without bound. The other thread may have been put aside in the middle of its step
// by this very wait: a real-time thread that keeps its CPU awake keeps a thread of lower priority from
// running there, until the kernel interferes, about a second later.
#pragma once

#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

/// Waits until `done()`. Out of line, and the count of its rounds with it: on fast paths the caller looks
/// first, and calls this only if it must wait.
template<class Policy, class Done>
[[gnu::noinline, gnu::cold]] void wait_briefly(Done done) noexcept {
  for (unsigned round = 0; !done(); ++round) Policy::back_off(round);
}

} // namespace rubato::detail
