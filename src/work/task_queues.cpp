#include "work/task_queues.hpp"

#include "base/thread_number.hpp"
#include "os/membarrier.hpp"

#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t aged_us = 100'000; // from then on a low task counts as normal
constexpr std::size_t cache_line = 64;    // of most processors; only a hint

} // namespace

task_queues::task_queues(unsigned most_seats)
    : backlog_(os::membarrier_available())
    , seats_(std::make_unique<published<seat*>[]>(most_seats)) {}

void task_queues::add_seat(int cpu) {
  unsigned const i = known_.own();
  auto made = std::make_unique<seat>();
  made->index = i;
  made->cpu = cpu;
  seat* const s = made.get();
  {
    lock_guard const guard(storage_mutex_);
    storage_.push_back(std::move(made));
  }
  seats_[i].publish(s);
  known_.publish(i + 1);
}

seat& task_queues::add_personal_seat() {
  auto made = std::make_unique<seat>();
  made->personal = true;
  lock_guard const guard(storage_mutex_);
  storage_.push_back(std::move(made));
  return *storage_.back();
}

void task_queues::count_pushed(std::uint64_t n) noexcept {
  pushed_[thread_number() % pushed_.size()].pushed.add(n);
}

void task_queues::push(task* t) noexcept {
  count_pushed(1);
  injector_.push(t);
}

void task_queues::push_from(seat& s, task* t) noexcept {
  s.injected.set(s.injected.get() + 1);
  injector_.push(t);
}

void task_queues::push(task* t, priority c, priority_lane l, os::ticks now) noexcept {
  if (c != priority::normal) {
    by_priority_.push(t, c, l);
    if (c == priority::low)
      low_ages_[static_cast<std::size_t>(l)].take_note(now, by_priority_.pushed(c, l),
                                                       aged_us * ticks_per_us());
  } else if (l == priority_lane::events) {
    events_pushed_.add(1);
    events_.push(t);
  } else {
    push(t);
  }
}

/// True: the oldest low task of the lane is aged. Takes a note first, because a push takes none if another
/// push took one shortly before.
bool task_queues::note_age(priority_lane l, os::ticks now) noexcept {
  ready_ages& ages = low_ages_[static_cast<std::size_t>(l)];
  os::ticks const age = aged_us * ticks_per_us();
  ages.take_note(now, by_priority_.pushed(priority::low, l), age);
  return by_priority_.popped(priority::low, l) < ages.older_than(age, now);
}

bool task_queues::any_aged(os::ticks now) noexcept {
  return any(priority::low) && (note_age(priority_lane::events, now) || note_age(priority_lane::tasks, now));
}

task* task_queues::pop_aged(os::ticks now) noexcept {
  if (!any(priority::low)) return nullptr;
  bool const events_first = by_priority_.popped(priority::low) % 2 == 0; // in turns
  for (bool const event : {events_first, !events_first}) {
    priority_lane const l = event ? priority_lane::events : priority_lane::tasks;
    if (!note_age(l, now)) continue;
    if (auto* const k = static_cast<task*>(by_priority_.pop(priority::low, l))) return k;
  }
  return nullptr;
}

template<class Next>
task_queues::batch task_queues::pop_batch_of(injector& from, relaxed<std::uint64_t>& popped, seat* s,
                                             std::size_t most, Next next) noexcept {
  lock_guard const guard(from);
  auto* const first = static_cast<task*>(next());
  if (first == nullptr) return {};
  std::size_t number = 1;
  // A batch, so that the lock is not taken for every task; other workers can steal from it.
  if (s != nullptr && !s->personal && s->queue.empty())
    number += s->queue.fill(
        [&next] {
          auto* const k = static_cast<task*>(next());
          // pop() has read the first line of the task. The rest comes while other tasks run.
          if (k != nullptr) __builtin_prefetch(reinterpret_cast<char const*>(k) + cache_line);
          return k;
        },
        most - 1);
  popped.set(popped.get() + number);
  if (number != 1) s->batch_end.set(s->queue.pushed());
  return {first, number != 1};
}

task_queues::batch task_queues::pop_batch(seat* s, std::size_t most) noexcept {
  if (injector_empty()) return {};
  return pop_batch_of(injector_, popped_, s, most, [this]() RUBATO_NOT_ANALYSED {
    if (!backlog_.empty()) {
      backlog_.revoke();
      if (queue_node* const n = backlog_.pop_locked()) return n;
    }
    return injector_.pop();
  });
}

task_queues::batch task_queues::pop_events(seat* s, std::size_t most) noexcept {
  if (events_.empty()) return {};
  return pop_batch_of(events_, events_popped_, s, most, [this] { return events_.pop(); });
}

bool task_queues::push_to_backlog(seat& s, task* t) noexcept {
  if (backlog_.empty()) return false;
  if (!injector_.empty() || !backlog_.push(t)) {
    lock_guard const guard(injector_);
    backlog_.take_back();
    if (backlog_.empty()) return false;
    backlog_.absorb(injector_);
    static_cast<void>(backlog_.push_locked(t));
  }
  s.injected.set(s.injected.get() + 1);
  return true;
}

task* task_queues::pop_own(seat& s) noexcept {
  queue_node* n = backlog_.pop();
  if (n == nullptr) {
    if (injector_empty()) return nullptr;
    lock_guard const guard(injector_);
    backlog_.take_back();
    if (backlog_.empty()) backlog_.absorb(injector_);
    n = backlog_.pop_locked();
    if (n == nullptr) return nullptr;
  }
  if (auto const* const next = reinterpret_cast<char const*>(backlog_.front())) {
    __builtin_prefetch(next); // comes while the first one runs
    __builtin_prefetch(next + cache_line);
  }
  s.taken.set(s.taken.get() + 1);
  return static_cast<task*>(n);
}

std::uint64_t task_queues::pushed() const noexcept {
  std::uint64_t n = events_pushed();
  for (auto const& s : pushed_) n += s.pushed.get();
  for (unsigned i = 0, k = seats(); i != k; ++i) n += seat_at(i).injected.get();
  return n;
}

std::uint64_t task_queues::popped() const noexcept {
  std::uint64_t n = popped_.get() + events_popped();
  for (unsigned i = 0, k = seats(); i != k; ++i) n += seat_at(i).taken.get();
  return n;
}

std::size_t task_queues::size_of_both() const noexcept {
  std::uint64_t const popped = this->popped(); // first: it never exceeds `pushed`
  std::uint64_t const pushed = this->pushed();
  return pushed > popped ? static_cast<std::size_t>(pushed - popped) : 0;
}

std::size_t task_queues::ready_events() const noexcept {
  std::uint64_t const popped = events_popped(), pushed = events_pushed(); // as above
  return (pushed > popped ? static_cast<std::size_t>(pushed - popped) : 0) +
         by_priority_.size(priority::high, priority_lane::events) +
         by_priority_.size(priority::low, priority_lane::events);
}

bool task_queues::any_shared() const noexcept {
  if (!injector_empty() || !events_.empty() || by_priority_.has_ready()) return true;
  for (unsigned i = 0, n = seats(); i != n; ++i)
    if (!seat_at(i).queue.empty()) return true;
  return false;
}

bool task_queues::any_queued() const noexcept {
  if (any_shared()) return true;
  for (unsigned i = 0, n = seats(); i != n; ++i)
    if (!seat_at(i).inbox.empty()) return true;
  return false;
}

std::size_t task_queues::size() const noexcept {
  std::size_t n = size_of_both() + by_priority_.size(priority::high) + by_priority_.size(priority::low);
  for (unsigned i = 0, k = seats(); i != k; ++i) n += seat_at(i).queue.size() + seat_at(i).inbox.size();
  return n;
}

task* task_queues::any_task() noexcept {
  if (task* k = pop(priority::high)) return k;
  if (task* k = any_normal()) return k;
  return pop(priority::low);
}

task* task_queues::any_normal() noexcept {
  bool const events_first = popped() % 2 == 0; // in turns
  if (task* k = events_first ? pop_event() : pop()) return k;
  if (task* k = events_first ? pop() : pop_event()) return k;
  for (unsigned i = 0, n = seats(); i != n; ++i)
    if (task* k = seat_at(i).queue.pop()) return k;
  for (unsigned i = 0, n = seats(); i != n; ++i)
    if (task* k = seat_at(i).lifo_slot.take()) return k;
  return nullptr;
}

task_queues::lifo_slot_seen task_queues::any_lifo_slot(unsigned from) const noexcept {
  for (unsigned i = 0, n = seats(); i != n; ++i)
    if (seat& s = seat_at((from + i) % n); !s.lifo_slot.is_empty_now()) // see pool_core::enqueue_next()
      return {&s, s.counts[counted::executed]};
  return {};
}

void task_queues::flush_lifo_slot(seat& s) noexcept {
  if (task* const k = s.lifo_slot.take())
    if (!s.queue.push(k)) push(k);
}

task_queues::batch task_queues::share_queue(seat& s) noexcept {
  task* const first = s.queue.pop();
  if (first == nullptr) return {};
  task* last = first;
  std::uint64_t number = 1;
  for (; task* const k = s.queue.pop(); ++number) {
    last->next.store(k, std::memory_order_relaxed); // only this thread has it
    last = k;
  }
  count_pushed(number);
  injector_.push_chain(first, last);
  return {.first = nullptr, .more = true};
}

void task_queues::share_lifo_slot(seat& s) noexcept {
  // As urgent as an event: the task that made it ready may have served one.
  if (task* const k = s.lifo_slot.take()) push(k, priority::normal, priority_lane::events, 0);
}

void task_queues::retire(seat& s) noexcept {
  share_queue(s);
  while (task* k = s.inbox.pop()) push(k);
}

} // namespace rubato::detail
