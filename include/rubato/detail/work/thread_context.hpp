// The part of a pool thread's record that templates need.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/sync/latent_chain.hpp"

#include <cstdint>

namespace rubato {

class pool;

/// Passed down a recursion to save the look-up of the thread at every fork; see join(context&, f, g). It
/// names the thread that runs the code, so a context must not be kept, passed to another thread, or used
/// after the callable that got it has returned.
class context {
  friend class detail::thread_context;
  constexpr context() noexcept = default;

public:
  context(context const&) = delete;
  context& operator=(context const&) = delete;

  /// True if this callable runs on another thread than the one that forked it.
  [[nodiscard]] bool migrated() const noexcept;
  /// The number of the thread that runs this callable, as current_worker(), below pool::slots().
  [[nodiscard]] unsigned index() const noexcept;
};

namespace detail {

class pool_core;
class stop_scope;

/// A thread's latent jobs, its number and its pool. Freed with the pool, after every use by other threads.
class alignas(128) thread_context {
  // A context is one of these two bytes: its address tells the thread and, in the lowest bit, whether the
  // callable that gets it has migrated.
  context contexts_[2];

public:
  latent_chain chain;
  unsigned index = 0;        ///< unique in the pool, below slots()
  pool_core* core = nullptr; ///< null: the thread belongs to no pool

  constexpr thread_context() noexcept
      : contexts_{context(), context()} {}

  [[gnu::always_inline]] context& stayed() noexcept { return contexts_[0]; }
  context& moved() noexcept { return contexts_[1]; }
  [[gnu::always_inline]] static thread_context& of(context& c) noexcept {
    return *reinterpret_cast<thread_context*>(reinterpret_cast<std::uintptr_t>(&c) & ~std::uintptr_t{1});
  }
};

static_assert(sizeof(context) == 1,
              "the two contexts of a member are told apart by their lowest address bit");

/// The record of every thread that belongs to no pool. Its chain is full, so a fork takes the cold path.
/// Visible, like `current`: a program that hides its symbols shares both with a shared library of Rubato.
[[gnu::visibility("default")]] inline constinit thread_context outside;

/// The calling thread's record in the pool whose code it runs.
#if defined(__clang__)
// Defined here, a program reaches it by one instruction instead of two.
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] inline thread_local constinit thread_context* current = &outside;
#else
// g++ makes an inline variable unique in the process. Then a pool thread of one plug-in would pass for a pool
// thread of another plug-in that has its own Rubato.
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] extern constinit thread_local thread_context* current;
#endif

/// Marks a token of a thread's chain that is a future_state, which is asked for its scope. Any other token is
/// a stop scope, or null.
inline constexpr std::uintptr_t state_token_bit = 1;
[[nodiscard]] RUBATO_API stop_scope* scope_of_state(void* token) noexcept;
[[nodiscard]] inline stop_scope* scope_of_token(void* token) noexcept {
  return (reinterpret_cast<std::uintptr_t>(token) & state_token_bit) == 0 ? static_cast<stop_scope*>(token)
                                                                          : scope_of_state(token);
}

/// While it lives, jobs that the chain's owner forks stop with this token; null: with the outer one.
class token_in_force {
  latent_chain& chain_;
  token_frame frame_;
  bool at_base_ = false;

public:
  token_in_force(latent_chain& c, void* token) noexcept
      : chain_(c)
      , frame_{token} {
    if (token == nullptr) return;
    at_base_ = chain_.enter_base(token);
    if (!at_base_) chain_.enter(frame_);
  }
  token_in_force(token_in_force const&) = delete;
  ~token_in_force() {
    if (at_base_)
      chain_.leave_base();
    else if (frame_.token != nullptr)
      chain_.leave();
  }
};

/// A cheap clock in ticks, for durations only, and the number of ticks in a microsecond.
[[nodiscard]] RUBATO_API std::int64_t tick_count() noexcept;
[[nodiscard]] RUBATO_API std::int64_t ticks_per_us() noexcept;

} // namespace detail

inline bool context::migrated() const noexcept { return (reinterpret_cast<std::uintptr_t>(this) & 1U) != 0; }
inline unsigned context::index() const noexcept {
  return detail::thread_context::of(const_cast<context&>(*this))
      .index; // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

} // namespace rubato
