// What the tests of the C interface share.
#pragma once

#include <gtest/gtest.h>

#include "support/hang_guard.hpp"

#include <rubato/c/rubato.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace rubato_test {

/// A pool of the C interface, with no spares unless the test sets them.
class c_pool {
  rb_pool* pool_ = nullptr;

public:
  explicit c_pool(rb_pool_options const& options) { EXPECT_EQ(rb_pool_new(&options, &pool_), 0); }
  explicit c_pool(unsigned workers)
      : c_pool(options_for(workers)) {}
  c_pool(c_pool const&) = delete;
  c_pool& operator=(c_pool const&) = delete;
  ~c_pool() {
    if (pool_ != nullptr) {
      EXPECT_EQ(rb_pool_free(pool_), 0);
    }
  }
  operator rb_pool*() const noexcept { return pool_; } // NOLINT: as the handle is used
  rb_pool* give_up() noexcept { return std::exchange(pool_, nullptr); }

  static rb_pool_options options_for(unsigned workers) {
    rb_pool_options options = RB_POOL_OPTIONS_INIT;
    if (workers == 0) options.flags = RB_POOL_NO_WORKERS;
    options.workers = workers;
    return options;
  }
};

/// A node that calls a function and frees itself. Node: rb_task or rb_child.
template<class Node>
struct c_node {
  Node node{};
  std::function<void(rb_worker*)> f;

  static Node* make(std::function<void(rb_worker*)> f) {
    auto* const made = new c_node{{}, std::move(f)};
    made->node.run = [](Node* n, rb_worker* worker) {
      std::unique_ptr<c_node> const self(reinterpret_cast<c_node*>(n)); // NOLINT: its first member
      self->f(worker);
    };
    return &made->node;
  }
};
using c_task = c_node<rb_task>;
using c_child = c_node<rb_child>;

/// f on a thread of the pool.
inline void on_worker(rb_pool* pool, std::function<void(rb_worker*)> f) {
  EXPECT_EQ(
      rb_call(
          pool,
          [](void* arg, rb_worker* worker) { (*static_cast<std::function<void(rb_worker*)>*>(arg))(worker); },
          &f),
      0);
}

} // namespace rubato_test
