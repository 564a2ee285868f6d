// How a result gets to those who wait for it, and how work is queued. docs/design/futures.md
#include "rubato/detail/future_state.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/continuation.hpp"
#include "rubato/detail/unattended.hpp"
#include "work/pool_core.hpp"
#include "work/visit.hpp"
#include "work/watch.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <string>

namespace rubato::detail {

void future_state::exec_entry(task& base, member* runner) noexcept {
  auto& s = static_cast<future_state&>(base);
  s.holds_room = false; // the room has been given back
  ticket::taken const t = s.entry.take();
  if (t.ready) {
    if (runner != nullptr && (!runner->core->is_discarding() || s.has_begun())) {
      s.begun_by.store(runner->index + 1, std::memory_order_relaxed);
      s.resume(*runner);
    } else {
      s.drop();
    }
  }
  if (t.stale) s.release();
}

bool future_state::drop_unless_begun() noexcept {
  holds_room = false; // the room has been given back
  ticket::taken const t = entry.take();
  bool again = false;
  if (t.ready) {
    again = has_begun() && entry.offer();
    if (!again) drop();
  }
  if (t.stale) release();
  return again;
}

bool future_state::drop_if_stale(pool_core& where) noexcept {
  if (!entry.drop_if_stale()) return false;
  if (std::exchange(holds_room, false)) where.release_room();
  release();
  return true;
}

void future_state::tell(future_state& s, completions& more) noexcept {
  for (completion::waiter* w = s.waiters.close(); w != nullptr;) {
    auto& now = static_cast<future_waiter&>(*w);
    w = w->next; // read before: the waiter is gone afterwards
    now.fire(now, more);
  }
}

void future_state::complete() noexcept {
  completions more;
  for (future_state* s = this; s != nullptr; s = more.pop()) {
    s->stop.leave_parent(); // whoever is told next may end the scope around it
    tell(*s, more);
    s->release();
  }
}

void future_state::give_up() noexcept {
  fail(broken_promise());
  completions more;
  tell(*this, more);
  while (future_state* const s = more.pop()) s->complete();
}

void future_state::drop() noexcept {
  fail(broken_promise());
  complete();
}

void future_state::resume(member& /*runner*/) noexcept {} // a promise's is never queued

void cancellation::add(future_state& s) noexcept {
  // acq_rel: pairs with itself. Who comes second leaves it to the first.
  if (s.asked.exchange(true, std::memory_order_acq_rel)) return;
  if (future_state** const next = s.next_to_ask()) {
    s.hold();
    *next = std::exchange(first_, &s);
  } else {
    s.stop.request_stop();
  }
}
future_state* cancellation::pop() noexcept {
  future_state* const s = first_;
  if (s != nullptr) first_ = *s->next_to_ask();
  return s;
}

void future_state::cancel() noexcept {
  hold(); // a callback may drop the last future
  state_ref const held_here(this);
  cancellation all;
  all.add(*this);
  while (future_state* const s = all.pop()) {
    state_ref const held(s);
    s->stop.request_stop();
    s->cancel_inputs(all);
  }
}

namespace {

void queue_entry(pool_core& core, std::uint16_t seat, task& entry) noexcept {
  if (seat != future_state::any_seat)
    core.enqueue_on(seat, &entry);
  else
    core.enqueue_next(&entry);
}

} // namespace

// NOLINTBEGIN(clang-analyzer-core.*): work that is offered has a home
void offer(future_state& s) noexcept {
  // From the offer on somebody may claim it, it may move or end, and so may its pool.
  pool_core& core = *s.home();
  std::uint16_t const seat = s.seat;
  std::optional<visit> here;
  if (&core != current->core) here.emplace(core);
  // relaxed: set by the thread that ran it before, which has handed it on since.
  if (s.displaced.load(std::memory_order_relaxed)) {
    if (!s.entry.is_queued()) {
      s.displaced.store(false, std::memory_order_relaxed);
    } else if (task* const second = s.second()) {
      queue_entry(core, seat, *second);
      return;
    }
  }
  if (s.entry.offer())
    queue_entry(core, seat, s);
  else
    core.notify(); // all may wait, and have seen nothing in the queue but what was claimed
}
// NOLINTEND(clang-analyzer-core.*)

void queue_near(task& t, pool_core* made_at) noexcept {
  if (current->core != nullptr) {
    current->core->enqueue(&t);
    return;
  }
  std::optional<visit> there;
  if (visit_if_there(made_at, there)) {
    made_at->enqueue(&t);
    return;
  }
  try {
    some_core()->enqueue(&t);
  } catch (std::exception const&) { // no threads, or no memory
    t.exec(t, nullptr);
  }
}

namespace {

struct ending_task final : task {
  future_state& state;
  void (*end)(future_state&) noexcept;
  ending_task(future_state& s, void (*f)(future_state&) noexcept) noexcept
      : task(&run)
      , state(s)
      , end(f) {
    holds_room = false;
  }
  static void run(task& base, member* /*runner: null, if the pool discards it*/) noexcept {
    auto& self = static_cast<ending_task&>(base);
    future_state& s = self.state;
    auto const end_it = self.end;
    std::destroy_at(&self);
    deallocate(&self, sizeof(ending_task));
    end_it(s);
  }
};

} // namespace

void end_later(future_state& s, void (*end)(future_state&) noexcept) noexcept {
  try {
    queue_near(*::new (allocate(sizeof(ending_task))) ending_task(s, end), s.home());
  } catch (std::bad_alloc const&) {
    end(s);
  }
}

failure_report::failure_report(future_state& j, ended_type ended) noexcept
    : task(&tell)
    , future_waiter(ended)
    , job(j) {
  holds_room = false;
}

void failure_report::watch(pool_core& c) noexcept {
  where_ = &c;
  serial_ = c.serial;
  static_cast<void>(job.waiters.add(*this));
}

void failure_report::send(std::exception_ptr e) noexcept {
  std::optional<visit> there;
  if (!visit_if_there(where_, there) || where_->serial != serial_) { // another may have got its address
    there.reset();
    pool_core* const moved_to = job.home();
    if (moved_to == where_ || !visit_if_there(moved_to, there)) {
      job.release();
      return;
    }
    where_ = moved_to;
  }
  error_ = std::move(e);
  where_->enqueue(this);
}

void failure_report::tell(task& base, member* /*runner: null, if the pool discards it*/) noexcept {
  auto& self = static_cast<failure_report&>(base);
  self.where_->unhandled(std::move(self.error_));
  self.job.release();
}

bool was_lost_in_fork(future_state const& s) noexcept {
  pool_core const* const home = s.home();
  return !s.done() && home != nullptr && home != current->core && was_left_behind(home);
}

void queue_new(future_state& s) noexcept { queue_entry(*s.home(), s.seat, s); }

void queue_continuation(future_state& c, future_state& source, bool just_made) noexcept {
  pool_core* const made_at = source.home();
  std::optional<visit> there;
  pool_core* home = current->core;
  if (home == nullptr || (!just_made && home != made_at)) {
    home = made_at;
    if (!visit_if_there(made_at, there)) {
      home = some_core();
      if (home != current->core) there.emplace(*home);
    }
  }
  c.settle(home);
  std::uint16_t const seat = c.seat;
  c.entry.offer_first(); // from now on somebody may claim it
  queue_entry(*home, seat, c);
}

void queue_pending(future_state& c, resident& r, pool_core& wanted, bool chosen) noexcept {
  visit const here(wanted); // it is alive as long as we are listed there
  c.hold();                 // it may run and end meanwhile
  c.settle(chosen || current->core == nullptr ? &wanted : current->core);
  offer(c);
  wanted.resident_left(r);
  c.release();
}

void spawn_state(pool_core& c, future_state& s) noexcept {
  s.settle(&c);
  s.entry.offer_new();
  if (s.seat != future_state::any_seat)
    c.enqueue_on(s.seat, &s);
  else
    c.enqueue(&s);
}

std::uint16_t checked_seat(pool_core& c, unsigned seat) {
  if (seat >= c.size())
    throw std::out_of_range("rubato: spawn_on(" + std::to_string(seat) + "): the pool has " +
                            std::to_string(c.size()) + " seats");
  return static_cast<std::uint16_t>(seat);
}

pool_core* some_core() { return core_of(pool_or_current(nullptr)); }

void throw_no_state(char const* what) {
  struct no_state : std::future_error {
    char const* said;
    explicit no_state(char const* w)
        : std::future_error(std::future_errc::no_state)
        , said(w) {}
    [[nodiscard]] char const* what() const noexcept override { return said; }
  };
  throw no_state(what);
}

void join_residents(pool_core& core, resident& r) noexcept { core.residing.add(r); }

std::exception_ptr broken_promise() noexcept {
  try {
    return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
  } catch (...) { // no memory for its text: then that is why
    return std::current_exception();
  }
}

bool is_cancelled(std::exception_ptr const& e) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (cancelled const&) {
    return true;
  } catch (...) {
    return false;
  }
}

void count_armed(pool_core& c) noexcept { c.armed(); }
void count_disarmed(pool_core& c) noexcept { c.disarmed(); }
void count_fired(pool_core& c) noexcept { c.fired(); }

std::exception_ptr cancelled_error() noexcept { return std::make_exception_ptr(cancelled()); }

} // namespace rubato::detail
