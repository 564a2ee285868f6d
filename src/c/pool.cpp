#include "rubato/c/pool.h"

#include "c/access.hpp"
#include "c/owned_pool.hpp"
#include "rubato/pool_options.hpp"
#include "sched/core/pool_core.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

namespace {

/// The caller's options, with defaults for the fields that it does not know.
rb_pool_options whole(rb_pool_options const* given) {
  rb_pool_options all = RB_POOL_OPTIONS_INIT;
  if (given == nullptr) return all;
  if (given->size < offsetof(rb_pool_options, workers) + sizeof given->workers || given->size > sizeof all)
    throw std::invalid_argument("rubato: rb_pool_options::size: use RB_POOL_OPTIONS_INIT");
  std::memcpy(&all, given, given->size);
  all.size = sizeof all;
  return all;
}

owned_pool& owned(rb_pool* pool) noexcept { return static_cast<owned_pool&>(of_c(pool)); }

template<class F>
int with_how(int how, F f) noexcept {
  return without_exceptions([&] {
    if (how == RB_DRAIN)
      f(rubato::drain);
    else if (how == RB_DISCARD)
      f(rubato::discard);
    else
      throw std::invalid_argument("rubato: RB_DRAIN or RB_DISCARD");
  });
}

} // namespace

int rb_pool_new(rb_pool_options const* options, rb_pool** made) noexcept {
  return without_exceptions([&] { *made = to_c(owned_pool::make(whole(options)).release()); });
}

int rb_pool_global(rb_pool** pool) noexcept {
  return without_exceptions([&] {
    static_cast<void>(core_of(rubato::pool::global())); // starts it
    *pool = to_c(&rubato::pool::global());
  });
}

int rb_pool_configure_global(rb_pool_options const* options) noexcept {
  return without_exceptions([&] {
    rb_pool_options const all = whole(options);
    if ((all.flags & ~unsigned{RB_POOL_NO_WORKERS}) != 0)
      throw std::invalid_argument("rubato: the global pool starts its threads when there is work");
    rubato::pool::configure_global(options_of_c(all));
  });
}

int rb_pool_free(rb_pool* pool) noexcept {
  return without_exceptions([&] { owned_pool::destroy(owned(pool)); });
}

int rb_pool_release(rb_pool* pool) noexcept {
  return without_exceptions([&] { owned_pool::destroy_in_background(owned(pool)); });
}

int rb_pool_leave(rb_pool* pool) noexcept {
  return without_exceptions([&] { owned(pool).end_membership(); });
}

int rb_pool_shutdown(rb_pool* pool, int how) noexcept {
  return with_how(how, [pool](auto tag) { of_c(pool).shutdown(tag); });
}

int rb_pool_request_shutdown(rb_pool* pool, int how) noexcept {
  return with_how(how, [pool](auto tag) { of_c(pool).request_shutdown(tag); });
}

int rb_pool_resize(rb_pool* pool, uint32_t workers) noexcept {
  return without_exceptions([&] { of_c(pool).resize(workers); });
}

int rb_pool_wait_idle(rb_pool* pool, int64_t timeout_ns) noexcept {
  bool idle = true;
  int const error = without_exceptions([&] {
    idle =
        timeout_ns < 0 ? of_c(pool).wait_idle() : of_c(pool).wait_idle(std::chrono::nanoseconds(timeout_ns));
  });
  return error != 0 ? error : idle ? 0 : -ETIMEDOUT;
}

uint32_t rb_pool_size(rb_pool const* pool) noexcept { return of_c(pool).size(); }

uint32_t rb_pool_slots(rb_pool const* pool) noexcept { return of_c(pool).slots(); }

int rb_pool_stats(rb_pool const* pool, rb_stats* stats) noexcept {
  return without_exceptions([&] {
    rubato::pool_stats const s = of_c(pool).stats();
    rb_stats const all{sizeof(rb_stats), s.executed, s.spawned,  s.handed, s.taken,     s.stolen, s.parked,
                       s.woken,          s.vacated,  s.relieved, s.timers, s.io_events, s.queued, s.spares};
    size_t const known = std::min(stats->size, sizeof all);
    std::memcpy(stats, &all, known);
    stats->size = known;
  });
}

uint32_t rb_thread_number(rb_thread const* thread) noexcept { return thread_of_c(thread).index; }

void rb_thread_name(rb_thread const* thread, char name[16]) noexcept {
  pool_thread const& t = thread_of_c(thread);
  std::string const wanted =
      thread_registry::name_of(*t.core, t.index); // at most 15 characters, which need no memory
  name[wanted.copy(name, 15)] = '\0';
}

void rb_thread_run(rb_thread* thread) noexcept { thread_registry::run_here(thread_of_c(thread)); }
