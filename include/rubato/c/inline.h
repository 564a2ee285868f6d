/* rb_push() and rb_pop() in the caller's own code, for a fork that costs a few instructions.
 *
 *   rb_job job;
 *   job.run = run_second_half;
 *   int const how = rb_push_inline(worker, &job);
 *   first_half();
 *   if (how == RB_NOT_PUSHED || rb_pop_inline(worker, &job, how)) second_half();
 *
 * The code knows where the library keeps a thread's jobs. RB_INLINE_VERSION names that layout, which may
 * change with any release, unlike the rest of the interface: a program that loads the library at run time
 * compares rb_inline_version(), and uses rb_push() and rb_pop() if it differs. docs/design/take.md explains
 * the order of the accesses.
 */
#ifndef RUBATO_C_INLINE_H
#define RUBATO_C_INLINE_H

#include "rubato/c/join.h"

#define RB_INLINE_VERSION 1U

RB_BEGIN

RB_API uint32_t rb_inline_version(void) RB_NOEXCEPT;
/* The first word of a job. */
RB_API extern void* const rb_job_entry;
/* The rest of rb_pop_inline(), after it has lost the job. Returns as rb_pop(). */
RB_API int rb_pop_settle(rb_worker* worker, rb_job* job) RB_NOEXCEPT;

enum {
  RB_INLINE_TOP = 64,    /* the cell behind the newest job: an address, for the owner alone */
  RB_INLINE_BASE = 72,   /* the first cell */
  RB_INLINE_LIMIT = 128, /* the owner calls the library if `top` has reached it */
  RB_INLINE_HEAD = 136   /* the oldest job that has not left */
};

enum { RB_NOT_PUSHED = 0, RB_PUSHED = 1, RB_PUSHED_BY_LIBRARY = 2 };

/* Makes the job available to thieves. RB_NOT_PUSHED: there are too many, and the caller runs it itself. */
static inline int rb_push_inline(rb_worker* worker, rb_job* job) {
  uintptr_t** const top = (uintptr_t**)(void*)((char*)worker + RB_INLINE_TOP);
  uintptr_t* const cell = *top;
  if (cell >= __atomic_load_n((uintptr_t**)(void*)((char*)worker + RB_INLINE_LIMIT), __ATOMIC_RELAXED))
    return rb_push(worker, job) == 0 ? RB_PUSHED_BY_LIBRARY : RB_NOT_PUSHED;
  job->opaque[0] = rb_job_entry;
  __atomic_store_n(cell, (uintptr_t)job, __ATOMIC_RELEASE);
  *top = cell + 1;
  return RB_PUSHED;
}

/* Takes it back, as rb_pop(). `how`: what rb_push_inline() has returned. */
static inline int rb_pop_inline(rb_worker* worker, rb_job* job, int how) {
  uintptr_t** const top = (uintptr_t**)(void*)((char*)worker + RB_INLINE_TOP);
  uintptr_t* const cell = *top - 1;
  if (how != RB_PUSHED) return rb_pop(worker, job);
  __atomic_store_n(cell, (uintptr_t)0, __ATOMIC_RELAXED);
  *top = cell;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* for the compiler: the thief has a barrier for both */
  if (__atomic_load_n((uintptr_t**)(void*)((char*)worker + RB_INLINE_HEAD), __ATOMIC_ACQUIRE) <= cell)
    return 1;
  return rb_pop_settle(worker, job);
}

RB_END

#endif
