// What may lie in a latent chain: forked jobs, batched jobs, loops; and what a thief that gets one has then.
// docs/design/take.md
//
// States of a job: latent, in its owner's chain; then either popped by its owner, or moved out by the owner,
// for a thief that has asked, or by a thief. A job that was moved out is running, awaited or finished: see
// basic_stolen_job, or in the case of a batched job the thief's alone. A loop stays latent while parts of it
// are split off. Of batched jobs that lie one after another, half leave at once.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class thread_context;

/// Memory for a T whose construction would cost the fast path a useless store.
template<class T>
union uninitialized {
  T value;
  [[gnu::always_inline]] uninitialized() noexcept {} // NOLINT(modernize-use-equals-default): T is not built
  [[gnu::always_inline]] ~uninitialized() {}         // NOLINT(modernize-use-equals-default)
  uninitialized(uninitialized const&) = delete;
  uninitialized& operator=(uninitialized const&) = delete;
};

/// The state of a job that has left its chain. The thread that moves it out builds it, under the chain's
/// lock.
template<class Policy>
class basic_stolen_job {
  static constexpr std::uint32_t running = 0, awaited = 1, finished = 2;
  typename Policy::template atomic<std::uint32_t> state_{running};

public:
  thread_context* owner;  ///< the thread that forked the job and waits for it
  thread_context* runner; ///< the thief, which runs it
  std::size_t mark; ///< where the runner's chain ended when it began: jobs above it descend from this one
  void* token;      ///< the stop token that was in force at the fork

  basic_stolen_job(thread_context* o, thread_context* r, std::size_t m, void* t) noexcept
      : owner(o)
      , runner(r)
      , mark(m)
      , token(t) {}

  // acquire: pairs with finish(), because the owner reads the job's result next.
  [[nodiscard]] bool done() const noexcept { return state_.load(std::memory_order_acquire) == finished; }

  /// The owner is about to park. False: the job is done, and the runner will not wake the owner.
  [[nodiscard]] bool await() noexcept {
    std::uint32_t expected = running;
    // acquire on failure: pairs with finish(), because the result is read next. Success needs no order, but
    // g++ rejects a weaker one.
    if (state_.compare_exchange_strong(expected, awaited, std::memory_order_acquire,
                                       std::memory_order_acquire))
      return true;
    RUBATO_ASSERT_STEP(expected == awaited || expected == finished,
                       "a job is awaited that has not left its chain", expected);
    return expected == awaited;
  }

  /// The runner's last access: the owner may destroy the frame right afterwards. True: the owner is parked,
  /// and the runner must wake it through its thread context.
  [[nodiscard]] bool finish() noexcept {
    // release: pairs with done() and await(), because the runner wrote the result before. An exchange,
    // because the owner may call await() at any time.
    std::uint32_t const before = state_.exchange(finished, std::memory_order_release);
    RUBATO_ASSERT_STEP(before == running || before == awaited, "a stolen job was finished that does not run",
                       before);
    return before == awaited;
  }
};

/// A job. `Policy::plain` fields are written before the push.
template<class Policy>
struct basic_latent_job {
  using exec_type = void (*)(basic_latent_job&, thread_context& runner);
  typename Policy::template plain<exec_type> exec;

  [[gnu::always_inline]] explicit basic_latent_job(exec_type e) noexcept
      : exec(e) {}
};

/// A job in the frame of its owner, which waits for the end.
template<class Policy>
struct basic_forked_job : basic_latent_job<Policy> {
  uninitialized<basic_stolen_job<Policy>> stolen_job; ///< built when the job leaves the chain

  [[gnu::always_inline]] explicit basic_forked_job(typename basic_latent_job<Policy>::exec_type e) noexcept
      : basic_latent_job<Policy>(e) {}
};

/// A part of a loop, on its way to the thread that will run it. It allocates nothing.
struct loop_piece {
  void (*exec)(loop_piece const&, thread_context& runner) = nullptr;
  void* root = nullptr;
  void* cell = nullptr;  ///< for a reduction: the place for its result
  void* token = nullptr; ///< as in a stolen job
  std::uint64_t base = 0;
  std::uint32_t lo = 0, hi = 0;
};

/// A job of which no thread waits for the end, and which leaves the chain with others of its batch.
template<class Policy>
struct basic_batched_job : basic_latent_job<Policy> {
  typename Policy::template plain<void const*> batch; ///< jobs with another one do not leave with it
  basic_batched_job* newer; ///< once it has left: the next newer job that has left with it

  [[gnu::always_inline]] basic_batched_job(
      typename basic_latent_job<Policy>::exec_type e,
      void const* b) noexcept // NOLINT: `newer` is written before it is read
      : basic_latent_job<Policy>(e)
      , batch(b) {}
};

/// A running loop as the chain sees it: a job from which pieces can be split off any number of times.
template<class Policy>
struct basic_latent_loop : basic_latent_job<Policy> {
  using split_type = bool (*)(basic_latent_loop&, loop_piece& out) noexcept;
  split_type split; ///< false: every part has begun
  void* root;       ///< the whole loop, which a waiter's steal filter names

  basic_latent_loop(split_type s, void* r) noexcept
      : basic_latent_job<Policy>(nullptr)
      , split(s)
      , root(r) {}
};

/// The jobs that a thief accepts from a given chain: descendants of one job, pieces of one loop, jobs that a
/// function picks, or, with all null, any job.
template<class Policy>
struct basic_steal_filter {
  basic_stolen_job<Policy> const* descends_from = nullptr; ///< a job that the owner runs
  void* piece_of = nullptr;                                ///< a loop
  /// Called under the chain's lock with a job that is no loop, and `of`.
  bool (*picks)(basic_latent_job<Policy> const&, void const* of) noexcept = nullptr;
  void const* of = nullptr;
};

/// What the thief got: a job, the oldest job of a batch, a piece of a loop, or nothing.
template<class Policy>
struct basic_steal_result {
  basic_latent_job<Policy>* job = nullptr;
  std::uint32_t jobs = 0; ///< how many jobs, or pieces, it is
  loop_piece piece{};
  explicit operator bool() const noexcept { return job != nullptr || piece.exec != nullptr; }
};

// Every join has one in its frame.
static_assert(sizeof(basic_stolen_job<std_policy>) <= 2 * sizeof(std::uint32_t) + 4 * sizeof(void*));

using latent_job = basic_latent_job<std_policy>;
using forked_job = basic_forked_job<std_policy>;
using latent_loop = basic_latent_loop<std_policy>;
using batched_job = basic_batched_job<std_policy>;
using stolen_job = basic_stolen_job<std_policy>;
using steal_result = basic_steal_result<std_policy>;
using steal_filter = basic_steal_filter<std_policy>;

} // namespace rubato::detail
