// Fork and join for C: the fast path is that of detail/fork/join_operator.hpp.
#include "rubato/c/join.h"

#include "c/access.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/sync/latent_job.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

namespace {

/// The second half of a join, in the caller's frame.
struct second_half : forked_job {
  rb_half const f;
  void* const arg;
  int result = 0;

  second_half(rb_half call, void* a) noexcept
      : forked_job(&run_elsewhere)
      , f(call)
      , arg(a) {}

  static void run_elsewhere(latent_job& base, thread_context& runner) {
    run_stolen(base, runner, [](latent_job& job, thread_context& me) {
      auto& self = static_cast<second_half&>(job);
      self.result = self.f(self.arg, to_c(&me), 1);
    });
  }
};

/// Without a free cell: one half after the other.
int call_both(rb_worker* worker, rb_half a, void* a_arg, rb_half b, void* b_arg) noexcept {
  if (a(a_arg, worker, 0) != 0) return RB_JOIN_SKIPPED;
  static_cast<void>(b(b_arg, worker, 0));
  return 0;
}

void run_job_elsewhere(latent_job& base, thread_context& runner) {
  run_stolen(base, runner, [](latent_job& job, thread_context& me) {
    auto* const node = node_of<rb_job>(job);
    node->run(node, to_c(&me));
  });
}

[[nodiscard]] bool take_back(thread_context& me, stolen_job& stolen) noexcept {
  if (me.chain.pop_settled()) return true;
  wait_for(me, stolen);
  return false;
}

} // namespace

int rb_join(rb_worker* worker, rb_half a, void* a_arg, rb_half b, void* b_arg) noexcept {
  thread_context& me = of_c(worker);
  bool const polls = me.chain.must_poll();
  if (polls && me.chain.full()) [[unlikely]]
    return call_both(worker, a, a_arg, b, b_arg);
  second_half job(b, b_arg);
  auto* const place = me.chain.push(&job);
  if (polls) [[unlikely]]
    poll_requests(me);
  bool const failed = a(a_arg, worker, 0) != 0;
  if (me.chain.asymmetric() ? me.chain.pop(place) : me.chain.pop_fenced()) [[likely]] {
    if (failed) return RB_JOIN_SKIPPED;
    static_cast<void>(job.f(job.arg, worker, 0));
    return 0;
  }
  if (me.chain.pop_slow()) {
    if (failed) return RB_JOIN_SKIPPED;
    static_cast<void>(job.f(job.arg, worker, 0));
  } else {
    wait_for(me, job.stolen_job.value);
  }
  return 0;
}

int rb_push(rb_worker* worker, rb_job* job) noexcept {
  thread_context& me = of_c(worker);
  bool const polls = me.chain.must_poll();
  if (polls && me.chain.full()) return -EAGAIN;
  static_assert(sizeof(forked_job) <= sizeof job->opaque);
  me.chain.push(::new (static_cast<void*>(job->opaque)) forked_job(&run_job_elsewhere));
  if (polls) poll_requests(me);
  return 0;
}

int rb_pop(rb_worker* worker, rb_job* job) noexcept {
  return take_back(of_c(worker), kept_in<forked_job>(job).stolen_job.value) ? 1 : 0;
}

int rb_for_range(rb_pool* pool, uint64_t n, uint64_t min_chunk,
                 void (*f)(void* arg, rb_worker* worker, uint64_t lo, uint64_t hi), void* arg) noexcept {
  return without_exceptions([&] {
    for_long_chunks(pool != nullptr ? &of_c(pool) : nullptr, n, std::max(min_chunk, uint64_t{1}),
                    [f, arg](thread_context& me, uint64_t lo, uint64_t hi) { f(arg, to_c(&me), lo, hi); });
  });
}
