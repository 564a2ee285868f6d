#include "sched/core/thread_registry.hpp"

#include "os/membarrier.hpp"
#include "os/memory.hpp"
#include "os/thread.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/pool_options.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/quiescence.hpp"
#include "sched/core/waits.hpp"
#include "timer/nudge_monitor.hpp"
#include "work/task_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace rubato::detail {

namespace {

// A fork uses at least this much stack: a chain with more cells would never be full.
constexpr std::size_t least_frame = 64;
constexpr std::size_t most_slots = std::size_t{1} << 20U;

/// Why no thread was made: the system's error, or no_memory.
[[nodiscard]] int reason_of(std::exception_ptr const& e) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (std::system_error const& refused) {
    return refused.code().value();
  } catch (std::exception const&) {
    return thread_registry::no_memory;
  }
}

/// The pool's name and the thread's number, in 15 bytes: the name is shortened, never the number.
std::string thread_name(std::string const& pool, unsigned number) {
  constexpr std::size_t most = 15;
  std::string const tail = std::string("/").append(std::to_string(number)); // g++ 12 warns of "/" +
  if (pool.size() + tail.size() <= most) return pool + tail;
  return pool.substr(0, most - tail.size() - 1) + "~" + tail;
}

/// Around a change that join_all() waits for. Ends after the lock, and then wakes the thread in join_all().
struct told_joiner {
  pool_core& core;
  explicit told_joiner(pool_core& c) noexcept
      : core(c) {}
  told_joiner(told_joiner const&) = delete;
  told_joiner& operator=(told_joiner const&) = delete;
  ~told_joiner() { quiescence_of(core).notify_all(); }
};

} // namespace

thread_registry::thread_registry(pool_core& core, unsigned slots)
    : core_(core)
    , records(slots) {}

thread_registry::~thread_registry() {
  if (life_of(core_).is_abandoned()) return;
  for (auto& t : storage_) {
    if (t->spare_coroutine != nullptr) t->spare_coroutine->dispose();
    os::release(t->memory, t->memory_bytes);
  }
  records.release();
}

std::vector<os::cpu> const& thread_registry::places(os::placement_policy p) {
  std::call_once(places_made_, [this] {
    std::vector<os::cpu> const all = os::topology("/", cpus_.cpus());
    for (auto const policy : {os::placement_policy::cores, os::placement_policy::numa})
      places_[static_cast<std::size_t>(policy)] = os::in_placement_order(all, policy);
  });
  return places_[static_cast<std::size_t>(p)];
}

void thread_registry::await_guests() const noexcept {
  wait_briefly<std_policy>([this] { return inside_.is_over(); });
}

void thread_registry::open(bool starts) noexcept {
  lock_guard const guard(mutex_); // a thread that is about to end decides under it: ends_now()
  if (starts) scheduling_ = os::scheduling::of_this_thread();
  winding_up_ = false;
  surplus_.publish(0);
  records.for_each([](pool_thread& t) { t.exiting.lower(); });
}

void thread_registry::wind_up() noexcept {
  lock_guard const guard(mutex_); // no thread is made in between
  winding_up_ = true;
  records.for_each([](pool_thread& t) {
    if (!t.worker.load(std::memory_order_relaxed)) return;
    t.exiting.raise(); // read by worker.cpp's sleep()
    t.parker.unpark();
  });
}

/// The next number's record. Null: no number is left. Under the lock.
pool_thread* thread_registry::add_record() {
  unsigned const number = records.known();
  if (number == records.slots()) return nullptr;
  free_.reserve(number + 1); // so that giving it back cannot fail
  exited_.reserve(number + 1);
  auto made = std::make_unique<pool_thread>();
  storage_.reserve(number + 1);
  std::size_t const stack =
      options_of(core_).stack_size_ != 0 ? options_of(core_).stack_size_ : os::stack_bytes();
  std::size_t const cells = std::clamp(stack / least_frame, std::size_t{1024}, most_slots);
  made->memory_bytes = (cells + 2) * sizeof(latent_chain::cell);
  made->memory = os::reserve(made->memory_bytes);
  made->chain.attach(static_cast<latent_chain::cell*>(made->memory), cells, os::membarrier_available());
  made->index = number;
  made->core = &core_;
  made->table = &records;
  made->next_victim = number;
  storage_.push_back(std::move(made));
  records.publish(*storage_.back());
  return storage_.back().get();
}

/// Under the lock. May another thread be made? `for_seat`: a seat was reserved for it while no thread was
/// idle. Since then a thread may have been made for another seat, and be idle now.
bool thread_registry::may_make(bool for_seat) noexcept {
  if (winding_up_ || has_all_workers()) return false;
  return !for_seat || made_.get() + joined_ < size_of(core_) || !idle_threads_of(core_).has_idle();
}

/// No other thread may be made, however many seats are vacant.
bool thread_registry::has_all_workers() const noexcept {
  return made_.get() + joined_ >= size_of(core_) + options_of(core_).spares_;
}

/// A record that is free, or a new one. In a pool without spares its own threads have the lowest numbers.
/// Null: no number is left.
pool_thread* thread_registry::take_free(bool own) {
  if (options_of(core_).spares_ == 0) own_numbers_ = std::max(own_numbers_, size_of(core_));
  if (!own)
    while (records.known() < own_numbers_) free_.push_back(add_record());
  auto found = free_.end();
  if (own_numbers_ == 0)
    found -= free_.empty() ? 0 : 1;
  else
    found = std::find_if(free_.begin(), free_.end(), [own, below = own_numbers_](pool_thread const* t) {
      return own == (t->index < below);
    });
  if (found == free_.end()) return add_record();
  pool_thread* const t = *found;
  free_.erase(found);
  return t;
}

/// A record for a thread that joins. Null: no number is left, or none may join.
pool_thread* thread_registry::take_record(bool guest, bool for_seat, bool as_worker) {
  lock_guard const guard(mutex_);
  if (guest ? guests_ >= max_guests : !may_make(for_seat)) return nullptr;
  pool_thread* const t = take_free(!guest || as_worker);
  if (t == nullptr) return nullptr;
  t->counts_as_worker = as_worker;
  t->takes_calls = !guest || as_worker;
  if (as_worker) ++joined_;
  if (guest)
    ++guests_;
  else
    made_.add(1), ++unjoined_; // at once: join_all() waits for it although it does not run yet
  t->worker.store(!guest, std::memory_order_relaxed);
  t->exiting.lower();
  t->relief.lower();
  t->resting = false;
  t->boundaries.set((t->boundaries.get() | 1U) + 1U);
  t->tid.set(0);
  t->outer = &outside;
  t->local_since = 0;
  t->pinned_to = -1;
  t->refused_cpu = -1;
  records.enter(*t);
  t->chain.arm_poll(); // the monitor may be asleep: it has not seen this thread
  return t;
}

/// Under the lock.
void thread_registry::give_back(pool_thread& t) noexcept {
  records.leave(t);
  free_.push_back(&t);
}

void thread_registry::keep_a_record() {
  lock_guard const guard(mutex_);
  if (pool_thread* const t = add_record()) free_.push_back(t);
}

void thread_registry::free_number(pool_thread& t) noexcept {
  lock_guard const guard(mutex_);
  if (t.worker.load(std::memory_order_relaxed))
    made_.subtract(1);
  else
    --guests_;
  if (t.counts_as_worker) --joined_;
  t.takes_calls = false;
  give_back(t);
}

void thread_registry::throw_refusal() const {
  int const why = refused_.get();
  if (why == no_memory) throw std::bad_alloc();
  throw std::system_error(why != 0 ? why : EAGAIN, std::generic_category(),
                          "rubato: not a single thread could be started");
}

/// Makes a thread: for the seat of the call, if there is one; else for the task `aside`, if that is not null;
/// else for relief. The thread is active from now on. False: none can be made.
bool thread_registry::launch(idle_set::call const& c, relief_order const& order, task* aside) noexcept {
  pool_thread* t = nullptr;
  try {
    join_ended();
    t = take_record(false, static_cast<bool>(c));
  } catch (std::exception const&) { // no memory, no thread either
    refused_.set(reason_of(std::current_exception()));
  }
  if (t == nullptr) return false;
  if (aside != nullptr)
    static_cast<void>(t->aside.put(aside));
  else if (!c)
    order_relief(*t, order);
  if (c)
    idle_threads_of(core_).settle(c, *t);
  else
    idle_threads_of(core_).count_in(*t);
  if (create(*t)) return true;
  static_cast<void>(t->aside.take()); // the caller keeps it
  undo_launch(c, *t);
  return false;
}

bool thread_registry::create(pool_thread& t) noexcept {
  try {
    if (options_of(core_).host_.make_thread != nullptr) {
      create_by_host(t);
      return true;
    }
    auto const name = name_of(core_, t.index);
    // Under the lock. The new thread takes it at its end, before it is joined: so the handle is there.
    lock_guard const guard(mutex_);
    os::thread_options const wanted{
        .name = name, .stack_size = options_of(core_).stack_size_, .like = &scheduling_, .cpus = &cpus_};
    t.handle = os::thread(wanted, &thread_registry::thread_main, &t);
    refused_.set(0);
    return true;
  } catch (std::exception const&) {
    refused_.set(reason_of(std::current_exception()));
    return false;
  }
}

void thread_registry::create_by_host(pool_thread& t) {
  hosted_.add();
  thread_host const& host = options_of(core_).host_;
  int const error = [&]() noexcept { // an exception would leave hosted_ counted for ever
    return host.make_thread(host.arg, reinterpret_cast<rb_thread*>(&t)); // NOLINT: opaque to the host
  }();
  if (error == 0) {
    refused_.set(0);
    return;
  }
  static_cast<void>(hosted_.arrive());
  throw std::system_error(-error, std::generic_category(), "rubato: the host has made no thread");
}

bool thread_registry::start_missing() noexcept {
  for (;;) {
    {
      lock_guard const guard(mutex_);
      if (winding_up_ || made_.get() + joined_ >= size_of(core_)) return true;
    }
    idle_set::call const c = idle_threads_of(core_).claim();
    if (!c) return true; // an event has called a thread for the seat, or a guest that has not left sits there
    if (launch(c, {}, nullptr)) continue;
    not_launched(c); // fewer than wanted: seats stay vacant
    return false;
  }
}

std::vector<pool_thread*> thread_registry::that_take_calls() {
  std::vector<pool_thread*> all;
  lock_guard const guard(mutex_);
  all.reserve(storage_.size());
  for (auto const& t : storage_)
    if (t->takes_calls) all.push_back(t.get());
  return all;
}

bool thread_registry::call(pool_thread& t, task& c) noexcept {
  lock_guard const guard(mutex_); // ends_now() decides under it
  if (!t.takes_calls) return false;
  t.calls.push(&c);
  t.parker.unpark();
  return true;
}

std::string thread_registry::name_of(pool_core const& core, unsigned number) {
  return thread_name(options_of(core).name_, number);
}

void thread_registry::run_here(pool_thread& t) noexcept {
  thread_registry& registry = threads_of(*t.core);
  thread_main(&t);
  static_cast<void>(registry.hosted_.arrive()); // the last touch: see join_all()
}

/// To any thread: a broadcast has seen a thread that was not made after all. It takes no calls any more.
void thread_registry::pass_on_calls(pool_thread& t) noexcept {
  for (;;) {
    task* call = nullptr;
    {
      lock_guard const guard(t.calls);
      call = static_cast<task*>(t.calls.pop());
    }
    if (call == nullptr) return;
    queue(core_, call);
    count_disarmed(core_);
  }
}

void thread_registry::undo_launch(idle_set::call const& c, pool_thread& t) noexcept {
  t.relief.lower();
  if (c)
    idle_threads_of(core_).unsettle(c, t);
  else // it has no seat
    static_cast<void>(idle_threads_of(core_).vacate(t, leaving::for_good));
  told_joiner const told(core_);
  {
    lock_guard const guard(mutex_);
    --unjoined_;
    t.takes_calls = false;
  }
  pass_on_calls(t);
  free_number(t);
}

void thread_registry::order_relief(pool_thread& t, relief_order const& order) noexcept {
  t.relieves = order;
  t.boundaries_then =
      order.blocked != nullptr ? order.blocked->boundaries.get() : records.boundaries_of_all_but(&t);
  t.relief.raise(); // read by worker.cpp's sleep() and worker_loop()
}

void thread_registry::start(idle_set::call const& c) noexcept {
  if (!launch(c, {}, nullptr)) not_launched(c);
}

void thread_registry::start_relief(relief_order const& order) noexcept {
  if (!launch({}, order, nullptr)) not_launched({});
}

void thread_registry::not_launched(idle_set::call const& c) noexcept {
  if (c) {
    idle_threads_of(core_).give_up(c);
    auto& s = static_cast<seat&>(*c.where);
    if (s.closed.load(std::memory_order_relaxed)) retire_seat(core_, s);
  }
  // A thread may have gone idle meanwhile without leaving a seat, and have found none vacant.
  if (idle_threads_of(core_).has_idle()) {
    unpark_for_inboxes(core_);
    if (queues_of(core_).any_shared()) notify(core_);
  }
  nudge_monitor(monitor_rest::light); // it looks after latent work, for which no thread was made
  waits_of(core_).nudge_if_stuck();
  quiescence_of(core_).notify_if_quiet();
  // No thread is left to sit down: a thread that waits in broadcast() runs the function for that seat itself.
  records.for_each([](pool_thread& w) {
    if (w.waits_in.get() != nullptr) w.parker.unpark();
  });
}

trace_event place_of_this_thread() noexcept {
  for (thread_context* c = current; c != nullptr && c->core != nullptr; c = thread_of(*c).outer)
    if (thread_of(*c).worker)
      return {.id = trace_word(c->core), .what = trace_event::pack(event_kind::joined, 1, c->index)};
  return {};
}

void thread_registry::thread_main(void* arg) {
  auto& t = *static_cast<pool_thread*>(arg);
  pool_core& core = *t.core;
  note<event_kind::joined>(&core, t.index, 1); // before place_of_this_thread() says it too
  current = &t;
  t.tid.set(os::this_thread_id());
  if (seat* const s = t.sits_on()) pin(t, *s);
  if (options_of(core).on_start_) options_of(core).on_start_(t.index);
  worker_loop(core, t);
  if (options_of(core).on_exit_) {
    idle_threads_of(core).count_in(t);
    options_of(core).on_exit_(t.index);
    give_up_seat(core, t, leaving::for_good);
  }
  current = &outside;
  note<event_kind::left>(&core, t.index, 1);
  threads_of(core).thread_ended(t);
}

void thread_registry::thread_ended(pool_thread& t) noexcept {
  join_ended(); // a thread that ended before, so that few of their stacks are kept
  told_joiner const told(core_);
  lock_guard const guard(mutex_);
  exited_.push_back(&t);
}

void thread_registry::reclaim(pool_thread& t) noexcept {
  told_joiner const told(core_);
  lock_guard const guard(mutex_);
  --unjoined_;
  give_back(t);
}

pool_thread* thread_registry::take_exited() noexcept {
  lock_guard const guard(mutex_);
  if (exited_.empty()) return nullptr;
  pool_thread* const t = exited_.back();
  exited_.pop_back();
  return t;
}

/// Frees the record of a thread that has ended altogether. It waits for none: the destructors of thread-local
/// objects are user code.
void thread_registry::join_ended() noexcept {
  pool_thread* const t = take_exited();
  if (t == nullptr) return;
  if (!t->handle.joinable() || t->handle.try_join()) { // a host joins its threads itself
    reclaim(*t);
  } else {
    lock_guard const guard(mutex_);
    exited_.push_back(t);
  }
}

bool thread_registry::join_all() noexcept {
  for (;;) {
    if (pool_thread* const t = take_exited()) {
      if (t->handle.joinable()) t->handle.join();
      reclaim(*t);
      continue;
    }
    quiescence_of(core_).await([&] {
      lock_guard const guard(mutex_);
      return unjoined_ == 0 || !winding_up_ || !exited_.empty();
    });
    lock_guard const guard(mutex_);
    if (unjoined_ == 0) break;
    if (!winding_up_) return false;
  }
  wait_briefly<std_policy>([this] { return hosted_.is_over(); });
  return true;
}

pool_thread* thread_registry::enter(bool as_worker) {
  pool_thread* const t = take_record(true, false, as_worker);
  if (t == nullptr)
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                            "rubato: more than 65,535 outside threads run in one pool at the same time");
  inside_.add();
  t->tid.set(os::this_thread_id());
  note<event_kind::joined>(&core_, t->index);
  t->pass_boundary(); // a guest is in a task from the beginning
  idle_threads_of(core_).enter(*t);
  quiescence_of(core_).thread_began();
  return t;
}

void thread_registry::end_calls(pool_thread& t) noexcept {
  lock_guard const guard(mutex_); // as in ends_now()
  t.takes_calls = false;
}

void thread_registry::leave(pool_thread& t) noexcept {
  bool const was_worker = t.counts_as_worker;
  note<event_kind::left>(&core_, t.index);
  t.pass_boundary();
  give_up_seat(core_, t, leaving::for_good);
  free_number(t);
  // Only now may another thread be made in its place: for what was queued before.
  if (was_worker) {
    unpark_for_inboxes(core_);
    if (queues_of(core_).any_shared()) notify(core_);
  }
  static_cast<void>(inside_.arrive()); // the last touch: see await_guests()
}

bool thread_registry::no_thread_to_call() noexcept {
  bool none_made = refused_.get() != 0;
  if (!none_made) {
    lock_guard const guard(mutex_);
    none_made = has_all_workers();
  }
  return none_made && !idle_threads_of(core_).has_idle();
}

/// Threads end until `workers` are left: sleeping threads now, busy ones when they go idle. A thread whose
/// seat is closed goes idle after its task. See worker.cpp's sleep().
void thread_registry::end_surplus(unsigned workers) noexcept {
  unsigned surplus = 0;
  {
    lock_guard const guard(mutex_);
    unsigned const made = made_.get() + joined_;
    surplus = made - std::min(made, workers);
    surplus_.publish(surplus);
  }
  idle_threads_of(core_).for_each_idle([&](idle_set_thread& t) {
    if (surplus == 0 || t.active) return; // active: it drives
    --surplus;
    t.parker.unpark();
  });
}

/// The caller is in no list. False: resize() wants it after all, or another thread has ended in its stead.
bool thread_registry::ends_now(pool_thread& t) noexcept {
  lock_guard const guard(mutex_);
  unsigned const surplus = surplus_.own();
  bool const is_surplus = surplus != 0 && made_.get() + joined_ > size_of(core_);
  surplus_.publish(is_surplus ? surplus - 1 : 0);
  if (!is_surplus && !t.exiting.is_raised()) return false;
  made_.subtract(1); // now, so that another may be made in its place
  t.takes_calls = false;
  return true;
}

void pin(pool_thread& t, seat& s) noexcept {
  if (s.cpu == t.pinned_to || (s.cpu >= 0 && s.cpu == t.refused_cpu)) return;
  if (!t.worker.load(std::memory_order_relaxed)) return; // a guest's affinity is its own affair
  if (!pin_to(t, s.cpu)) t.refused_cpu = s.cpu;          // it would be refused again
}

bool pin_to(pool_thread& t, int cpu) noexcept {
  if (cpu == t.pinned_to) return true;
  bool const done = cpu >= 0 ? os::pin(cpu) : os::unpin();
  if (done) t.pinned_to = cpu;
  return done;
}

} // namespace rubato::detail
