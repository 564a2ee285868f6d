// The rare parts of a fork: requests for work, and jobs that another thread has stolen. docs/design/take.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/work/thread_context.hpp"

namespace rubato::detail {

/// After a push: serves a request for work. If the monitor rests, wakes a worker or the monitor for the job.
RUBATO_API void poll_requests(thread_context& me) noexcept;
/// After a push of work that is worth a wake: wakes a worker for it, if one sleeps and none searches.
RUBATO_API void notify_of_latent(thread_context& me) noexcept;
/// Waits until the job's runner has ended it, and meanwhile steals jobs that descend from it.
RUBATO_API void wait_for(thread_context& me, stolen_job& d) noexcept;
/// For the thief: calls body(job, runner), and signals the owner that the job is done. Afterwards the job may
/// be gone.
RUBATO_API void run_stolen(latent_job& job, thread_context& runner,
                           void (*body)(latent_job&, thread_context&)) noexcept;

} // namespace rubato::detail
