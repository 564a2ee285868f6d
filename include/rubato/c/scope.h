/* Scopes: children that may use the memory around the scope, which ends when all of them have ended.
 *
 *   rb_scope scope;
 *   rb_scope_begin(worker, &scope, RB_SCOPE_LIFO);
 *   rb_scope_spawn(&scope, &child->node);
 *   rb_scope_end(&scope);
 */
#ifndef RUBATO_C_SCOPE_H
#define RUBATO_C_SCOPE_H

#include "rubato/c/abi.h"

RB_BEGIN

typedef struct rb_scope {
  uint64_t opaque[48];
} rb_scope;

typedef struct rb_child {
  void* opaque[4];
  void (*run)(struct rb_child* node, rb_worker* worker);
} rb_child;

enum {
  RB_SCOPE_FIFO = 0, /* the oldest child first */
  /* The thread that waits runs the newest first, thieves the oldest: a recursion needs less memory. */
  RB_SCOPE_LIFO = 1,
  /* Added to an order: a stop of the task around the scope does not reach it. */
  RB_SCOPE_UNSTOPPED = 2
};

/* Opens a scope in the given memory, on the worker's pool. It stops with the task around it. */
RB_API void rb_scope_begin(rb_worker* worker, rb_scope* scope, int order) RB_NOEXCEPT;
/* The same on any thread, for a given pool. */
RB_API int rb_scope_begin_on(rb_pool* pool, rb_scope* scope, int order) RB_NOEXCEPT;
/* Adds a child. From any thread, also from a child, until rb_scope_end() has returned. In a stopped scope the
 * child is only freed, by run(node, NULL). */
RB_API void rb_scope_spawn(rb_scope* scope, rb_child* node) RB_NOEXCEPT;
/* Runs children and waits for the others; runs no other work. */
RB_API void rb_scope_wait(rb_scope* scope) RB_NOEXCEPT;
/* Waits and ends the scope. 1: a stop from outside kept children from beginning, which were freed. */
RB_API int rb_scope_end(rb_scope* scope) RB_NOEXCEPT;
/* Children that have not begun are freed; rb_stop_requested() is 1 in the others. */
RB_API void rb_scope_stop(rb_scope* scope) RB_NOEXCEPT;

RB_END

#endif
