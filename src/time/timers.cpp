#include "work/timers.hpp"

#include "rubato/detail/mutex.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

using time_point = std::chrono::steady_clock::time_point;

/// A binary heap; every timer knows its place, so that it can be taken out.
class heap {
  std::vector<timer*> timers_;

  void put(std::size_t i, timer* t) noexcept {
    timers_[i] = t;
    t->position = i;
  }
  void rise(std::size_t i, timer* t) noexcept {
    for (; i != 0 && t->due < timers_[(i - 1) / 2]->due; i = (i - 1) / 2) put(i, timers_[(i - 1) / 2]);
    put(i, t);
  }
  void sink(std::size_t i, timer* t) noexcept {
    for (std::size_t child = 0; (child = 2 * i + 1) < timers_.size(); i = child) {
      if (child + 1 < timers_.size() && timers_[child + 1]->due < timers_[child]->due) ++child;
      if (t->due <= timers_[child]->due) break;
      put(i, timers_[child]);
    }
    put(i, t);
  }

public:
  [[nodiscard]] timer* first() const noexcept { return timers_.empty() ? nullptr : timers_.front(); }
  void insert(timer& t) {
    timers_.push_back(&t);
    rise(timers_.size() - 1, &t);
  }
  void erase(timer& t) noexcept {
    std::size_t const i = std::exchange(t.position, timer::idle);
    timer* const last = timers_.back();
    timers_.pop_back();
    if (last == &t) return;
    if (i != 0 && last->due < timers_[(i - 1) / 2]->due)
      rise(i, last);
    else
      sink(i, last);
  }
  void clear() noexcept {
    for (timer* t : timers_) t->position = timer::idle;
    timers_.clear();
  }
};

struct all_timers {
  mutex guard;
  heap timers;                            // guarded, as is the next
  time_point planned = time_point::max(); ///< when the watch comes back by itself
};

union undying {
  all_timers timers;
  constexpr undying() noexcept
      : timers() {}
  ~undying() {} // NOLINT(modernize-use-equals-default): the watch may outlive static objects
};
constinit undying storage;

all_timers& all() noexcept { return storage.timers; }

} // namespace

void arm(timer& t) {
  all_timers& a = all();
  bool earlier = false;
  {
    std::lock_guard const guard(a.guard);
    a.timers.insert(t);
    earlier = t.due < a.planned;
    if (earlier) a.planned = t.due; // only one of several calls
  }
  if (earlier) wake_for_timer();
}

bool disarm(timer& t) noexcept {
  all_timers& a = all();
  std::lock_guard const guard(a.guard);
  if (t.position == timer::idle) return false;
  a.timers.erase(t);
  return true;
}

time_point fire_timers(time_point latest) noexcept {
  all_timers& a = all();
  time_point const now = std::chrono::steady_clock::now();
  for (;;) {
    timer* t = nullptr;
    {
      std::lock_guard const guard(a.guard);
      t = a.timers.first();
      if (t == nullptr || t->due > now) {
        a.planned = t != nullptr ? std::min(t->due, latest) : latest;
        return a.planned;
      }
      a.timers.erase(*t);
    }
    t->fire(*t);
  }
}

void lock_timers() noexcept { all().guard.lock(); }
void unlock_timers() noexcept { all().guard.unlock(); }
void forget_timers() noexcept {
  all().timers.clear();
  all().planned = time_point::max();
}

} // namespace rubato::detail
