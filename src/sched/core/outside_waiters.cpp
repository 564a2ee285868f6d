#include "sched/core/outside_waiters.hpp"

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "sched/core/pool_registry.hpp"

namespace rubato::detail {

class outside_list {
  mutex guard_;
  intrusive_list<listed_outside> waiting_ RUBATO_GUARDED_BY(guard_);
  announced<unsigned> drivers_;

public:
  void add(listed_outside& w) noexcept {
    // Pairs with unpark_drivers(): the waiter counts itself before it looks whether something is ready.
    if (w.driven_ != nullptr) drivers_.add(1);
    lock_guard const guard(guard_);
    waiting_.push_front(w);
  }
  void remove(listed_outside& w) noexcept {
    lock_guard const guard(guard_);
    waiting_.erase(w);
    if (w.driven_ != nullptr) drivers_.subtract(1);
  }
  void unpark_drivers(pool_core const& driven) noexcept {
    // Pairs with add(): the push comes before this.
    if (drivers_.get() != 0) call([&](listed_outside const& w) { return w.driven_ == &driven; });
  }
  void call_all() noexcept {
    call([](listed_outside const&) { return true; });
  }

  [[nodiscard]] std::size_t size() noexcept {
    std::size_t n = 0;
    call([&n](listed_outside const&) { return ++n, false; });
    return n;
  }

  void lock() noexcept RUBATO_ACQUIRE(guard_) { guard_.lock(); }
  void unlock() noexcept RUBATO_RELEASE(guard_) { guard_.unlock(); }
  void forget_all() noexcept RUBATO_REQUIRES(guard_) {
    waiting_.clear();
    drivers_.set(0);
  }

private:
  template<class Wanted>
  void call(Wanted wanted) noexcept {
    lock_guard const guard(guard_);
    waiting_.for_each([&](listed_outside& w) {
      if (wanted(w)) w.bell_.unpark();
    });
  }
};

namespace {

constinit outside_list waiters;
constinit announced<std::uint64_t> lost;

} // namespace

std::uint64_t workers_lost() noexcept { return lost.get(); }

void unpark_all_drivers() noexcept {
  // Pairs with workers_lost(): a waiter is in a list before it reads the count, so it is woken or sees the
  // new count.
  lost.add(1);
  unpark_all_waiters();
  waiters.call_all();
}

std::size_t waiting_outside() noexcept { return waiters.size(); }

listed_outside::listed_outside(pool_core const* driven, parker& bell) noexcept
    : driven_(driven)
    , bell_(bell) {
  waiters.add(*this);
}

listed_outside::~listed_outside() { waiters.remove(*this); }

void unpark_outside_drivers(pool_core const& c) noexcept { waiters.unpark_drivers(c); }

void lock_outside_waiters() noexcept RUBATO_NOT_ANALYSED { waiters.lock(); }
void unlock_outside_waiters() noexcept RUBATO_NOT_ANALYSED { waiters.unlock(); }
void forget_outside_waiters() noexcept RUBATO_NOT_ANALYSED { waiters.forget_all(); }

} // namespace rubato::detail
