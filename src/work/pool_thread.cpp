#include "work/pool_thread.hpp"

namespace rubato::detail {

bool is_member(pool_core const& core) noexcept {
  thread_context const* m = current;
  while (m->core != nullptr && m->core != &core) m = static_cast<pool_thread const*>(m)->outer;
  return m->core != nullptr;
}

} // namespace rubato::detail
