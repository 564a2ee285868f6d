// The calling thread's trampoline, for functions that no coroutine can be a part of.
#pragma once

#include "rubato/detail/activity.hpp"

namespace rubato::detail {

[[gnu::tls_model("initial-exec")]] inline thread_local constinit trampoline own_trampoline;

} // namespace rubato::detail
