// How an execution can end, and how the thread that notices ends it.
#pragma once

#include <iosfwd>
#include <string>

namespace rubato_test {

enum class verdict {
  ok,
  assertion,        ///< EXPLORE_ASSERT, or an exception that left a thread
  race,             ///< two accesses to plain data, or one and a birth or death, that nothing orders
  dead_frame,       ///< an object was used after its end
  deadlock,         ///< threads sleep or spin and no thread is left to wake them
  livelock,         ///< more steps than any sensible schedule takes
  nondeterministic, ///< the same decisions led elsewhere
};

std::ostream& operator<<(std::ostream& to, verdict v);

/// Ends the running execution for good; the threads' stacks are left as they are.
[[noreturn]] void fail(verdict v, std::string message);

} // namespace rubato_test
