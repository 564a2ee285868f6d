#include "rubato/c/inline.h"

#include "c/access.hpp"
#include "c/job.hpp"

namespace rubato::detail {

/// What rubato/c/inline.h knows of a thread's record.
struct chain_layout {
  using cell = latent_chain::cell;
  static void check() noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // both compilers support it
    constexpr std::size_t chain = offsetof(thread_context, chain);
    static_assert(chain + offsetof(latent_chain, top_) == RB_INLINE_TOP);
    static_assert(chain + offsetof(latent_chain, base_) == RB_INLINE_BASE);
    static_assert(chain + offsetof(latent_chain, limit_) == RB_INLINE_LIMIT);
    static_assert(chain + offsetof(latent_chain, head_) == RB_INLINE_HEAD);
#pragma GCC diagnostic pop
    static_assert(sizeof(cell) == sizeof(uintptr_t) && sizeof(std::atomic<cell*>) == sizeof(uintptr_t*));
  }
};

} // namespace rubato::detail

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

void* const rb_job_entry =
    reinterpret_cast<void*>(&run_job_elsewhere); // NOLINT: the first word of a forked_job

uint32_t rb_inline_version() noexcept { return RB_INLINE_VERSION; }

int rb_pop_settle(rb_worker* worker, rb_job* job) noexcept {
  thread_context& me = of_c(worker);
  if (me.chain.pop_slow()) return 1;
  wait_for(me, kept_in<forked_job>(job).stolen_job.value);
  return 0;
}
