// Fork and join for C: the fast path is that of detail/fork/join_operator.hpp.
#include "rubato/c/join.h"

#include "c/access.hpp"
#include "c/job.hpp"
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

  second_half(rb_half call, void* a) noexcept
      : forked_job(&run_elsewhere)
      , f(call)
      , arg(a) {}

  static void run_elsewhere(latent_job& base, thread_context& runner) {
    run_stolen(base, runner, [](latent_job& job, thread_context& me) {
      auto& self = static_cast<second_half&>(job);
      static_cast<void>(self.f(self.arg, to_c(&me), 1));
    });
  }
};

/// The owner has the second half.
[[gnu::always_inline]] inline int call_second(rb_worker* worker, second_half const& job,
                                              int failed) noexcept {
  if (failed != 0) return RB_JOIN_SKIPPED;
  static_cast<void>(job.f(job.arg, worker, 0));
  return 0;
}

/// After pop() was false.
[[gnu::noinline, gnu::cold]] int settle(rb_worker* worker, second_half& job, int failed) noexcept {
  thread_context& me = of_c(worker);
  if (me.chain.pop_slow()) return call_second(worker, job, failed);
  wait_for(me, job.stolen_job.value);
  return 0;
}

/// Another thread requests work, the chain is full, or there is no asymmetric barrier.
[[gnu::noinline, gnu::cold]] int join_slow(rb_worker* worker, rb_half a, void* a_arg, rb_half b,
                                           void* b_arg) noexcept {
  thread_context& me = of_c(worker);
  second_half job(b, b_arg);
  if (me.chain.full()) return call_second(worker, job, a(a_arg, worker, 0));
  me.chain.push(&job);
  poll_requests(me);
  int const failed = a(a_arg, worker, 0);
  if (me.chain.asymmetric() ? me.chain.pop() : me.chain.pop_fenced()) return call_second(worker, job, failed);
  return settle(worker, job, failed);
}

} // namespace

int rb_join(rb_worker* worker, rb_half a, void* a_arg, rb_half b, void* b_arg) noexcept {
  latent_chain& chain = of_c(worker).chain;
  if (chain.must_poll()) [[unlikely]]
    return join_slow(worker, a, a_arg, b, b_arg);
  second_half job(b, b_arg);
  auto* const place = chain.push(&job);
  int const failed = a(a_arg, worker, 0);
  if (chain.pop(place)) [[likely]]
    return call_second(worker, job, failed);
  return settle(worker, job, failed);
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
  thread_context& me = of_c(worker);
  if (me.chain.pop_settled()) return 1;
  wait_for(me, kept_in<forked_job>(job).stolen_job.value);
  return 0;
}

void rb_notify(rb_worker* worker) noexcept { notify_of_latent(of_c(worker)); }

int rb_for_range(rb_pool* pool, uint64_t n, uint64_t min_chunk,
                 void (*f)(void* arg, rb_worker* worker, uint64_t lo, uint64_t hi), void* arg) noexcept {
  return without_exceptions([&] {
    for_long_chunks(pool != nullptr ? &of_c(pool) : nullptr, n, std::max(min_chunk, uint64_t{1}),
                    [f, arg](thread_context& me, uint64_t lo, uint64_t hi) { f(arg, to_c(&me), lo, hi); });
  });
}
