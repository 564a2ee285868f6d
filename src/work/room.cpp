// Room in a pool with max_queued: who queues more than that waits.
#include "rubato/cancelled.hpp"
#include "work/park.hpp"
#include "work/pool_core.hpp"

namespace rubato::detail {

namespace {

/// A flood from outside must not keep a drain from ending.
constexpr unsigned most_late = 1024;

} // namespace

bool pool_core::is_late() const noexcept {
  // relaxed: a caller that comes at the same time as the request counts as one that came before.
  return ending_.load(std::memory_order_relaxed) != ending::none && !is_member(*this);
}

bool pool_core::admit_late() noexcept {
  if (late_.fetch_add(1, std::memory_order_relaxed) < most_late) return true;
  take_back_late();
  return false;
}

pool_core::admission pool_core::try_acquire_room() noexcept {
  bool const late = is_late();
  if (late && !admit_late()) return admission::refused;
  if (!limited_) return admission::granted;
  std::size_t n = room_used_.load(std::memory_order_seq_cst);
  do
    if (n >= *options_.max_queued_) {
      if (late) take_back_late();
      return admission::full;
    }
  while (!room_used_.compare_exchange_weak(n, n + 1, std::memory_order_seq_cst, std::memory_order_seq_cst));
  return admission::granted;
}

namespace {

/// False: there is no room. Throws cancelled if the pool refuses the task.
bool admitted(pool_core::admission a) {
  if (a == pool_core::admission::refused) throw cancelled();
  return a == pool_core::admission::granted;
}

} // namespace

void admit(pool_core& c) {
  if (c.is_late() && !c.admit_late()) throw cancelled();
}

void pool_core::acquire_room() {
  while (!admitted(try_acquire_room())) {
    if (current->core == this) {
      wait_for_room(thread_of(*current));
      return;
    }
    if (size() == 0) { // nobody else would make room
      run_as_member(
          handle_,
          [](void* core, member& me) { static_cast<pool_core*>(core)->wait_for_room(thread_of(me)); }, this);
      return;
    }
    seats_left const left; // of other pools
    std::unique_lock lock(waiters_);
    // seq_cst: announced first, then looked again; pairs with release_room().
    room_waiting_.fetch_add(1, std::memory_order_seq_cst);
    admission a = admission::full;
    while ((a = try_acquire_room()) == admission::full && size() != 0) room_.wait(lock);
    room_waiting_.fetch_sub(1, std::memory_order_seq_cst);
    if (admitted(a)) return;
  }
}

/// A task that queues more in its own pool leaves its seat meanwhile. If no thread can be had to sit there
/// and all others wait too, nobody would ever make room: then the limit gives way.
void pool_core::wait_for_room(pool_thread& t) noexcept {
  room_waiter self{&t, nullptr};
  {
    std::lock_guard const guard(waiters_);
    (last_for_room_ != nullptr ? last_for_room_->next : first_for_room_) = &self;
    last_for_room_ = &self;
    room_waiting_.fetch_add(1, std::memory_order_seq_cst); // as in acquire_room()
  }
  bool got = false;
  park_until(t, "enqueue", nullptr, [&] { return got || (got = room_or_nobody()); });
  std::lock_guard const guard(waiters_);
  room_waiting_.fetch_sub(1, std::memory_order_seq_cst);
  room_waiter* before = nullptr;
  for (room_waiter* w = first_for_room_; w != &self; w = w->next) before = w;
  (before != nullptr ? before->next : first_for_room_) = self.next;
  if (last_for_room_ == &self) last_for_room_ = before;
  // It may have been told twice and the next one not at all.
  if (first_for_room_ != nullptr) first_for_room_->thread->parker.unpark();
}

bool pool_core::room_or_nobody() noexcept {
  if (try_acquire_room() == admission::granted) return true; // a task of the pool is not refused
  if (!all_wait() || size() == 0 || !people.has_vacant() || !nobody_to_call()) return false;
  room_used_.fetch_add(1, std::memory_order_seq_cst);
  return true;
}

void pool_core::release_room() noexcept {
  if (!limited_) return;
  // seq_cst: pairs with room_waiting_, as in Dekker's algorithm: either the waiter sees the room or we see
  // it.
  room_used_.fetch_sub(1, std::memory_order_seq_cst);
  if (room_waiting_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard const guard(waiters_);
  if (first_for_room_ != nullptr) first_for_room_->thread->parker.unpark();
  // A caller that is refused, because the pool ends, passes the room on to none.
  if (ending_.load(std::memory_order_relaxed) != ending::none)
    room_.notify_all();
  else
    room_.notify_one();
}

void acquire_room(pool_core& c) { c.acquire_room(); }
bool try_acquire_room(pool_core& c) noexcept { return c.try_acquire_room() == pool_core::admission::granted; }
void release_room(pool_core& c) noexcept { c.release_room(); }

} // namespace rubato::detail
