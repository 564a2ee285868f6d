#include "sched/core/pool_registry.hpp"

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "work/record_table.hpp"

namespace rubato::detail {

namespace {

constinit relaxed<std::uint64_t> last_serial;

} // namespace

registered_pool::registered_pool(pool_core& core) noexcept
    : core_(core)
    , serial(last_serial.add(1) + 1) {}

void pool_registry::add(registered_pool& p, function_ref<void()> prepare) {
  lock_guard const guard(guard_);
  prepare();
  pools_.push_front(p);
  p.listed_ = true;
}

void pool_registry::remove(registered_pool& p) noexcept {
  lock_guard const guard(guard_);
  if (p.listed_) pools_.erase(p);
  p.listed_ = false;
}

/// Under the lock. The pool may be gone. Null: it is not there.
registered_pool* pool_registry::find_in(intrusive_list<registered_pool> const& pools,
                                        pool_core const* core) noexcept {
  registered_pool* p = pools.front();
  while (p != nullptr && &p->core_ != core) p = intrusive_list<registered_pool>::after(*p);
  return p;
}

bool pool_registry::guard_if_there(pool_core const* core, std::optional<hazard_guard>& here,
                                   std::uint64_t const* serial) noexcept {
  if (core == nullptr) return false;
  lock_guard const guard(guard_);
  registered_pool const* const p = find_in(pools_, core);
  if (p == nullptr || (serial != nullptr && p->serial != *serial)) return false;
  here.emplace(*core); // before it can leave the registry: its destructor waits for this guard
  return true;
}

bool pool_registry::was_left_behind(pool_core const* core) noexcept {
  lock_guard const guard(guard_);
  return find_in(behind_, core) != nullptr;
}

bool pool_registry::find(function_ref<bool(pool_core&)> f) noexcept {
  lock_guard const guard(guard_);
  for (registered_pool* p = pools_.front(); p != nullptr; p = intrusive_list<registered_pool>::after(*p))
    if (f(p->core_)) return true;
  return false;
}

void pool_registry::leave_all_behind(function_ref<void(pool_core&)> abandon) noexcept {
  while (registered_pool* const p = pools_.pop_front()) {
    abandon(p->core_);
    behind_.push_front(*p);
  }
}

bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here) noexcept {
  return pools_of_process.guard_if_there(core, here, nullptr);
}

bool guard_if_there(pool_core const* core, std::uint64_t serial, std::optional<hazard_guard>& here) noexcept {
  return pools_of_process.guard_if_there(core, here, &serial);
}

bool was_left_behind(pool_core const* core) noexcept { return pools_of_process.was_left_behind(core); }

void unpark_all_waiters() noexcept {
  static_cast<void>(find_pool([](pool_core& p) {
    records_of(p).for_each([](pool_thread& t) { t.parker.unpark(); });
    return false;
  }));
}

bool find_pool(function_ref<bool(pool_core&)> f) noexcept { return pools_of_process.find(f); }

} // namespace rubato::detail
