/* Pools.
 *
 *   rb_pool_options options = RB_POOL_OPTIONS_INIT;
 *   rb_pool* pool;
 *   options.workers = 2;
 *   if (rb_pool_new(&options, &pool) == 0) {
 *     ...
 *     rb_pool_free(pool);
 *   }
 */
#ifndef RUBATO_C_POOL_H
#define RUBATO_C_POOL_H

#include "rubato/c/abi.h"

RB_BEGIN

/* A thread that a host is to make: see rb_pool_options::make_thread. */
typedef struct rb_thread rb_thread;

enum {
  /* No workers until rb_pool_resize(). `workers` is ignored. */
  RB_POOL_NO_WORKERS = 1,
  /* rb_pool_new() fails if it cannot make all the threads. Otherwise one is enough. It makes them in the
   * order of their numbers. */
  RB_POOL_START_ALL = 2,
  /* The calling thread is worker 0 until rb_pool_leave() or rb_pool_free(), which it must call itself: it
   * counts as one of `workers`, and runs tasks when it calls rb_run_one(), or waits for them. It counts as
   * in a task: until it leaves, the pool is not idle, and a shutdown by another thread waits. A broadcast
   * waits until it waits, calls rb_run_one() or leaves. */
  RB_POOL_JOINS_CALLER = 4
};

#define RB_SPARES_DEFAULT 1024U

typedef struct rb_pool_options {
  size_t size;       /* sizeof(rb_pool_options) of the caller: later fields keep their defaults */
  uint32_t workers;  /* 0: as many as CPUs may be used */
  uint32_t spares;   /* threads beyond `workers`, in place of those that wait */
  uint32_t flags;    /* RB_POOL_... */
  size_t stack_size; /* of each thread in bytes; 0: the system's default */
  size_t max_queued; /* the limit on queued tasks; 0: none */
  int64_t search_ns; /* how long a worker without work searches; negative: the default */
  char const* name;  /* of the threads; null: "rubato". Copied. */
  void* arg;         /* for the callbacks */
  void (*on_start)(void* arg, uint32_t number); /* on each new thread before its first task; may be null */
  void (*on_exit)(void* arg, uint32_t number);  /* after its last one; may be null */
  /* Makes a thread that calls rb_thread_run(thread), and returns 0, or a negative errno if none can be made.
   * Any thread may call it, and several at once; it must not wait for the new thread, nor resize or end the
   * pool. The new thread is in no pool. Null: the library makes its threads. The pool is not over before
   * rb_thread_run() has returned everywhere. The host sees to affinity and stack sizes, and joins its
   * threads. */
  int (*make_thread)(void* arg, rb_thread* thread);
  /* Called once, when the pool is over and needs `arg` no more; also if rb_pool_new() fails, unless `size` is
   * wrong. May be null. */
  void (*release)(void* arg);
} rb_pool_options;

#define RB_POOL_OPTIONS_INIT                                                                                 \
  {sizeof(rb_pool_options), 0, RB_SPARES_DEFAULT, 0, 0, 0, -1, NULL, NULL, NULL, NULL, NULL, NULL}

/* Makes a pool and starts it. -EINVAL: an option is wrong. -EAGAIN, -ENOMEM: no thread, no memory. */
RB_API int rb_pool_new(rb_pool_options const* options, rb_pool** made) RB_NOEXCEPT;
/* The pool of the whole program, which C++ code uses too. Never freed. */
RB_API int rb_pool_global(rb_pool** pool) RB_NOEXCEPT;
/* The options with which the global pool starts at its first use. -EBUSY: it has been used. -EINVAL: of the
 * flags only RB_POOL_NO_WORKERS is for it. `release` is not called. */
RB_API int rb_pool_configure_global(rb_pool_options const* options) RB_NOEXCEPT;

/* Waits until all queued work has run and all threads have ended, and frees the pool. -EDEADLK: the caller is
 * a task of this pool. -EPERM: as rb_pool_leave(). Only for pools of rb_pool_new(), as the next two. */
RB_API int rb_pool_free(rb_pool* pool) RB_NOEXCEPT;
/* The same in the background, on a thread of its own: does not wait. Also from a task of the pool. The handle
 * is no longer valid. -EPERM, -EDEADLK: as rb_pool_leave(). */
RB_API int rb_pool_release(rb_pool* pool) RB_NOEXCEPT;
/* Ends the membership that RB_POOL_JOINS_CALLER began, if it did. On the thread that made the pool. -EPERM:
 * on another one, or beneath a membership of another pool that began later. -EDEADLK: in a task that this
 * thread runs. Not for the global pool. */
RB_API int rb_pool_leave(rb_pool* pool) RB_NOEXCEPT;

enum { RB_DRAIN = 0, RB_DISCARD = 1 };
/* Ends the pool's work, waits, and closes it: rb_enqueue() is refused until rb_pool_resize(). RB_DRAIN:
 * queued tasks run. RB_DISCARD: tasks that have not begun are freed by run(node, NULL), and stops are
 * requested. -EDEADLK: from a task of this pool. */
RB_API int rb_pool_shutdown(rb_pool* pool, int how) RB_NOEXCEPT;
/* Begins that and does not wait. */
RB_API int rb_pool_request_shutdown(rb_pool* pool, int how) RB_NOEXCEPT;
/* Sets the number of workers. */
RB_API int rb_pool_resize(rb_pool* pool, uint32_t workers) RB_NOEXCEPT;
/* Waits for a moment at which nothing is queued or running, at most timeout_ns; negative: without a limit.
 * -ETIMEDOUT, -EDEADLK. */
RB_API int rb_pool_wait_idle(rb_pool* pool, int64_t timeout_ns) RB_NOEXCEPT;

RB_API uint32_t rb_pool_size(rb_pool const* pool) RB_NOEXCEPT;  /* the number of workers */
RB_API uint32_t rb_pool_slots(rb_pool const* pool) RB_NOEXCEPT; /* every rb_worker_number() is below it */

typedef struct rb_stats {
  size_t size; /* sizeof(rb_stats) of the caller */
  uint64_t executed, spawned, handed, taken, stolen, parked, woken, vacated, relieved, timers, io_events;
  uint64_t queued, spares;
} rb_stats;
/* The pool's counters. rubato/stats.hpp says what they count. Sets stats->size to the number of bytes
 * written. */
RB_API int rb_pool_stats(rb_pool const* pool, rb_stats* stats) RB_NOEXCEPT;

/* The number that the thread will have. */
RB_API uint32_t rb_thread_number(rb_thread const* thread) RB_NOEXCEPT;
/* Writes the name that it is to have, with the final zero. */
RB_API void rb_thread_name(rb_thread const* thread, char name[16]) RB_NOEXCEPT;
/* The life of a thread of the pool: returns when the pool has no more use for it. Called exactly once. */
RB_API void rb_thread_run(rb_thread* thread) RB_NOEXCEPT;

RB_END

#endif
