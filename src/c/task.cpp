#include "rubato/c/task.h"

#include "c/access.hpp"
#include "pool/call_end.hpp"
#include "rubato/detail/pool/broadcast.hpp"
#include "rubato/detail/sched/run/queuing.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"
#include "sched/run/next_task.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/run/search.hpp"
#include "work/pool_thread.hpp"

#include <cerrno>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <vector>

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

namespace {

task& task_in(rb_task* node) noexcept {
  static_assert(sizeof(task) <= sizeof node->opaque);
  return *::new (static_cast<void*>(node->opaque)) task([](task& base, thread_context* runner) noexcept {
    auto* const self = node_of<rb_task>(base);
    self->run(self, runner != nullptr ? to_c(runner) : nullptr);
  });
}

/// A call that a thread outside waits for, in its frame.
struct awaited_call {
  rb_task node;
  void (*f)(void* arg, rb_worker* worker);
  void* arg;
  call_end end;
  bool was_called = false;

  static void run(rb_task* n, rb_worker* worker) noexcept {
    auto& self = *reinterpret_cast<awaited_call*>(n); // NOLINT: its first member
    if (worker != nullptr) {
      self.f(self.arg, worker);
      self.was_called = true;
    }
    self.end.reach(); // the frame may be gone
  }
};

} // namespace

int rb_enqueue(rb_pool* pool, rb_task* node, int order) noexcept {
  return without_exceptions([&] {
    arrival in(*core_of(of_c(pool)));
    task& t = task_in(node);
    t.holds_capacity = in.give_capacity();
    if (order == RB_QUEUE_LIFO && current->core == &in.core())
      queue_task(in.core(), future_state::any_seat, rubato::priority::normal, t, made_ready_by::task);
    else
      queue(in.core(), &t);
  });
}

int rb_enqueue_on(rb_pool* pool, uint32_t seat, rb_task* node) noexcept {
  return without_exceptions([&] {
    pool_core& core = *core_of(of_c(pool));
    std::uint16_t const where = checked_seat(core, seat);
    arrival in(core);
    task& t = task_in(node);
    t.holds_capacity = in.give_capacity();
    queue_task(core, where, rubato::priority::normal, t, made_ready_by::call);
  });
}

int rb_enqueue_to(rb_pool* pool, uint32_t number, rb_task* node) noexcept {
  return without_exceptions([&] {
    arrival const in(*core_of(of_c(pool)));
    for (pool_thread* const t : threads_to_call(in.core()))
      if (t->index == number) {
        call_on(in.core(), *t, task_in(node));
        return;
      }
    throw std::out_of_range("no thread of the pool has this number");
  });
}

int rb_call(rb_pool* pool, void (*f)(void* arg, rb_worker* worker), void* arg) noexcept {
  int error = without_exceptions([&] {
    if (current->core == core_of(of_c(pool))) {
      f(arg, to_c(current));
      return;
    }
    arrival in(*core_of(of_c(pool)));
    awaited_call call{{{}, &awaited_call::run}, f, arg, call_end(&in.core())};
    task& t = task_in(&call.node);
    t.holds_capacity = in.give_capacity();
    queue(in.core(), &t);
    call.end.wait();
    if (!call.was_called) throw rubato::cancelled();
  });
  return error;
}

int rb_run(rb_pool* pool, void (*f)(void* arg, rb_worker* worker), void* arg) noexcept {
  return without_exceptions([&] { on_pool(&of_c(pool), [&](thread_context& me) { f(arg, to_c(&me)); }); });
}

int rb_broadcast(rb_pool* pool, void (*f)(void* arg, rb_worker* worker), void* arg) noexcept {
  struct call {
    void (*f)(void*, rb_worker*);
    void* arg;
  } c{f, arg};
  return without_exceptions([&] {
    broadcast_to_threads(
        *core_of(of_c(pool)), [](void*, std::size_t) {},
        [](void* it, std::size_t, thread_context& me) {
          static_cast<call*>(it)->f(static_cast<call*>(it)->arg, to_c(&me));
        },
        &c);
  });
}

int rb_spawn_broadcast(rb_pool* pool, rb_task* (*make)(void* arg, uint32_t position, uint32_t threads),
                       void* arg) noexcept {
  return without_exceptions([&] {
    arrival const in(*core_of(of_c(pool)));
    std::vector<pool_thread*> const threads = threads_to_call(in.core());
    auto const n = static_cast<uint32_t>(threads.size());
    for (uint32_t i = 0; i != n; ++i)
      if (rb_task* const node = make(arg, i, n)) call_on(in.core(), *threads[i], task_in(node));
  });
}

int rb_run_one(rb_worker* worker) noexcept {
  thread_context& me = of_c(worker);
  token_frame none{nullptr}; // it does not stop with the task that the caller runs
  me.chain.enter(none);
  pool_thread& t = thread_of(me);
  seat* const s = t.sits_on();
  task* const bound = s != nullptr ? s->inbox.pop() : nullptr; // only this thread can run it
  if (bound != nullptr) run_task(*me.core, t, *bound);
  bool const ran = bound != nullptr || run_one(*me.core, t);
  me.chain.leave();
  return ran ? 1 : 0;
}

int rb_stop_requested(rb_worker* worker) noexcept {
  return current_token(of_c(worker)).stop_requested() ? 1 : 0;
}
