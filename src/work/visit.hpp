// Calls of a pool by threads that do not belong to it, as far as whoever destroys the pool must wait for
// them. docs/design/lifecycle.md
#pragma once

namespace rubato::detail {

class pool_core;

/// Stands on the stack of an outside thread from before it does what others may notice (a task is queued)
/// until it touches the pool no more. Costs two plain stores. Not nested: nothing in it is user code.
class visit {
public:
  /// The pool exists: it waits for something that the caller has not done yet, or see visit_if_there().
  explicit visit(pool_core const& core) noexcept;
  visit(visit const&) = delete;
  visit& operator=(visit const&) = delete;
  ~visit();
};

/// Waits until no thread visits the pool any more.
void await_visitors(pool_core const& core) noexcept;

// Around fork(): the child has none of the other threads.
void lock_visitors() noexcept;
void unlock_visitors() noexcept;
void forget_other_visitors() noexcept;

} // namespace rubato::detail
