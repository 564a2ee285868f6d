// Recursion by joins that ends early, after a failure or a stop, as a loop does.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/join.hpp"

#include <cstddef>
#include <exception>
#include <utility>

namespace rubato::detail {

/// What all branches of a recursion share. Thread-safe.
class fork_tree {
  loop_root* root_;

public:
  explicit fork_tree(loop_root& root) noexcept
      : root_(&root) {}

  /// A branch calls it where nothing would be lost if it went no further. Whether the scope around was
  /// stopped or another branch has failed, the root knows.
  void throw_if_stopped() const {
    if (root_->stopped()) throw cancelled();
  }

  /// f(context&) and g(context&), at the same time if a worker is free. Both have the floating-point modes of
  /// the thread that began the recursion.
  template<class F, class G>
  void fork(context& c, F const& f, G const& g) const {
    join_fn{}(
        c, [&f](context& mine) { f(mine); },
        [&g, this](context& its) {
          if (its.migrated()) [[unlikely]] {
            fp_modes_in_force const modes(root_->modes());
            g(its);
          } else {
            g(its);
          }
        });
  }

  /// f(i) for each i in [first, last), which is not empty. A stop ends nothing here: f asks for it.
  template<class F>
  void for_each_index(context& c, std::size_t first, std::size_t last, F const& f) const {
    if (last - first == 1) return f(first);
    std::size_t const middle = first + (last - first) / 2;
    fork(
        c, [&](context& mine) { for_each_index(mine, first, middle, f); },
        [&](context& its) { for_each_index(its, middle, last, f); });
  }

  /// Calls f(), which calls code of the program. If it throws, the other branches end early.
  template<class F>
  decltype(auto) attempt(F&& f) const {
    std::exception_ptr error;
    try {
      return std::forward<F>(f)();
    } catch (...) {
      error = std::current_exception();
    }
    root_->fail(error);
    std::rethrow_exception(std::move(error));
  }
};

/// Calls f(fork_tree, context&) on the pool, and waits. Throws what the first branch to fail has thrown, and
/// cancelled if a branch has ended because of a stop.
template<class F>
void with_fork_tree(pool* p, F&& f) {
  detail::on_pool(p, [&f](thread_context& me) {
    loop_root root(me);
    token_in_force const token(me.chain, &root.stop());
    try {
      f(fork_tree(root), me.stayed());
    } catch (...) {
      root.throw_first(); // not the exception of a branch that was only stopped
      throw;
    }
  });
}

} // namespace rubato::detail
