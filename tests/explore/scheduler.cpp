#include "explore/scheduler.hpp"

#if defined(EXPLORE_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <utility>

namespace rubato_test {

namespace {

scheduler* active_scheduler = nullptr;

std::string shown(std::uint64_t bits) {
  std::ostringstream s;
  if (bits < 1'000'000) {
    s << bits;
  } else if (~bits < 1'000) {
    s << static_cast<std::int64_t>(bits);
  } else {
    s << "0x" << std::hex << bits;
  }
  return s.str();
}

/// While it lives, LeakSanitizer ignores allocations: it cannot see the references on abandoned stacks.
struct leaks_ignored {
#if defined(EXPLORE_ASAN)
  leaks_ignored() { __lsan_disable(); }
  ~leaks_ignored() { __lsan_enable(); }
#else
  leaks_ignored() {} // not trivial, so that it counts as used
#endif
  leaks_ignored(leaks_ignored const&) = delete;
  leaks_ignored& operator=(leaks_ignored const&) = delete;
};

} // namespace

/// What failed executions leave behind: their stacks cannot be unwound, because protocol code is noexcept.
struct scheduler::remains {
  std::vector<std::unique_ptr<fiber>> stacks;
  execution bodies;
  std::unique_ptr<std::byte[]> lent_memory;

  static std::vector<remains>& all() {
    static auto* const graveyard = new std::vector<remains>;
    return *graveyard;
  }
};

std::ostream& operator<<(std::ostream& to, verdict v) {
  static constexpr std::array names{"ok",       "assertion",       "race", "dead frame", "deadlock",
                                    "livelock", "nondeterministic"};
  return to << names[static_cast<std::size_t>(v)];
}

void fail(verdict v, std::string message) { scheduler::current().fail(v, std::move(message)); }

void check(bool condition, char const* text, std::source_location where) {
  if (!condition)
    fail(verdict::assertion, std::string("assertion failed: ") + text + "\n  at " + describe(where));
}

void* lend_frame(std::size_t size, std::align_val_t alignment) {
  return scheduler::current().lend(size, alignment);
}
void bury_frame(void const* address, std::size_t size) {
  // After a failure no result counts any more.
  if (scheduler* const s = scheduler::active()) s->bury(address, size);
}

scheduler::scheduler(options const& o, test const& t, std::string const& schedule)
    : options_(o)
    , test_(t)
    , choices_(schedule) {
  for (thread& each : threads_) each.owner = this;
}

scheduler::~scheduler() = default;

scheduler* scheduler::active() noexcept { return active_scheduler; }

scheduler& scheduler::current() {
  if (active_scheduler == nullptr) {
    std::fputs("explore: an object of the explorer was used outside of an execution\n", stderr);
    std::abort();
  }
  return *active_scheduler;
}

// One execution

void scheduler::execute(bool tracing) {
  tracing_ = tracing;
  trace_.clear();
  outcome_ = verdict::ok;
  message_.clear();
  steps_ = changes_ = preemptions_ = stale_ = spurious_ = 0;
  loans_.clear();
  lent_ = 0;
  leaks_ignored const ignore_leaks;
  memory_.reset(std::min(options_.history, most_options));
  count_ = 1;
  self_ = 0;
  thread& first = threads_[0];
  first.state = status::runnable;
  if (first.stack == nullptr) first.stack = std::make_unique<fiber>(&thread_main, &first);
  active_scheduler = this;
  driver_.switch_to(*first.stack);
  active_scheduler = nullptr;
  if (outcome_ != verdict::ok) {
    abandon();
  } else if (!choices_.complete()) {
    outcome_ = verdict::nondeterministic;
    message_ = "the execution ended early: the test is not deterministic";
  }
}

/// The bottom of every simulated thread's stack; it serves one execution after the other.
void scheduler::thread_main(void* argument) {
  thread& self = *static_cast<thread*>(argument);
  scheduler& s = *self.owner;
  auto const index = static_cast<unsigned>(&self - s.threads_.data());
  for (;;) {
    std::string thrown;
    try {
      if (index == 0) {
        s.main_body();
      } else {
        s.execution_.threads_[index - 1]();
      }
    } catch (std::exception const& e) {
      thrown = std::string("an exception left a thread: ") + e.what();
    } catch (...) {
      thrown = "an exception left a thread";
    }
    if (!thrown.empty()) s.fail(verdict::assertion, thrown);
    self.state = status::ended;
    if (index == 0) {
      self.stack->switch_to(s.driver_);
    } else {
      --s.alive_;
      s.reschedule();
    }
  }
}

void scheduler::main_body() {
  execution_.threads_.clear();
  execution_.finals_.clear();
  test_(execution_);
  if (execution_.threads_.size() >= max_threads) fail(verdict::assertion, "too many threads");
  alive_ = static_cast<unsigned>(execution_.threads_.size());
  count_ = alive_ + 1;
  for (unsigned t = 1; t != count_; ++t) {
    thread& each = threads_[t];
    memory_.fork(0, t);
    each.state = status::runnable;
    each.fresh = true;
    each.changes_seen = ~0U;
    if (each.stack == nullptr) each.stack = std::make_unique<fiber>(&thread_main, &each);
  }
  threads_[0].state = status::joining;
  reschedule();
  threads_[0].state = status::runnable;
  for (unsigned t = 1; t != count_; ++t) memory_.join(0, t);
  for (auto const& f : execution_.finals_) f();
  // What the test has made ends inside the execution, because its destructors touch atomics.
  execution_.threads_.clear();
  execution_.finals_.clear();
}

void scheduler::fail(verdict v, std::string message) {
  outcome_ = v;
  message_ = std::move(message);
  if (v == verdict::race || v == verdict::dead_frame || v == verdict::livelock)
    message_ += "\n  the last step of T" + std::to_string(self_) + ": " + describe(threads_[self_].where);
  threads_[self_].stack->switch_to(driver_);
  std::abort(); // no fiber comes back: see abandon()
}

void scheduler::abandon() {
  remains& r = remains::all().emplace_back();
  for (thread& each : threads_) {
    if (each.stack != nullptr) r.stacks.push_back(std::move(each.stack));
    each.state = status::absent;
  }
  r.bodies = std::move(execution_);
  execution_ = {};
  r.lent_memory = std::move(lent_memory_);
}

// Which thread goes next

unsigned scheduler::choose(unsigned count, unsigned allowed) {
  if (count == 1) return 0;
  unsigned const taken = choices_.pick(count, allowed);
  if (choices_.diverged())
    fail(verdict::nondeterministic,
         "the schedule does not fit: wrong text, or the test is not deterministic");
  return taken;
}

bool scheduler::enabled(unsigned t) const noexcept {
  status const s = threads_[t].state;
  return s == status::runnable || (s == status::joining && alive_ == 0);
}

void scheduler::switch_to(unsigned next) {
  thread& me = threads_[self_];
  if (next == self_) return;
  self_ = next;
  me.stack->switch_to(*threads_[next].stack);
}

void scheduler::count_step() {
  if (++steps_ > options_.max_steps)
    fail(verdict::livelock, "livelock: no end after " + std::to_string(options_.max_steps) + " steps");
}

/// Before every access: here another thread may come first.
void scheduler::step(location const& where) {
  thread& me = threads_[self_];
  me.where = where;
  count_step();
  if (!me.fresh) {
    std::array<unsigned, max_threads> next{self_};
    unsigned n = 1;
    for (unsigned t = 0; t != count_; ++t)
      if (t != self_ && enabled(t)) next[n++] = t;
    bool const allowed = options_.random != 0 || preemptions_ < options_.preemptions;
    unsigned const k = choose(n, allowed ? n : 1);
    if (k != 0) ++preemptions_;
    switch_to(next[k]);
  }
  me.fresh = false;
}

/// The running thread cannot go on, or leaves it open which one does.
void scheduler::reschedule() {
  std::array<unsigned, max_threads> next{};
  unsigned n = 0;
  for (unsigned t = 0; t != count_; ++t)
    if (enabled(t)) next[n++] = t;
  if (n == 0) report_deadlock();
  switch_to(next[choose(n, n)]);
}

void scheduler::report_deadlock() {
  std::string text = "deadlock / lost wake-up:";
  for (unsigned t = 0; t != count_; ++t) {
    thread const& each = threads_[t];
    if (each.state == status::asleep)
      text += "\n  T" + std::to_string(t) + " sleeps on " + memory_.name(each.futex) + " at " +
              describe(each.where);
    if (each.state == status::spinning)
      text += "\n  T" + std::to_string(t) + " spins at " + describe(each.where);
  }
  fail(verdict::deadlock, text);
}

/// A location has a new value: a thread that spins may look again.
void scheduler::changed() noexcept {
  ++changes_;
  for (unsigned t = 0; t != count_; ++t)
    if (threads_[t].state == status::spinning) threads_[t].state = status::runnable;
}

void scheduler::pause(location const& where) {
  thread& me = threads_[self_];
  me.where = where;
  count_step();
  if (tracing_) note(where, "pause");
  // To look again is of use once: if nothing has changed since the last pause, and nothing that was read was
  // old, it would be the same for ever. So loops that give up after a while do so, and those that do not end.
  bool const old = memory_.catch_up(self_);
  if (!old && me.changes_seen == changes_) me.state = status::spinning;
  me.changes_seen = changes_;
  me.fresh = true;
  reschedule();
}

void scheduler::futex_wait(void const* address, std::uint64_t expected, location const& where) {
  step(where);
  // The kernel compares the word itself: never an old write.
  memory::id const object = memory_.access(self_, address);
  std::uint64_t const value = memory_.read(self_, object, 0, order::relaxed);
  bool const sleeps = value == expected && !choose_spurious();
  if (tracing_)
    note(where, memory_.name(address), ".futex_wait(", shown(expected), ")",
         sleeps ? " sleeps" : (value == expected ? " returns for no reason" : ": is " + shown(value)));
  if (!sleeps) return;
  thread& me = threads_[self_];
  me.state = status::asleep;
  me.futex = address;
  me.fresh = true;
  reschedule();
}

void scheduler::futex_wake(void const* address, unsigned count, location const& where) {
  step(where);
  for (; count != 0; --count) {
    std::array<unsigned, max_threads> sleepers{};
    unsigned n = 0;
    for (unsigned t = 0; t != count_; ++t)
      if (threads_[t].state == status::asleep && threads_[t].futex == address) sleepers[n++] = t;
    if (n == 0) break;
    unsigned const woken = sleepers[choose(n, n)];
    threads_[woken].state = status::runnable;
    if (tracing_) note(where, memory_.name(address), ".futex_wake wakes T", std::to_string(woken));
  }
}

// Accesses

/// One of the writes below `count` that are possible; the newest always is.
template<class Possible>
unsigned scheduler::choose_write(unsigned count, Possible possible) {
  std::array<unsigned, most_options> numbers{0};
  unsigned n = 1;
  for (unsigned number = 1; number < count; ++number)
    if (possible(number)) numbers[n++] = number;
  unsigned const k = choose(n, stale_ < options_.stale ? n : 1);
  if (k != 0) ++stale_;
  return numbers[k];
}

bool scheduler::choose_spurious() {
  bool const yes = choose(2, spurious_ < options_.spurious ? 2 : 1) != 0;
  if (yes) ++spurious_;
  return yes;
}

/// Remembers the site, and weakens it if it is the one.
site scheduler::passed(site s) {
  sites_.insert(s);
  if (options_.weaken && same_place(options_.weaken->where.where, s.where))
    (options_.weaken->of_failure ? s.failure : s.order) = options_.weaken->to;
  return s;
}

void scheduler::create(void const* address, std::uint64_t bits) {
  for (loan const& l : loans_) {
    auto const begin = reinterpret_cast<std::uintptr_t>(l.address);
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    if (l.buried && at >= begin && at - begin < l.size)
      fail(verdict::dead_frame, "T" + std::to_string(self_) + " makes an object in a dead frame");
  }
  memory_.create(self_, address, bits);
}

void scheduler::destroy(void const* address) { memory_.destroy(self_, address); }

void scheduler::plain_read(void const* address, location const& where) {
  if (tracing_) note(where, memory_.name(address), ".get");
  threads_[self_].where = where;
  memory_.access(self_, address);
}

void scheduler::plain_write(void const* address, location const& where) {
  if (tracing_) note(where, memory_.name(address), ".set");
  threads_[self_].where = where;
  memory_.plain_write(self_, memory_.access(self_, address));
}

std::uint64_t scheduler::load(void const* address, order o, location const& where) {
  site const s = passed({where, operation::load, o, o});
  step(where);
  memory::id const object = memory_.access(self_, address);
  unsigned const number =
      choose_write(memory_.readable(self_, object, s.order), [](unsigned) { return true; });
  std::uint64_t const value = memory_.read(self_, object, number, s.order);
  if (tracing_)
    note(where, memory_.name(address), ".load = ", shown(value), " ", name_of(s.order),
         number == 0 ? "" : ", old: newest is " + shown(memory_.value(object)));
  return value;
}

void scheduler::store(void const* address, std::uint64_t bits, order o, location const& where) {
  site const s = passed({where, operation::store, o, o});
  step(where);
  memory::id const object = memory_.access(self_, address);
  std::uint64_t const before = memory_.value(object);
  unsigned const number = choose_write(memory_.readable(self_, object, s.order),
                                       [&](unsigned k) { return memory_.room(object, k); });
  memory_.write(self_, object, number, bits, s.order);
  if (tracing_)
    note(where, memory_.name(address), ".store ", shown(bits), " ", name_of(s.order),
         number == 0 ? "" : ", before the newest, " + shown(before));
  if (bits != before) changed();
}

std::uint64_t scheduler::modify(void const* address, function f, std::uint64_t operand, char const* name,
                                order o, location const& where) {
  site const s = passed({where, operation::modify, o, o});
  step(where);
  memory::id const object = memory_.access(self_, address);
  unsigned const number = choose_write(memory_.readable(self_, object, s.order),
                                       [&](unsigned k) { return memory_.room(object, k); });
  std::uint64_t const newest = memory_.value(object);
  std::uint64_t const old = memory_.read(self_, object, number, s.order);
  std::uint64_t const bits = f(old, operand);
  memory_.modify(self_, object, number, bits, s.order);
  if (tracing_)
    note(where, memory_.name(address), ".", name, " ", shown(operand), ": ", shown(old), " -> ", shown(bits),
         " ", name_of(s.order), number == 0 ? "" : ", before the newest, " + shown(newest));
  if (bits != old) changed();
  return old;
}

bool scheduler::compare_exchange(void const* address, std::uint64_t& expected, std::uint64_t desired,
                                 bool weak, order success, order failure, location const& where) {
  site const s = passed({where, operation::compare, success, failure});
  step(where);
  memory::id const object = memory_.access(self_, address);
  std::uint64_t const newest = memory_.value(object);
  unsigned const exchangeable = memory_.readable(self_, object, s.order);
  unsigned const readable = memory_.readable(self_, object, s.failure);
  unsigned const number = choose_write(std::max(exchangeable, readable), [&](unsigned k) {
    return memory_.value(object, k) == expected ? k < exchangeable && memory_.room(object, k) : k < readable;
  });
  bool const equal = memory_.value(object, number) == expected;
  bool const exchanged = equal && !(weak && number < readable && choose_spurious());
  std::uint64_t const old = memory_.read(self_, object, number, exchanged ? s.order : s.failure);
  if (exchanged) memory_.modify(self_, object, number, desired, s.order);
  if (tracing_)
    note(where, memory_.name(address), ".compare_exchange ", shown(expected), " -> ", shown(desired), " ",
         exchanged ? name_of(s.order) : "fails: is " + shown(old) + " " + name_of(s.failure),
         equal && !exchanged ? ", for no reason" : "",
         number == 0 ? "" : ", old: newest is " + shown(newest));
  if (exchanged && desired != expected) changed();
  expected = old;
  return exchanged;
}

void scheduler::fence(location const& where) {
  if (passed({where, operation::fence}).order == order::relaxed) return;
  step(where);
  memory_.full_fence(self_);
  if (tracing_) note(where, "fence");
}

void scheduler::light_barrier(location const& where) {
  if (passed({where, operation::light_barrier}).order == order::relaxed) return;
  step(where);
  memory_.light_barrier(self_);
  if (tracing_) note(where, "light_barrier");
}

/// Two full fences, and in between one on every other thread, each at a time of its own.
void scheduler::heavy_barrier(location const& where) {
  if (passed({where, operation::heavy_barrier}).order == order::relaxed) return;
  std::array<bool, max_threads> fenced{};
  for (unsigned left = ~0U; left != 0;) {
    // The first and the last fence are part of the steps beside them: nothing can tell when exactly they
    // were.
    step(where);
    if (left == ~0U) memory_.full_fence(self_);
    std::array<unsigned, max_threads> others{};
    unsigned n = 0;
    for (unsigned t = 1; t != count_; ++t)
      if (t != self_ && !fenced[t] && threads_[t].state != status::ended) others[n++] = t;
    left = n < 2 ? 0 : n - 1;
    if (n != 0) {
      unsigned const t = others[choose(n, n)];
      memory_.remote_fence(t);
      fenced[t] = true;
      if (tracing_) note(where, "heavy_barrier reaches T", t);
    }
  }
  // Last those that have ended, which makes the fewest promises.
  for (unsigned t = 1; t != count_; ++t)
    if (t != self_ && !fenced[t]) memory_.remote_fence(t);
  memory_.full_fence(self_);
  if (tracing_) note(where, "heavy_barrier");
}

// Frames

void* scheduler::lend(std::size_t size, std::align_val_t alignment) {
  constexpr std::size_t most = std::size_t{1} << 18U;
  if (lent_memory_ == nullptr) lent_memory_ = std::make_unique_for_overwrite<std::byte[]>(most);
  void* place = lent_memory_.get() + lent_;
  std::size_t left = most - lent_;
  if (std::align(static_cast<std::size_t>(alignment), size, place, left) == nullptr)
    fail(verdict::assertion, "the frames of an execution take too much memory");
  lent_ = most - left + size;
  loans_.push_back({place, size, false});
  return place;
}

void scheduler::bury(void const* address, std::size_t size) {
  memory_.destroy_range(self_, address, size);
  for (loan& l : loans_) l.buried = l.buried || l.address == address;
}

// Trace

template<class... Parts>
void scheduler::note(location const& where, Parts const&... parts) {
  std::ostringstream line;
  line << "  T" << self_ << "  ";
  (line << ... << parts);
  std::string text = line.str();
  text.resize(std::max<std::size_t>(text.size(), 48), ' ');
  trace_.push_back(text + "  " + describe(where));
}

} // namespace rubato_test
