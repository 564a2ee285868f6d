// The library's own types, for a debugger: the library itself may have been compiled without them.
#include "rubato/detail/siblings.hpp"
#include "work/pool_core.hpp"

namespace debugger_test {
extern rubato::detail::pool_core* const some_pool;
rubato::detail::pool_core* const some_pool = nullptr;
bool has_residents(rubato::detail::pool_core const& c);
bool has_residents(rubato::detail::pool_core const& c) { return c.residing.count() != 0 && c.slots() != 0; }
bool is_first(rubato::detail::sibling_activity const& a);
bool is_first(rubato::detail::sibling_activity const& a) { return a.flushes() == 0; }
} // namespace debugger_test
