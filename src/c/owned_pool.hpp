// A pool that C code has made and frees. docs/c.md
#pragma once

#include "rubato/c/pool.h"
#include "rubato/pool_options.hpp"
#include "rubato/thread_pool.hpp"

#include <memory>

namespace rubato::detail {

struct pool_thread;

class owned_pool final : public pool {
  void (*release_)(void*) = nullptr;
  void* arg_ = nullptr;
  std::unique_ptr<membership> joined_; // of the thread that made the pool

  explicit owned_pool(rb_pool_options const& options);
  void join_caller(unsigned workers);

public:
  /// Throws as the constructors of pool.
  [[nodiscard]] static std::unique_ptr<owned_pool> make(rb_pool_options const& options);
  /// Throws std::system_error if the calling thread is a member of the pool, or is not the one whose
  /// membership has to end.
  static void destroy(owned_pool& p);
  static void destroy_in_background(owned_pool& p);
  void end_membership();
};

[[nodiscard]] pool_options options_of_c(rb_pool_options const& options);

[[nodiscard]] inline pool_thread& thread_of_c(rb_thread* t) noexcept {
  return *reinterpret_cast<pool_thread*>(t); // NOLINT: opaque to C
}
[[nodiscard]] inline pool_thread const& thread_of_c(rb_thread const* t) noexcept {
  return *reinterpret_cast<pool_thread const*>(t); // NOLINT: opaque to C
}

} // namespace rubato::detail
