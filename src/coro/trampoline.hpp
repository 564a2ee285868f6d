// The calling thread's trampoline, for functions into which no coroutine is inlined.
#pragma once

#include "rubato/detail/coro/coroutine_task.hpp"

namespace rubato::detail {

[[gnu::tls_model("initial-exec")]] inline thread_local constinit trampoline own_trampoline;

} // namespace rubato::detail
