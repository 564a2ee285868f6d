// The library's own types, for a debugger: the library itself may have been compiled without them.
#include "rubato/detail/coro/forked_group.hpp"
#include "rubato/detail/coro/queued_group.hpp"
#include "sched/core/pool_core.hpp"

namespace rubato_test {
extern rubato::detail::pool_core* const some_pool;
rubato::detail::pool_core* const some_pool = nullptr;
bool has_owned_tasks(rubato::detail::pool_core const& c);
bool has_owned_tasks(rubato::detail::pool_core const& c) {
  return c.owned.count() != 0 && c.threads.records.slots() != 0;
}
bool is_of(rubato::detail::forked_group& a, rubato::detail::queued_group& b,
           rubato::detail::coroutine_task& c);
bool is_of(rubato::detail::forked_group& a, rubato::detail::queued_group& b,
           rubato::detail::coroutine_task& c) {
  return &a.coroutine() == &c || &b.coroutine() == &c;
}
bool is_first(rubato::detail::group_member_task const& a);
bool is_first(rubato::detail::group_member_task const& a) { return a.entry().race == nullptr; }
} // namespace rubato_test
