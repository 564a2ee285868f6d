// How the thread that has called for a run waits for its end.
#pragma once

#include "base/function_ref.hpp"
#include "rubato/detail/work/thread_context.hpp"

namespace rubato::detail {

/// Until done(): runs what steal() gets, parts of that run alone, and then sleeps. `may_end_elsewhere`: parts
/// may wait for something that the pool does not end alone.
void await_run(thread_context& me, char const* why, bool may_end_elsewhere, function_ref<bool()> done,
               function_ref<steal_result()> steal) noexcept;

} // namespace rubato::detail
