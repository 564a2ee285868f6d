/* What all headers of the C interface share: its version, its errors, its workers. docs/c.md
 *
 * Every function returns 0 or a negative errno, unless it says otherwise, and none unwinds: no exception
 * leaves the library, and a callback must let none out (the program would terminate). A pool is a handle.
 * Tasks, children, jobs, scopes and latches lie in the caller's memory: the library owns a node from the call
 * that takes it until it calls the node's `run`, which it does exactly once; `run` may free the node. A null
 * worker means: only free it.
 */
#ifndef RUBATO_C_ABI_H
#define RUBATO_C_ABI_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RB_API __attribute__((visibility("default")))
#else
#define RB_API
#endif

#if defined(__cplusplus)
#define RB_NOEXCEPT noexcept
#define RB_BEGIN extern "C" {
#define RB_END }
#else
#define RB_NOEXCEPT
#define RB_BEGIN
#define RB_END
#endif

/* The version of this interface. It changes when a function or a struct changes in a way that breaks a
 * program. */
#define RB_ABI_VERSION 1U

RB_BEGIN

/* A pool of threads. */
typedef struct rb_pool rb_pool;
/* The record of a thread in a pool. Valid on that thread, in the callback that got it. */
typedef struct rb_worker rb_worker;

/* The RB_ABI_VERSION of the library that is linked. A program that loads the library at run time compares it.
 */
RB_API uint32_t rb_abi_version(void) RB_NOEXCEPT;

/* The calling thread's record in the pool whose code it runs; null outside any pool. */
RB_API rb_worker* rb_current(void) RB_NOEXCEPT;
/* Its number: unique in its pool, constant within a task, below rb_pool_slots(). In a pool without spares
 * that is never resized, shut down or left by its maker, a thread of the pool has a number below
 * rb_pool_size(). */
RB_API uint32_t rb_worker_number(rb_worker const* worker) RB_NOEXCEPT;
/* Its pool. Not to be freed. Equal handles are one pool. */
RB_API rb_pool* rb_worker_pool(rb_worker const* worker) RB_NOEXCEPT;

RB_END

#endif
