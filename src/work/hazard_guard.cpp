#include "work/hazard_guard.hpp"

#include "os/die.hpp"
#include "os/membarrier.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <algorithm>

namespace rubato::detail {

namespace {

constinit mutex list_mutex;
constinit intrusive_list<hazard_record> records RUBATO_GUARDED_BY(list_mutex);

struct at_end_of_thread {
  at_end_of_thread() noexcept = default;
  at_end_of_thread(at_end_of_thread const&) = delete;
  at_end_of_thread& operator=(at_end_of_thread const&) = delete;
  ~at_end_of_thread() {
    own_hazards.ending = true;
    if (own_hazards.listed) own_hazards.unlist();
  }
  void arm() const noexcept {} ///< the first use registers the destructor
};
thread_local at_end_of_thread const here;

/// Does it hold for the record of any thread?
template<class Predicate>
bool any_record(Predicate holds) noexcept {
  lock_guard const guard(list_mutex);
  hazard_record* record = records.front();
  while (record != nullptr && !holds(*record)) record = records.after(*record);
  return record != nullptr;
}

} // namespace

constinit thread_local hazard_record own_hazards;

void hazard_record::list() noexcept {
  if (!ending) here.arm();
  asymmetric = os::membarrier_available();
  lock_guard const guard(list_mutex);
  records.push_front(*this);
  listed = true;
}

void hazard_record::unlist() noexcept {
  lock_guard const guard(list_mutex);
  records.erase(*this);
  listed = false;
}

void hazard_record::die_of_depth() noexcept {
  os::die("too many pools end, or too many copies of callables queue others, within each other");
}

void await_hazards(pool_core const& core) noexcept {
  auto const guards = [&core](hazard_record const& r) {
    return std::any_of(r.guarded.begin(), r.guarded.end(), [&](auto const& g) { return g.get() == &core; });
  };
  wait_briefly<std_policy>([&] { return !any_record(guards); }); // nothing under a guard waits
}

bool any_arrival(pool_core const& core) noexcept {
  return any_record([&core](hazard_record const& r) { return r.arrivals.is_at(&core); });
}

void lock_hazards() noexcept RUBATO_NOT_ANALYSED { list_mutex.lock(); }
void unlock_hazards() noexcept RUBATO_NOT_ANALYSED { list_mutex.unlock(); }
void forget_other_hazards() noexcept RUBATO_NOT_ANALYSED {
  records.clear();
  if (own_hazards.listed) records.push_front(own_hazards);
}

} // namespace rubato::detail
