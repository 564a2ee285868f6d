#include "sched/process/hazard_guard.hpp"

#include "os/die.hpp"
#include "os/membarrier.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "sync/arrivals.hpp"

#include <algorithm>
#include <array>
#include <thread>

namespace rubato::detail {

namespace {

struct hazard_record : list_node<hazard_record> {
  static constexpr unsigned deepest = 6;
  std::array<published<pool_core const*>, deepest> guarded{};
  unsigned depth = 0;
  basic_arrivals<std_policy> arrivals;
  bool listed = false;
  bool ending =
      false; ///< past the end of its thread's thread-local objects: it is listed for each guard alone
};

constinit mutex list_mutex;
constinit intrusive_list<hazard_record> records RUBATO_GUARDED_BY(list_mutex);

// Part of its thread, without a destructor: it can be used until the very end.
[[gnu::tls_model("initial-exec")]] thread_local constinit hazard_record mine;

void unlist(hazard_record& record) noexcept {
  lock_guard const guard(list_mutex);
  records.erase(record);
  record.listed = false;
}

struct at_end_of_thread {
  at_end_of_thread() noexcept = default;
  at_end_of_thread(at_end_of_thread const&) = delete;
  at_end_of_thread& operator=(at_end_of_thread const&) = delete;
  ~at_end_of_thread() {
    mine.ending = true;
    if (mine.listed) unlist(mine);
  }
  void arm() const noexcept {} ///< the first use registers the destructor
};
thread_local at_end_of_thread const here;

void list_mine() noexcept {
  if (mine.listed) return;
  if (!mine.ending) here.arm();
  lock_guard const guard(list_mutex);
  records.push_front(mine);
  mine.listed = true;
}

void unlist_mine_at_end() noexcept {
  if (mine.ending && mine.depth == 0 && mine.arrivals.is_empty()) unlist(mine);
}

/// Does it hold for the record of any thread?
template<class Predicate>
bool any_record(Predicate holds) noexcept {
  lock_guard const guard(list_mutex);
  hazard_record* record = records.front();
  while (record != nullptr && !holds(*record)) record = records.after(*record);
  return record != nullptr;
}

} // namespace

hazard_guard::hazard_guard(pool_core const& core) noexcept {
  list_mine();
  if (mine.depth == hazard_record::deepest) os::die("too many pools end within each other");
  // A thread that waits for this guard has seen something that this thread does under it, and so sees this.
  mine.guarded[mine.depth++].publish(&core);
}

hazard_guard::~hazard_guard() {
  mine.guarded[--mine.depth].publish(nullptr); // after the last touch of the pool, which may be freed now
  unlist_mine_at_end();
}

void await_hazards(pool_core const& core) noexcept {
  auto const guards = [&core](hazard_record const& r) {
    return std::any_of(r.guarded.begin(), r.guarded.end(), [&](auto const& g) { return g.get() == &core; });
  };
  while (any_record(guards)) std::this_thread::yield(); // for an instant: nothing under a guard waits
}

void begin_arrival(pool_core const& core) noexcept {
  list_mine();
  if (mine.arrivals.is_full()) os::die("copies of callables queue too many others within each other");
  mine.arrivals.begin(&core, os::membarrier_available());
}
void end_arrival() noexcept {
  mine.arrivals.end(os::membarrier_available());
  unlist_mine_at_end();
}
bool any_arrival(pool_core const& core) noexcept {
  return any_record([&core](hazard_record const& r) { return r.arrivals.is_at(&core); });
}

void lock_hazards() noexcept RUBATO_NOT_ANALYSED { list_mutex.lock(); }
void unlock_hazards() noexcept RUBATO_NOT_ANALYSED { list_mutex.unlock(); }
void forget_other_hazards() noexcept RUBATO_NOT_ANALYSED {
  records.clear();
  if (mine.listed) records.push_front(mine);
}

} // namespace rubato::detail
