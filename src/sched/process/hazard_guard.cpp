#include "sched/process/hazard_guard.hpp"

#include "os/die.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <array>
#include <thread>

namespace rubato::detail {

namespace {

struct hazard_record : list_node<hazard_record> {
  static constexpr unsigned deepest = 6;
  std::array<published<pool_core const*>, deepest> guarded{};
  unsigned depth = 0;
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

void list(hazard_record& record) noexcept {
  if (!record.ending) here.arm();
  lock_guard const guard(list_mutex);
  records.push_front(record);
  record.listed = true;
}

} // namespace

hazard_guard::hazard_guard(pool_core const& core) noexcept {
  if (!mine.listed) list(mine);
  if (mine.depth == hazard_record::deepest) os::die("too many pools end within each other");
  // A thread that waits for this guard has seen something that this thread does under it, and so sees this.
  mine.guarded[mine.depth++].publish(&core);
}

hazard_guard::~hazard_guard() {
  mine.guarded[--mine.depth].publish(nullptr); // after the last touch of the pool, which may be freed now
  if (mine.ending && mine.depth == 0) unlist(mine);
}

void await_hazards(pool_core const& core) noexcept {
  auto const is_guarded = [&core] {
    lock_guard const guard(list_mutex);
    for (hazard_record* record = records.front(); record != nullptr; record = records.after(*record))
      for (auto const& where : record->guarded)
        if (where.get() == &core) return true;
    return false;
  };
  while (is_guarded()) std::this_thread::yield(); // for an instant: nothing under a guard waits
}

void lock_hazards() noexcept RUBATO_NOT_ANALYSED { list_mutex.lock(); }
void unlock_hazards() noexcept RUBATO_NOT_ANALYSED { list_mutex.unlock(); }
void forget_other_hazards() noexcept RUBATO_NOT_ANALYSED {
  records.clear();
  if (mine.listed) records.push_front(mine);
}

} // namespace rubato::detail
