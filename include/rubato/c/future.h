/* Futures: the result of a function that runs on a pool.
 *
 *   rb_future* f;
 *   rb_spawn(pool, compute, arg, &f);
 *   void* result;
 *   rb_future_wait(f, &result);
 *   rb_future_free(f);
 */
#ifndef RUBATO_C_FUTURE_H
#define RUBATO_C_FUTURE_H

#include "rubato/c/abi.h"

RB_BEGIN

typedef struct rb_future rb_future;

/* Queues f(arg), and makes the future of its result. */
RB_API int rb_spawn(rb_pool* pool, void* (*f)(void* arg), void* arg, rb_future** made) RB_NOEXCEPT;
/* Queues f(arg, result) when the future is ready, and makes the future of that. The first one stays the
 * caller's, and is to be freed. If it has failed, f is not called, and the new one fails too. */
RB_API int rb_future_then(rb_future* future, void* (*f)(void* arg, void* result), void* arg,
                          rb_future** made) RB_NOEXCEPT;
/* Waits; several threads may. -ECANCELED: it was cancelled, or its pool ended. result may be null. */
RB_API int rb_future_wait(rb_future* future, void** result) RB_NOEXCEPT;
/* The same for at most timeout_ns. -ETIMEDOUT. */
RB_API int rb_future_wait_for(rb_future* future, int64_t timeout_ns, void** result) RB_NOEXCEPT;
RB_API int rb_future_is_ready(rb_future const* future) RB_NOEXCEPT; /* 1 or 0 */
/* Asks the work to stop. What has not begun does not begin. */
RB_API void rb_future_cancel(rb_future* future) RB_NOEXCEPT;
/* The work goes on. */
RB_API void rb_future_free(rb_future* future) RB_NOEXCEPT;

RB_END

#endif
