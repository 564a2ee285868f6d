#include "sched/core/capacity.hpp"

#include "sched/core/life_state.hpp"
#include "work/pool_thread.hpp"

namespace rubato::detail {

namespace {

/// How many tasks outside threads may still queue while the pool ends: a drain must come to its end.
constexpr int most_late = 1024;

} // namespace

capacity::capacity(pool_core const& core, life_state& life, std::optional<std::size_t> most) noexcept
    : core_(core)
    , life_(life)
    , limit_(most, most_late) {}

/// Does the pool end, and is the caller outside?
bool capacity::is_late() const noexcept { return life_.seems_to_end() && !is_member(core_); }

admission capacity::try_acquire() noexcept {
  return life_.refuses_work() ? admission::refused : limit_.try_acquire(is_late());
}

bool capacity::admit() noexcept { return !is_late() || limit_.admit_late(); }

} // namespace rubato::detail
