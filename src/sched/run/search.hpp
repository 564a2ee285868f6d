// How a thread without work finds some: queues first, then children of scopes, then latent jobs of busy
// threads. docs/design/take.md
#pragma once

#include "base/function_ref.hpp"
#include "rubato/detail/work/thread_context.hpp"

namespace rubato::detail {

class pool_core;
struct pool_thread;
struct scope_child;
struct seat;
struct task;

/// Something to run: one of the three.
struct found_work {
  task* queued = nullptr;
  scope_child* child = nullptr;
  steal_result latent{};
  explicit operator bool() const noexcept {
    return queued != nullptr || child != nullptr || static_cast<bool>(latent);
  }
};

/// Looks for work for about the time of a wake and runs what it finds. `searching`: the thread counts as a
/// searcher; reset when it no longer does. False: there was none.
[[nodiscard]] bool search_for_work(pool_core& core, pool_thread& t, bool& searching) noexcept;
/// False: enough threads search.
[[nodiscard]] bool begin_search(pool_core& core) noexcept;
/// Runs one task, child or latent job, for a thread that drives the pool. False: there is none.
bool run_one(pool_core& core, pool_thread& t) noexcept;
void run_found(pool_core& core, pool_thread& t, found_work const& f) noexcept;
void run_latent(pool_thread& t, steal_result const& l) noexcept;

/// Steals a job that fits the filter from the victim's chain: asks, waits 2 us, takes.
/// Empty: the chain seemed empty, the owner had nothing that fits, or another thief was first.
[[nodiscard]] steal_result obtain(pool_core& core, pool_thread& t, pool_thread& victim,
                                  steal_filter const& w) noexcept;
/// Runs what `steal` gets, until `done`. When it has got nothing for the time of a search: calls `sleep`.
void steal_until(pool_thread& t, function_ref<bool()> done, function_ref<steal_result()> steal,
                 function_ref<void()> sleep) noexcept;
/// A child of any scope; null: there is none.
[[nodiscard]] scope_child* take_child(pool_core& core, pool_thread& t) noexcept;

/// A latent job that fits the filter, of any thread but `t`. Empty: there is none. Also for the owner of a
/// loop that waits, and for relief.
[[nodiscard]] steal_result find_latent(pool_core& core, pool_thread& t, steal_filter const& w = {}) noexcept;

} // namespace rubato::detail
