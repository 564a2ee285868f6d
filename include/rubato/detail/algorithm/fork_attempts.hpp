// A recursion of forks none of whose parts throws: after a failure or a stop the rest only tidies up.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/join.hpp"

#include <exception>
#include <utility>

namespace rubato::detail {

/// The recursion as a whole, in the frame of its caller. Beside fork_tree, whose parts throw: attempt() keeps
/// what failed, so that an algorithm that has elements in memory of its own can say in plain code where each
/// of them is. A null context stands for the calling thread alone.
class fork_attempts {
  loop_root* root_ = nullptr; // null: no part of it is on another thread
  relaxed<bool> ended_early_;
  std::exception_ptr error_; // without a root

  template<class G>
  [[gnu::noinline]] void elsewhere(context& c, G& g) {
    fp_modes_in_force const modes(root_->modes());
    g(&c);
  }
  [[gnu::noinline]] void fail(std::exception_ptr error) noexcept {
    if (root_ != nullptr)
      root_->fail(std::move(error));
    else if (error_ == nullptr)
      error_ = std::move(error);
    ended_early_.set(true);
  }

public:
  fork_attempts() noexcept = default;
  explicit fork_attempts(loop_root& root) noexcept
      : root_(&root) {}

  /// True if no further part may begin; the recursion ends with an exception then.
  [[nodiscard]] bool stopped() noexcept {
    if (root_ == nullptr || !root_->stopped()) return ended_early_.get();
    ended_early_.set(true);
    return true;
  }

  /// Calls f(). False: it has thrown, which stops the recursion.
  template<class F>
  [[nodiscard]] [[gnu::always_inline]] bool attempt(F&& f) noexcept {
    std::exception_ptr error;
    try {
      f();
      return true;
    } catch (...) {
      error = std::current_exception();
    }
    fail(std::move(error)); // outside the handler: callbacks of the stop run there
    return false;
  }

  /// f(context*) and g(context*), at the same time if a worker is free. Neither throws.
  template<class F, class G>
  void fork(context* c, F&& f, G&& g) {
    if (c == nullptr) {
      f(c);
      g(c);
      return;
    }
    join_fn{}(
        *c, [&f](context& mine) { f(&mine); },
        [this, &g](context& its) {
          if (its.migrated()) [[unlikely]]
            elsewhere(its, g);
          else
            g(&its);
        });
  }

  /// Throws what has ended the recursion early.
  void throw_if_ended_early() {
    if (!ended_early_.get()) return;
    if (error_ != nullptr) std::rethrow_exception(std::move(error_));
    root_->throw_first();
    throw cancelled();
  }
};

/// Calls body(fork_attempts&, context*), then throws what has ended it early. If `alone`, on the calling
/// thread, and no pool is looked up. `long_work`: it will take more than 100 us, so that a sleeping worker is
/// woken.
template<class Body>
void with_fork_attempts(pool* p, bool alone, bool long_work, Body&& body) {
  if (alone) {
    fork_attempts tree;
    body(tree, nullptr);
    tree.throw_if_ended_early();
    return;
  }
  detail::on_pool(p, [&](thread_context& me) {
    if (long_work) notify_of_latent(me);
    loop_root root(me);
    token_in_force const token(me.chain, &root.stop());
    fork_attempts tree(root);
    body(tree, &me.stayed());
    tree.throw_if_ended_early();
  });
}

} // namespace rubato::detail
