// A job that C code has pushed, as a thief runs it.
#pragma once

#include "c/access.hpp"
#include "rubato/c/join.h"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/sync/latent_job.hpp"

namespace rubato::detail {

inline void run_job_elsewhere(latent_job& base, thread_context& runner) {
  run_stolen(base, runner, [](latent_job& job, thread_context& me) {
    auto* const node = node_of<rb_job>(job);
    node->run(node, to_c(&me));
  });
}

} // namespace rubato::detail
