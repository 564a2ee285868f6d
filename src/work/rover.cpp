#include "work/rover.hpp"

#include "rubato/detail/mutex.hpp"
#include "work/follow.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace rubato::detail {

/// All that are on call.
class call_list {
  mutex guard_;
  on_call* first_ = nullptr; // guarded by guard_
  std::atomic<unsigned> roaming_{0};

public:
  void add(on_call& w) noexcept {
    if (w.roams_) roaming_.fetch_add(1, std::memory_order_seq_cst); // pairs with call_roaming()
    std::lock_guard const guard(guard_);
    w.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &w;
    first_ = &w;
  }
  void remove(on_call& w) noexcept {
    std::lock_guard const guard(guard_);
    (w.previous_ != nullptr ? w.previous_->next_ : first_) = w.next_;
    if (w.next_ != nullptr) w.next_->previous_ = w.previous_;
    // relaxed: whoever still sees it takes the lock in vain.
    if (w.roams_) roaming_.fetch_sub(1, std::memory_order_relaxed);
  }
  void call_owned_by(pool_core const& owner) noexcept {
    call([&](on_call const& w) { return w.owner_ == &owner; });
  }
  void call_roaming() noexcept {
    // seq_cst: the push came before; who roams says so before it looks at the queues.
    if (roaming_.load(std::memory_order_seq_cst) == 0) return;
    call([](on_call const& w) { return w.roams_; });
  }
  void call_all() noexcept {
    call([](on_call const&) { return true; });
  }

  // Around fork(): the others' threads are not in the child.
  void lock() noexcept { guard_.lock(); }
  void unlock() noexcept { guard_.unlock(); }
  void forget_all() noexcept {
    first_ = nullptr;
    roaming_.store(0, std::memory_order_relaxed);
  }

private:
  template<class Wanted>
  void call(Wanted wanted) noexcept {
    std::lock_guard const guard(guard_);
    for (on_call* w = first_; w != nullptr; w = w->next_)
      if (wanted(*w)) w->bell_.unpark();
  }
};

namespace {

constinit call_list all_on_call;

} // namespace

on_call::on_call(pool_core const* owner, parker& bell, bool roams) noexcept
    : owner_(owner)
    , bell_(bell)
    , roams_(roams) {
  all_on_call.add(*this);
}

on_call::~on_call() { all_on_call.remove(*this); }

bool is_driven_by_waiters(pool_core const* core) noexcept {
  std::optional<visit> here;
  return core != nullptr && visit_if_there(core, here) && core->size() == 0;
}

bool wants_driver(pool_core* core) noexcept {
  std::optional<visit> here;
  return core != nullptr && visit_if_there(core, here) && core->wants_driver();
}

namespace {

/// So often something began to depend on a pool without workers.
constinit std::atomic<std::uint64_t> links_to_driven{0};

} // namespace

void driven_pools_behind(future_state& result, pool_core const* own, std::vector<pool_core*>& all) noexcept {
  pool_core const* last = own;
  auto const add = [&](pool_core* home) {
    if (home != own && home != last && std::find(all.begin(), all.end(), home) == all.end() &&
        is_driven_by_waiters(home))
      all.push_back(home);
    last = home;
    return true;
  };
  try {
    if (result.is_work()) add(result.home());
    static_cast<void>(follow(result, ~std::size_t{0}, [&](future_state const& s) { return add(s.home()); }));
  } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): those that were found will do
  }
}

bool rover::is_wanted(std::uint64_t ran) noexcept {
  bool const was_idle = ran == std::exchange(ran_, ran);
  // relaxed: a pool that loses its workers calls all who wait.
  if (workerless_pools.load(std::memory_order_relaxed) == (here_ != nullptr && here_->size() == 0 ? 1U : 0U))
    return false;
  if (!was_idle && ++put_off_ % patience != 0) return false;
  // Pairs with depends_on(): it waits before it looks what the result depends on.
  std_policy::fence();
  std::vector<pool_core*> others;
  driven_pools_behind(result_, here_, others);
  if (others.empty()) return false;
  if (!listed_) listed_.emplace(nullptr, bell_, true);
  return std::any_of(others.begin(), others.end(), &wants_driver);
}

void depends_on(future_state& input) noexcept {
  // relaxed: a pool that loses its workers calls all who wait.
  if (workerless_pools.load(std::memory_order_relaxed) == 0) return;
  std_policy::fence(); // pairs with rover::is_wanted(): the caller has said what it waits for before this
  bool found = false;
  // A long chain must not be walked for each link that it gets: rather somebody looks in vain.
  constexpr std::size_t most = 32;
  auto const is_elsewhere = [](pool_core const* home) {
    return home != current->core && is_driven_by_waiters(home);
  };
  try {
    found = is_elsewhere(input.home());
    auto const look = [&](future_state const& s) { return !(found = is_elsewhere(s.home())); };
    if (!found && !follow(input, most, look)) found = links_to_driven.load(std::memory_order_relaxed) != 0;
  } catch (std::bad_alloc const&) {
    found = true;
  }
  if (found) work_is_elsewhere();
}

void work_is_elsewhere() noexcept {
  // Whoever waits says so, and then looks where its result is made; who calls has just changed that. Each is
  // seen by the other.
  std_policy::fence();
  links_to_driven.fetch_add(1, std::memory_order_relaxed); // relaxed: only whether there was any
  call_all_who_wait_in_pools();
  all_on_call.call_all();
}

void call_rovers() noexcept { all_on_call.call_roaming(); }

void call_outside_waiters(pool_core const& c) noexcept { all_on_call.call_owned_by(c); }
void lock_outside_waiters() noexcept { all_on_call.lock(); }
void unlock_outside_waiters() noexcept { all_on_call.unlock(); }
void forget_outside_waiters() noexcept { all_on_call.forget_all(); }

} // namespace rubato::detail
