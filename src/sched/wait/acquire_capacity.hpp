// A caller that queues a task waits while max_queued tasks are queued. docs/design/queues.md
#pragma once

namespace rubato::detail {

class pool_core;

/// For one task of the caller. Throws cancelled if the pool refuses it.
void acquire_capacity(pool_core& core);

} // namespace rubato::detail
