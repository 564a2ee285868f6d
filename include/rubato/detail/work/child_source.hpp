// A scope as the scheduler sees it: its children that have not begun. docs/design/scopes.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <cstddef>

namespace rubato::detail {

class child_source;
class thread_context;
struct pool_thread;

/// A child that has not begun.
struct scope_child {
  /// Runs the closure on `runner`, or only destroys it if that is null; frees the child. Passes on the
  /// closure's exception.
  using exec_type = void (*)(scope_child&, thread_context* runner);
  exec_type exec;
  child_source* source = nullptr;
  scope_child* next = nullptr;
  scope_child* previous = nullptr;

  explicit scope_child(exec_type e) noexcept
      : exec(e) {}
};

/// Children in the order of their spawns. The source is in the list of its home thread, where searching
/// threads find it, from the first child on until no child is left that may begin.
class child_source : public list_node<child_source> {
protected:
  mutable mutex mutex_;
  scope_child* first_ RUBATO_GUARDED_BY(mutex_) = nullptr;
  scope_child* last_ RUBATO_GUARDED_BY(mutex_) = nullptr;
  std::size_t running_ RUBATO_GUARDED_BY(mutex_) = 0;

  relaxed<bool> stopped_;     // no child begins any more
  bool newest_first_ = false; // for the thread that waits; before the first child
  pool_thread* home_;         // the thread whose latent work the children are

  // The home's scopes_mutex guards the links. listed_ changes under both locks, so a thread may read it under
  // either; without a lock it is a hint.
  relaxed<bool> listed_;

  explicit child_source(pool_thread& home) noexcept
      : home_(&home) {}
  ~child_source() = default;

  /// Takes the oldest child, or the newest, and counts it as running. Null: no child may begin. Under the
  /// lock.
  [[nodiscard]] scope_child* take_locked(bool newest = false) noexcept RUBATO_REQUIRES(mutex_);
  void add_last(scope_child& c) noexcept RUBATO_REQUIRES(mutex_);
  /// The next child for the waiting thread. The source stays in the list.
  [[nodiscard]] scope_child* take_child() noexcept;
  /// Under both locks.
  void enlist() noexcept RUBATO_REQUIRES(mutex_);
  void delist() noexcept RUBATO_REQUIRES(mutex_);
  /// Takes the source out of the list unless a child may begin.
  void leave_list() noexcept;

public:
  /// Runs a child that was taken. The source may be gone afterwards.
  virtual void run(scope_child& c, pool_thread& runner) noexcept = 0;

  // For searching threads.
  /// True if a source whose home is `t` has a child. The sources before it, which have none, leave the list.
  [[nodiscard]] static bool find_child(pool_thread const& t) noexcept;
  /// Takes the oldest child of the oldest source whose home is `t`; null: there is none.
  [[nodiscard]] static scope_child* take_child_of(pool_thread& t) noexcept;
};

} // namespace rubato::detail
