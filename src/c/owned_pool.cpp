#include "c/owned_pool.hpp"

#include "os/thread.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"

#include <chrono>
#include <system_error>
#include <utility>

namespace rubato::detail {

struct options_access {
  static void set_host(pool_options& o, thread_host const& host) noexcept { o.host_ = host; }
};

namespace {

/// Calls release(arg) at its end.
struct releasing {
  void (*release)(void*);
  void* arg;
  ~releasing() {
    if (release != nullptr) release(arg);
  }
};

[[noreturn]] void refuse(std::errc why, char const* text) {
  throw std::system_error(std::make_error_code(why), text);
}

} // namespace

pool_options options_of_c(rb_pool_options const& c) {
  pool_options all;
  if ((c.flags & ~unsigned{RB_POOL_NO_WORKERS | RB_POOL_START_ALL | RB_POOL_JOINS_CALLER}) != 0)
    refuse(std::errc::invalid_argument, "rubato: unknown flags of rb_pool_options");
  if ((c.flags & (RB_POOL_NO_WORKERS | RB_POOL_JOINS_CALLER)) != 0)
    all.workers(no_workers); // join_caller() has its turn before the first thread
  else if (c.workers != 0)
    all.workers(c.workers);
  all.spares(c.spares).stack_size(c.stack_size);
  if (c.max_queued != 0) all.max_queued(c.max_queued);
  if (c.search_ns >= 0) all.search_time(std::chrono::nanoseconds(c.search_ns));
  if (c.name != nullptr) all.name(c.name);
  if (c.on_start != nullptr) all.on_start([f = c.on_start, arg = c.arg](unsigned n) { f(arg, n); });
  if (c.on_exit != nullptr) all.on_exit([f = c.on_exit, arg = c.arg](unsigned n) { f(arg, n); });
  if (c.make_thread != nullptr) options_access::set_host(all, {c.make_thread, c.arg});
  return all;
}

owned_pool::owned_pool(rb_pool_options const& options)
    : pool(options_of_c(options)) {}

std::unique_ptr<owned_pool> owned_pool::make(rb_pool_options const& options) {
  releasing at_failure{options.release, options.arg};        // ends after the pool
  std::unique_ptr<owned_pool> made(new owned_pool(options)); // the constructor is private
  if ((options.flags & RB_POOL_JOINS_CALLER) != 0) made->join_caller(options.workers);
  if (thread_registry& threads = core_of(*made)->threads;
      (options.flags & RB_POOL_START_ALL) != 0 && !threads.start_missing())
    threads.throw_refusal();
  made->release_ = std::exchange(at_failure.release, nullptr);
  made->arg_ = options.arg;
  return made;
}

void owned_pool::join_caller(unsigned workers) {
  joined_.reset(new membership(*this, true));
  resize(workers != 0 ? workers : usable_cpus());
  pool_core& core = *core_of(*this);
  pool_thread& me = thread_of(*current);
  left_seat left(core); // there were no seats when it came
  left.vacate(me, leaving::to_wait);
  static_cast<void>(core.idle_threads.sit(me, nullptr, true));
}

void owned_pool::end_membership() {
  if (joined_ == nullptr) return;
  if (was_left_behind(joined_->mine_->core)) { // in the child after fork(): there is no pool to leave
    static_cast<void>(joined_.release());      // its record is the parent's
    return;
  }
  if (joined_->mine_ != current)
    refuse(std::errc::operation_not_permitted,
           "rubato: the thread that made the pool is its worker, and leaves it itself");
  if (pool_thread const& me = thread_of(*joined_->mine_);
      !me.chain.is_at_base() || me.waits_since.get() != 0) // it would go on in a pool that may be gone
    refuse(std::errc::resource_deadlock_would_occur,
           "rubato: the thread that made the pool leaves it after the task that it runs, not in it");
  joined_.reset();
}

void owned_pool::destroy(owned_pool& p) {
  p.end_membership();
  if (is_member(*core_of(p)))
    refuse(std::errc::resource_deadlock_would_occur,
           "rubato: a task cannot free its own pool: rb_pool_release()");
  releasing const at_end{p.release_, p.arg_};
  delete &p;
}

void owned_pool::destroy_in_background(owned_pool& p) {
  p.end_membership();
  os::thread ends({.name = "rubato/end"}, [](void* arg) { destroy(*static_cast<owned_pool*>(arg)); }, &p);
  ends.detach();
}

} // namespace rubato::detail
