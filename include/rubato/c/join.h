/* Fork and join, and loops.
 *
 *   static int half(void* arg, rb_worker* worker, int migrated) { ... return 0; }
 *   rb_join(worker, half, &left, half, &right);
 */
#ifndef RUBATO_C_JOIN_H
#define RUBATO_C_JOIN_H

#include "rubato/c/abi.h"

RB_BEGIN

/* A half of a join. migrated: it runs on another thread than the join. It returns 0, or, if it failed, not 0.
 */
typedef int (*rb_half)(void* arg, rb_worker* worker, int migrated);

enum { RB_JOIN_SKIPPED = 1 };

/* Calls a, and at the same time, if a thread is free, b. If a fails and no thread has begun b, b is not
 * called: RB_JOIN_SKIPPED. Else 0, after both. */
RB_API int rb_join(rb_worker* worker, rb_half a, void* a_arg, rb_half b, void* b_arg) RB_NOEXCEPT;

/* A latent job, in the frame of its owner: the parts of a join, for hosts that inline them. */
typedef struct rb_job {
  void* opaque[6];
  void (*run)(struct rb_job* job, rb_worker* thief); /* called by a thief only */
} rb_job;

/* Makes `job` available to thieves. 0, or -EAGAIN: there are too many, and the caller runs it itself, without
 * rb_pop(). */
RB_API int rb_push(rb_worker* worker, rb_job* job) RB_NOEXCEPT;
/* Takes back the newest job that the thread has pushed, which must be this one. 1: the caller has it and runs
 * it, or drops it. 0: a thief has run it, and `run` has returned: the caller was waiting, and ran jobs that
 * descend from it meanwhile. */
RB_API int rb_pop(rb_worker* worker, rb_job* job) RB_NOEXCEPT;

/* Wakes a thread for the jobs that this thread has pushed, if one sleeps and none looks for work. A push
 * alone wakes none: threads that are awake find the job, and others within about a millisecond. So it is for
 * jobs that are worth a wake, of some 10 us. */
RB_API void rb_notify(rb_worker* worker) RB_NOEXCEPT;

/* Calls f(arg, worker, lo, hi) for parts of [0, n), at the same time as far as threads are free. Each but the
 * last has at least min_chunk items; 0 or 1: as it comes. pool null: the caller's own, else the global one.
 * -ECANCELED: a stop of the task around kept a part from beginning. */
RB_API int rb_for_range(rb_pool* pool, uint64_t n, uint64_t min_chunk,
                        void (*f)(void* arg, rb_worker* worker, uint64_t lo, uint64_t hi),
                        void* arg) RB_NOEXCEPT;

RB_END

#endif
