/* Queued tasks, calls, one task at a time.
 *
 *   struct greeting { rb_task node; char const* text; };
 *   static void greet(rb_task* node, rb_worker* worker) {
 *     struct greeting* g = (struct greeting*)node;
 *     if (worker != NULL) puts(g->text);
 *     free(g);
 *   }
 *   g->node.run = greet;
 *   rb_enqueue(pool, &g->node, RB_QUEUE_FIFO);
 */
#ifndef RUBATO_C_TASK_H
#define RUBATO_C_TASK_H

#include "rubato/c/abi.h"

RB_BEGIN

typedef struct rb_task {
  void* opaque[4];
  void (*run)(struct rb_task* node, rb_worker* worker);
} rb_task;

enum {
  RB_QUEUE_FIFO = 0, /* behind what is queued */
  RB_QUEUE_LIFO = 1 /* from a task of this pool: next on its worker, before what is queued; the last one wins.
                       Else as FIFO */
};

/* Queues a task. -ECANCELED: the pool ends or is closed, and the node is untouched. Waits while max_queued
 * tasks are queued. */
RB_API int rb_enqueue(rb_pool* pool, rb_task* node, int order) RB_NOEXCEPT;
/* The same for one seat: rubato::pool::spawn_on(). -ERANGE: there is no such seat. */
RB_API int rb_enqueue_on(rb_pool* pool, uint32_t seat, rb_task* node) RB_NOEXCEPT;
/* The same for the thread with this rb_worker_number(), which runs the task between two others, or in a wait,
 * as rb_broadcast() says. If it ends before, another thread runs the task. Does not count for max_queued.
 * -ERANGE: no thread of the pool has this number; that of a member from outside is none. */
RB_API int rb_enqueue_to(rb_pool* pool, uint32_t number, rb_task* node) RB_NOEXCEPT;

/* Calls f on a thread of the pool, and waits; in a pool without workers the caller runs what is queued
 * there. A thread of the pool calls it itself, at once. A member of another pool waits as rb_latch_wait()
 * does. -ECANCELED: the pool is closed, and f was not called. */
RB_API int rb_call(rb_pool* pool, void (*f)(void* arg, rb_worker* worker), void* arg) RB_NOEXCEPT;
/* Calls f on the calling thread as a member of the pool: rubato::pool::run(). -EAGAIN: too many members. */
RB_API int rb_run(rb_pool* pool, void (*f)(void* arg, rb_worker* worker), void* arg) RB_NOEXCEPT;

/* Calls f once on each thread of the pool, and waits: rubato::pool::broadcast(per_thread, f). A thread calls
 * f between two tasks, or in a wait: so f must need no lock that a task may hold while it waits. A
 * thread that waits as a member of another pool, until another pool is idle or has ended, or in a blocking
 * region, calls f afterwards. -ECANCELED:
 * the pool is closed, or was discarded. */
RB_API int rb_broadcast(rb_pool* pool, void (*f)(void* arg, rb_worker* worker), void* arg) RB_NOEXCEPT;
/* The same with a task for each thread, and does not wait. `make` is called on the calling thread, with a
 * position in the order of the threads' numbers and how many there are; it returns the node, or null if it
 * has none. A thread that has ended meanwhile has its task run by another one. */
RB_API int rb_spawn_broadcast(rb_pool* pool, rb_task* (*make)(void* arg, uint32_t position, uint32_t threads),
                              void* arg) RB_NOEXCEPT;

/* Runs one task, child or job that is ready in the worker's pool, whatever it is. 1: it ran one. 0: there was
 * none. No wait of the library does that: the caller must hold nothing that such a task may need. */
RB_API int rb_run_one(rb_worker* worker) RB_NOEXCEPT;

/* 1: the task that the worker runs was asked to stop. */
RB_API int rb_stop_requested(rb_worker* worker) RB_NOEXCEPT;

RB_END

#endif
