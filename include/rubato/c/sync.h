/* Latches and blocking regions: waits that leave the worker's seat to another thread. */
#ifndef RUBATO_C_SYNC_H
#define RUBATO_C_SYNC_H

#include "rubato/c/abi.h"

RB_BEGIN

typedef struct rb_latch {
  uint64_t opaque[8];
} rb_latch;

/* -ENOMEM. With 0 it is open at once. */
RB_API int rb_latch_init(rb_latch* latch, uint32_t count) RB_NOEXCEPT;
/* Any thread. The last one wakes all that wait, and touches the latch no more afterwards. */
RB_API void rb_latch_count_down(rb_latch* latch, uint32_t n) RB_NOEXCEPT;
RB_API int rb_latch_is_open(rb_latch const* latch) RB_NOEXCEPT; /* 1 or 0 */
/* Waits until the count is 0. A worker leaves its seat meanwhile. Runs no other work. */
RB_API void rb_latch_wait(rb_latch* latch) RB_NOEXCEPT;
/* When it is open. */
RB_API void rb_latch_destroy(rb_latch* latch) RB_NOEXCEPT;

/* Around a call that may block in the kernel: another thread may run the worker's tasks. Returns what
 * rb_blocking_end() takes. Not nested in itself. */
RB_API void* rb_blocking_begin(rb_worker* worker) RB_NOEXCEPT;
RB_API void rb_blocking_end(rb_worker* worker, void* seat) RB_NOEXCEPT;

RB_END

#endif
