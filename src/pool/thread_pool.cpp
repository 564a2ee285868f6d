// The public face of a pool: everything is forwarded to its core, which is made at first use.
#include "rubato/thread_pool.hpp"

#include "os/cpus/cpus.hpp"
#include "os/die.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/life/lifecycle.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/wait/await_quiescence.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

namespace rubato {

namespace detail {

void lose_core(pool& p, unsigned workers) noexcept {
  p.core_.publish(nullptr); // this thread is alone after fork()
  p.workers_ = workers;
}

pool_core* core_of(pool& p) { return &p.core(); }

pool& pool_or_current(pool* p) {
  if (p != nullptr) return *p;
  return current->core != nullptr ? current->core->handle() : pool::global();
}

pool_core* some_core() { return core_of(pool_or_current(nullptr)); }

bool sleeps(pool* p) noexcept {
  pool_core const* const c = p != nullptr || current->core == nullptr
                                 ? (p != nullptr ? *p : pool::global()).core_.get()
                                 : current->core;
  return c == nullptr || c->idle_threads.wanted() == idle_set::want::worker;
}

void run_as_member(pool* p, void (*body)(void*, thread_context&), void* arg) {
  thread_context& before = *current;
  pool& target = pool_or_current(p);
  if (before.core != nullptr && before.core == core_of(target)) {
    body(arg, before);
    return;
  }
  membership const in = target.join_as_member();
  noted_activity const runs(activity::member, arg, trace_word(body));
  body(arg, *current);
}

} // namespace detail

unsigned usable_cpus() { return os::usable_cpus(); }

pool* current_pool() noexcept {
  return detail::current->core != nullptr ? &detail::current->core->handle() : nullptr;
}

pool::pool(unsigned workers)
    : workers_(std::min(detail::at_least_one_worker(workers), by_machine - 1)) {
  static_cast<void>(core());
}

pool::pool(pool_options options)
    : workers_(workers_of(options))
    , options_(std::make_shared<pool_options const>(std::move(options))) {
  static_cast<void>(core());
}

/// ~0U, which may come from a -1, is a number as any other that start() refuses.
unsigned pool::workers_of(pool_options const& options) noexcept {
  if (options.workers_) return std::min(*options.workers_, by_machine - 1);
  return options.cpus_.empty() ? by_machine : static_cast<unsigned>(options.cpus_.size());
}

pool::~pool() {
  // acquire: pairs with the release in start().
  if (detail::pool_core* c = core_.get()) {
    static_cast<void>(detail::lifecycle(*c).shutdown(detail::ending::drain, true));
    delete c;
  }
}

detail::pool_core& pool::start() const {
  for (;;) {
    std::shared_ptr<pool_options const> chosen;
    {
      detail::lock_guard const guard(detail::start_mutex);
      chosen = options_;
    }
    // Copies callbacks: without the lock.
    if (detail::pool_core* const c = start_with(chosen, chosen != nullptr ? *chosen : pool_options()))
      return *c;
  }
}

/// `options`: a copy of the chosen ones. Null: others have been chosen meanwhile.
detail::pool_core* pool::start_with(std::shared_ptr<pool_options const> const& chosen,
                                    pool_options options) const {
  std::unique_ptr<detail::pool_core> made; // one that cannot be started ends without the lock
  detail::lock_guard const guard(detail::start_mutex);
  if (detail::pool_core* const c = core_.own()) return c;
  if (options_ != chosen) return nullptr;
  auto& self = const_cast<pool&>(*this); // NOLINT(cppcoreguidelines-pro-type-const-cast): made at first use
  made = std::make_unique<detail::pool_core>(self, std::move(options));
  detail::lifecycle(*made).start(workers_ == by_machine ? usable_cpus() : workers_);
  if (immortal_) {
    static bool const registered = (std::atexit([] { global().end_of_program(); }), true);
    static_cast<void>(registered);
  }
  self.core_.publish(made.get());
  return made.release();
}

pool& pool::global() {
  union never_destroyed {
    pool p;
    constexpr never_destroyed() noexcept
        : p(immortal()) {}
    ~never_destroyed() {} // NOLINT(modernize-use-equals-default): the pool outlives every static object
  };
  static constinit never_destroyed storage;
  return storage.p;
}

void pool::configure_global(pool_options options) {
  unsigned const workers = workers_of(options);
  detail::pool_core::check(options);
  detail::lifecycle::check_workers(workers == by_machine ? 1 : workers);
  auto chosen = std::make_shared<pool_options const>(std::move(options));
  pool& it = global();
  detail::lock_guard const guard(detail::start_mutex);
  if (it.core_.own() != nullptr)
    throw std::logic_error("rubato: configure_global(): the global pool has been used already; a program "
                           "configures it before its first spawn, loop or join");
  it.options_.swap(chosen); // those of an earlier call end without the lock
  it.workers_ = workers;
}

void pool::end_of_program() {
  detail::pool_core* const c = core_.get();
  if (c == nullptr) return;
  c->life.program_ends();
  // A task has called exit(): to wait for that task would be to wait for itself.
  if (detail::is_member(*c))
    detail::lifecycle(*c).request_shutdown(detail::ending::discard);
  else
    static_cast<void>(detail::lifecycle(*c).shutdown(detail::ending::drain, false));
}

unsigned pool::resize(unsigned workers) { return detail::lifecycle(core()).resize(workers); }
unsigned pool::size() const { return core().size(); }
unsigned pool::slots() const { return core().threads.records.slots(); }
std::size_t pool::pending() const { return core().queues.size(); }

void pool::shutdown(drain_t /*how*/) {
  static_cast<void>(detail::lifecycle(core()).shutdown(detail::ending::drain, false));
}
void pool::shutdown(discard_t /*how*/) {
  static_cast<void>(detail::lifecycle(core()).shutdown(detail::ending::discard, false));
}
bool pool::shutdown_until(std::chrono::steady_clock::time_point discard_at) {
  return detail::lifecycle(core()).shutdown(detail::ending::drain, false, discard_at);
}
void pool::request_shutdown(drain_t /*how*/) {
  detail::lifecycle(core()).request_shutdown(detail::ending::drain);
}
void pool::request_shutdown(discard_t /*how*/) {
  detail::lifecycle(core()).request_shutdown(detail::ending::discard);
}

bool pool::wait_idle() {
  return detail::await_quiescence(core(), std::chrono::steady_clock::time_point::max());
}
bool pool::wait_idle_until(std::chrono::steady_clock::time_point deadline) {
  return detail::await_quiescence(core(), deadline);
}

pool_stats pool::stats() const { return core().stats(); }
std::uint64_t pool::steal_count() const {
  pool_stats const s = stats();
  return s.handed + s.taken + s.stolen;
}

membership::membership(pool& p, bool as_worker)
    : previous_(detail::current)
    , mine_(previous_) {
  detail::pool_core& core = *detail::core_of(p);
  if (previous_->core == &core) return;
  detail::pool_thread* const mine = core.threads.enter(as_worker);
  mine->outer = previous_;
  detail::current = mine_ = mine;
  detail::note<detail::event_kind::begin>(mine_, 0, static_cast<unsigned char>(detail::activity::member));
}

membership::~membership() {
  if (mine_ == previous_) return;
  if (detail::current == &detail::outside) return; // in the child after fork(): there is no pool to leave
  if (detail::current != mine_)
    os::die("a membership ended on another thread, or before one that began later");
  if (detail::pool_thread& me = detail::thread_of(*mine_); me.counts_as_worker) {
    me.core->threads.end_calls(me);
    static_cast<void>(detail::run_own_calls(*me.core, me)); // a thread may wait for them
  }
  detail::current = previous_;
  detail::note<detail::event_kind::end>(mine_, 0, static_cast<unsigned char>(detail::activity::member));
  mine_->core->threads.leave(detail::thread_of(*mine_));
}

membership pool::join_as_member() { return membership(*this); }

} // namespace rubato
