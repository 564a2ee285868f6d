// What a worker runs next, and what queued work does to the sleepers. docs/design/parking.md
#include "os/die.hpp"
#include "os/thread.hpp"
#include "rubato/detail/scope_core.hpp"
#include "work/outside_waiters.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace rubato::detail {

namespace {

constexpr unsigned fair_every = 61;    // promise F
constexpr unsigned most_slot_runs = 3; // the same
constexpr std::int64_t fair_us = 200;  // the same
constexpr std::size_t pull_most = 32;

unsigned stripe_of_thread() noexcept {
  static std::atomic<unsigned> last{0};
  [[gnu::tls_model("initial-exec")]] static thread_local constinit unsigned mine = 0;
  if (mine == 0) mine = last.fetch_add(1, std::memory_order_relaxed) + 1; // relaxed: any number will do
  return mine;
}

} // namespace

void pool_core::push_entry(task* t) noexcept {
  auto& mine = entry_pushed_[stripe_of_thread() % entry_pushed_.size()];
  mine.pushed.fetch_add(1, std::memory_order_relaxed); // relaxed: a count
  entry.push(t);
}

/// Dropping one may make another ready, which comes here again: a list in place of a recursion.
void pool_core::drop_late(task* t) noexcept {
  [[gnu::tls_model("initial-exec")]] static thread_local constinit queue_node* waiting = nullptr;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit bool dropping = false;
  t->next.store(waiting, std::memory_order_relaxed); // only this thread has it
  waiting = t;
  if (std::exchange(dropping, true)) return;
  while (waiting != nullptr) {
    auto& k = *static_cast<task*>(waiting);
    waiting = k.next.load(std::memory_order_relaxed);
    drop(k);
  }
  dropping = false;
}

void pool_core::enqueue(task* t) noexcept {
  if (closed_.load(std::memory_order_relaxed) && handle_->immortal_) { // the program ends
    drop_late(t);
    return;
  }
  if (current->core != this) {
    visit const here(*this); // the task may run, and the pool end, at any moment from now on
    push_entry(t);
    notify();
    return;
  }
  pool_thread& me = thread_of(*current);
  me.bump(counted::spawned);
  seat* const s = me.sits_on();
  // With one worker everything runs in the order in which it was queued. With more, the entry is shared and
  // the seat's own queue is not; F sees to it that neither starves.
  bool const own = s != nullptr && !s->personal && (size() > 1 || entry.empty());
  if (own && s->queue.push(t)) {
    if (me.local_since == 0) me.local_since = os::now();
  } else {
    push_entry(t);
  }
  notify();
}

void pool_core::enqueue_for(seat& s, task* t) noexcept {
  s.inbox.push(t);
  call_worker(&s, true);
  // The roster's lock, which call_worker() takes, comes before or after close() takes it. Before: the thread
  // that closes the seat empties it afterwards, and finds the task. After: the seat is seen closed here.
  // A seat below the size is about to be opened: open_seats() calls for its inbox then.
  if (s.closed.load(std::memory_order_relaxed) && s.index >= size()) retire_seat(s);
  nudge_watch();
}

void pool_core::enqueue_on(unsigned seat_index, task* t) noexcept {
  std::optional<visit> here;
  if (current->core != this) here.emplace(*this);
  unsigned const n = size();
  if (n == 0) // nobody sits anywhere: whoever drives the pool runs it
    push_entry(t), notify();
  else
    enqueue_for(*seat_at(seat_index % n), t);
}

void pool_core::enqueue_next(task* t) noexcept {
  seat* const s = current->core == this ? thread_of(*current).sits_on() : nullptr;
  if (s == nullptr || s->personal) {
    enqueue(t);
    return;
  }
  thread_of(*current).bump(counted::spawned);
  // No event, as with latent work: the caller runs it next. The watch and those who search look after it if
  // the caller goes on for long. seq_cst: pairs with whoever takes it, and with the watch, which announces
  // its sleep before it looks at the slots.
  if (task* const before = s->slot.exchange(t, std::memory_order_seq_cst)) {
    if (!s->queue.push(before)) push_entry(before);
    notify();
  } else {
    nudge_watch();
  }
}

/// Whoever leaves its seat leaves nothing where nobody would look for it.
void pool_core::flush_slot(pool_thread& t) noexcept {
  seat* const s = t.sits_on();
  if (s == nullptr || s->slot.load(std::memory_order_relaxed) == nullptr) return;
  if (task* const k = s->slot.exchange(nullptr, std::memory_order_acquire))
    if (!s->queue.push(k)) push_entry(k);
}

void pool_core::notify() noexcept {
  switch (people.wanted()) {
  case roster::want::worker:
    call_worker(); // which tells the watch in its turn, if it leaves work behind
    break;
  case roster::want::nobody: // somebody searches, and will look again
    break;
  case roster::want::watch:
    nudge_watch();
  }
  // Without workers, who waits for idleness works. seq_cst: pairs with wait_idle(), which looks at the queues
  // after it has announced itself.
  if (size() == 0 && idle_waiting_.load(std::memory_order_seq_cst) != 0) {
    std::lock_guard const guard(waiters_);
    idle_.notify_all();
  }
  if (size() == 0) call_outside_drivers(*this);
}

bool pool_core::any_queued() const noexcept {
  if (any_shared()) return true;
  for (unsigned i = 0, n = seats_known(); i != n; ++i)
    if (!seat_at(i)->inbox.empty()) return true;
  return false;
}

bool pool_core::any_shared() const noexcept {
  if (!entry.empty()) return true;
  for (unsigned i = 0, n = seats_known(); i != n; ++i)
    if (!seat_at(i)->queue.empty()) return true;
  return false;
}

std::size_t pool_core::queued() const noexcept {
  std::size_t n = queued_at_entry();
  for (unsigned i = 0, k = seats_known(); i != k; ++i)
    n += seat_at(i)->queue.size() + seat_at(i)->inbox.size();
  return n;
}

std::size_t pool_core::queued_at_entry() const noexcept {
  std::uint64_t pushed = 0;
  std::uint64_t const popped = entry_popped_.load(std::memory_order_relaxed);
  for (auto const& s : entry_pushed_) pushed += s.pushed.load(std::memory_order_relaxed);
  return pushed > popped ? static_cast<std::size_t>(pushed - popped) : 0;
}

task* pool_core::pull(seat* s) noexcept {
  if (entry.empty()) return nullptr;
  task* first = nullptr;
  std::size_t count = 1;
  {
    std::lock_guard const guard(entry);
    first = static_cast<task*>(entry.pop());
    if (first == nullptr) return nullptr;
    // A batch, so that the lock is not taken for every task; others can take from it as before.
    if (s != nullptr && !s->personal && s->queue.empty())
      count += s->queue.fill([this] { return static_cast<task*>(entry.pop()); }, pull_most - 1);
    // relaxed: written under the lock, read as a hint.
    entry_popped_.store(entry_popped_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  // On its way the batch was in neither queue: who looked in that moment and went to sleep must be called.
  if (count != 1) notify();
  return first;
}

task* pool_core::next_task(pool_thread& t, seat& s) noexcept {
  if (task* k = s.inbox.pop()) return k;
  bool const others_wait = !entry.empty();
  ++t.looks;
  if (others_wait && t.local_since != 0 && size() > 1 && // one worker: what it queued itself is older
      (t.looks % fair_every == 0 || os::now() - t.local_since > fair_us * ticks_per_us())) {
    t.local_since = os::now();
    if (task* k = pull(nullptr)) return k;
  }
  auto const from_slot = [&s] {
    return s.slot.load(std::memory_order_relaxed) != nullptr
               ? s.slot.exchange(nullptr, std::memory_order_acquire)
               : nullptr;
  };
  if (t.slot_runs != most_slot_runs) {
    if (task* k = from_slot()) {
      ++t.slot_runs;
      return k;
    }
  }
  t.slot_runs = 0;
  if (task* k = s.queue.pop()) return k;
  t.local_since = 0;
  if (others_wait)
    if (task* k = pull(&s)) return k;
  return from_slot();
}

task* pool_core::any_task() noexcept {
  if (task* k = pull(nullptr)) return k;
  for (unsigned i = 0, n = seats_known(); i != n; ++i)
    if (task* k = seat_at(i)->queue.pop()) return k;
  for (unsigned i = 0, n = seats_known(); i != n; ++i)
    if (task* k = seat_at(i)->slot.exchange(nullptr, std::memory_order_acquire)) return k;
  return nullptr;
}

void pool_core::run(pool_thread& t, task& k) noexcept {
  t.bump(counted::executed);
  if (k.holds_room) release_room();
  // relaxed: a discard may begin a moment later as well.
  if (ending_.load(std::memory_order_relaxed) == ending::discard) [[unlikely]] {
    // Of work that has a future the entry itself tells whether it has begun.
    k.exec(k, may_have_begun(k) ? &t : nullptr);
    return;
  }
  k.exec(k, &t);
}

void pool_core::drop(task& k) noexcept {
  if (k.holds_room) release_room();
  k.exec(k, nullptr);
}

void pool_core::work(pool_thread& t) noexcept {
  bool searching = false;
  for (;;) {
    seat* const s = t.sits_on();
    if (s == nullptr) {
      if (t.relief.load(std::memory_order_acquire))
        relieve(t);
      else if (!t.resting) // after a task that it ended without a seat
        rest(t, false);
      else if (!sleep(t))
        return;
      continue;
    }
    if (t.resting) { // called, perhaps before it slept
      t.resting = false;
      searching = true; // whoever called it has counted it so
      t.bump(counted::woken);
      pin(t, *s);
    }
    if (s->closed.load(std::memory_order_relaxed)) {
      rest(t, std::exchange(searching, false));
    } else if (!searching && t.looks % fair_every == fair_every - 1 && run_child_in_turn(t)) {
      boundary(t);
    } else if (task* k = searching ? nullptr : next_task(t, *s)) {
      t.pass_boundary();
      run(t, *k);
      t.pass_boundary();
      boundary(t);
    } else {
      if (!searching) searching = begin_search();
      if (search(t, searching)) {
        boundary(t);
      } else if (!t.resting) {
        t.bump(counted::parked);
        rest(t, std::exchange(searching, false));
      }
    }
  }
}

/// Queues that never run empty must not keep the children of scopes from being begun. False: there is none.
bool pool_core::run_child_in_turn(pool_thread& t) noexcept {
  scope_child* const c = take_child(t);
  if (c == nullptr) return false;
  ++t.looks;
  t.pass_boundary();
  run(t, finding{.child = c});
  t.pass_boundary();
  return true;
}

/// The end of a task: somebody who came back from a wait may be owed a seat.
void pool_core::boundary(pool_thread& t) noexcept {
  if (!people.has_homeless() || t.sits_on() == nullptr) return;
  flush_slot(t);
  if (!people.step_down(t)) return;
  t.resting = true;
  after_vacating(nullptr); // whoever goes idle looks at the queues afterwards, always
  on_quiet();
}

/// Leaves its seat, if it has one, for want of work.
void pool_core::rest(pool_thread& t, bool searching) noexcept {
  t.resting = true;
  after_vacating(vacate(t, leaving::to_rest, searching));
  on_quiet();
}

/// It is in no list. False: resize() wants it after all, or another thread has ended in its stead.
bool pool_core::ends_now(pool_thread const& t) noexcept {
  std::lock_guard const guard(records_);
  unsigned const surplus = surplus_.load(std::memory_order_relaxed);
  bool const is_surplus = surplus != 0 && made_.load(std::memory_order_relaxed) > size();
  surplus_.store(is_surplus ? surplus - 1 : 0, std::memory_order_relaxed);
  if (!is_surplus && !t.exiting.load(std::memory_order_relaxed)) return false;
  --made_; // now, so that another may be made in its place
  return true;
}

/// Sleeps until called to a seat or for relief. False: the thread is to end.
bool pool_core::sleep(pool_thread& t) noexcept {
  for (;;) {
    if (t.sits_on() != nullptr) return true;
    if (t.relief.load(std::memory_order_acquire)) return true;
    // acquire, both: pair with close_pool() and end_surplus(), which wake this thread afterwards.
    bool const exits = t.exiting.load(std::memory_order_acquire);
    if (exits || surplus_.load(std::memory_order_acquire) != 0) {
      auto const struck = people.strike(t, !exits);
      if (struck == roster::struck::called) continue;
      if (struck == roster::struck::yes) {
        if (ends_now(t)) return false;
        people.await_call(t);
        call_for_inboxes();
        if (any_shared()) notify();
        continue;
      }
    }
    t.last_cpu.store(os::current_cpu(), std::memory_order_relaxed);
    t.parker.park();
  }
}

/// A seat has become vacant, or a thread idle: what is queued must not depend on who left.
void pool_core::after_vacating(seat* s) noexcept {
  // Whoever closed it may have come before this thread left it.
  if (s != nullptr && !s->personal && s->closed.load(std::memory_order_relaxed)) retire_seat(*s);
  call_for_inboxes();
  if (any_shared() || any_child()) // no worker may be left to run the children of a group
    notify();
  else if (people.active() != 0 && !all_wait())
    nudge_watch(watch_rest::dozing); // somebody is busy, and may have latent work that nobody was told of
  tell_if_stuck();
}

/// What must run on a given seat, for which there may have been no thread before.
void pool_core::call_for_inboxes() noexcept {
  for (unsigned i = 0, n = seats_known(); i != n; ++i)
    if (seat* const s = seat_at(i); !s->inbox.empty()) call_worker(s, true);
}

void pool_core::call_worker(seat* wanted, bool always) noexcept {
  roster::call const c = people.summon(wanted, always, os::current_cpu());
  if (c && c.who == nullptr) start_thread(c, false);
}

void pool_core::unhandled(std::exception_ptr e) noexcept {
  if (options_.on_unhandled_) {
    try {
      options_.on_unhandled_(std::move(e));
    } catch (...) {
      os::die("on_unhandled threw, and nobody is left to tell");
    }
    return;
  }
  std::string what = "an exception that is no std::exception";
  try {
    std::rethrow_exception(std::move(e));
  } catch (std::exception const& x) {
    what = x.what();
  } catch (...) { // NOLINT(bugprone-empty-catch): `what` says so
  }
  os::die("a task threw: " + what + "; catch it in the task or set pool_options::on_unhandled");
}

void unhandled(member& runner) noexcept { runner.core->unhandled(std::current_exception()); }

} // namespace rubato::detail
