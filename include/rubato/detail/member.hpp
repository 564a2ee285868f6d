// The record of a thread that belongs to a pool, as far as templates need it.
#pragma once

#include "rubato/detail/latent_chain.hpp"

#include <cstdint>
#include <stop_token>
#include <type_traits>

namespace rubato {

class pool;

/// Passed down a recursion instead of being looked up at every fork; see join(context&, f, g). It names the
/// thread that runs the code, so a context must not be kept, passed to another thread or used after the
/// callable that got it has returned.
class context {
  friend class detail::member;
  friend struct detail_access;
  [[maybe_unused]] char unit_ = 0;
  constexpr context() noexcept = default;

public:
  context(context const&) = delete;
  context& operator=(context const&) = delete;

  /// Does this callable run on another thread than the one that forked it?
  [[nodiscard]] bool migrated() const noexcept;
  /// The number of the thread that runs this callable: what current_worker() says, below pool::slots().
  [[nodiscard]] unsigned index() const noexcept;
};

namespace detail {

class pool_core;

/// A thread's latent jobs, its number and its pool. Outlives every use by other threads: freed with the pool.
class alignas(128) member {
  // A context is one of these two bytes: its address says whose it is, and, in the lowest bit, whether the
  // callable that gets it has migrated.
  context contexts_[2];

public:
  latent_chain chain;
  unsigned index = 0;        ///< unique in the pool, below slots()
  pool_core* core = nullptr; ///< null: no member of any pool

  constexpr member() noexcept
      : contexts_{context(), context()} {}
  member(member const&) = delete;
  member& operator=(member const&) = delete;

  [[gnu::always_inline]] context& stayed() noexcept { return contexts_[0]; }
  context& moved() noexcept { return contexts_[1]; }
  [[gnu::always_inline]] static member& of(context& c) noexcept {
    return *reinterpret_cast<member*>(reinterpret_cast<std::uintptr_t>(&c) & ~std::uintptr_t{1});
  }
};

static_assert(sizeof(context) == 1,
              "the two contexts of a member are told apart by their lowest address bit");

/// Stands for every thread that belongs to no pool. Its chain is full, so that a fork takes the cold path.
/// Visible, as is `current`: a program that hides its symbols shares them with a shared library of ours.
[[gnu::visibility("default")]] inline constinit member outside;

/// The calling thread's record in the pool whose code it runs.
#if defined(__clang__)
// Defined here, a program reaches it by one instruction instead of two.
[[gnu::tls_model("initial-exec"), gnu::visibility("default")]] inline thread_local constinit member* current =
    &outside;
#else
// g++ makes an inline variable unique in the process, so that a thread of the pools of one plug-in would pass
// for one of another plug-in's, which has a Rubato of its own.
[[gnu::tls_model("initial-exec"), gnu::visibility("default")]] extern constinit thread_local member* current;
#endif

// What the templates ask of the library; all of it cold.

/// The stop token in force on this thread: its scope's, else its pool's.
[[nodiscard]] std::stop_token current_token(member& me) noexcept;
/// Answers a request for work after a push.
void answer(member& me) noexcept;
/// Waits until the job has been run by whoever has it, helping with what descends from it.
void wait_for(member& me, departure& d) noexcept;
/// Tells the owner of a departed job that it is done. Afterwards its frame may be gone.
void announce(departure& d) noexcept;
/// Runs `body(arg, member)` on the calling thread as a member of the pool (null: of the global one).
void run_as_member(pool* p, void (*body)(void*, member&), void* arg);
/// A cheap clock in ticks, for durations only, and how many ticks a microsecond has.
[[nodiscard]] std::int64_t tick_count() noexcept;
[[nodiscard]] std::int64_t ticks_per_us() noexcept;

} // namespace detail

inline bool context::migrated() const noexcept { return (reinterpret_cast<std::uintptr_t>(this) & 1U) != 0; }
inline unsigned context::index() const noexcept {
  return detail::member::of(const_cast<context&>(*this))
      .index; // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

} // namespace rubato
