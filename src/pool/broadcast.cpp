#include "rubato/detail/pool/broadcast.hpp"

#include "pool/call_end.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/thread_registry.hpp"
#include "sched/run/own_calls.hpp"
#include "sched/wait/park.hpp"
#include "work/task_queues.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

namespace rubato::detail {

namespace {

struct call_state {
  void (*body)(void*, std::size_t, thread_context&);
  void* arg;
  countdown<std::size_t> left;
  pool_thread* waiter;
};

/// In the inbox of its seat, and in the caller's list; the last of the two owners frees it.
struct seat_call final : task {
  call_state* state;   // gone once the call has run
  pool_thread* waiter; // the record outlives both
  std::size_t seat_index;
  bool kept = false; // by the caller, which runs it
  flag begun;
  flag dropped; ///< by a shutdown: the waiter is to run it
  references owners{2};

  seat_call(call_state& s, std::size_t i) noexcept
      : task(&run_or_drop)
      , state(&s)
      , waiter(s.waiter)
      , seat_index(i) {}

  /// True: the caller is to run it.
  [[nodiscard]] bool claim() noexcept { return begun.try_raise(); }

  void run(pool_thread& t) noexcept {
    state->body(state->arg, seat_index, t);
    pool_thread* const w = waiter; // read first: the caller may return after the last call
    if (state->left.arrive()) w->parker.unpark();
  }

  static void run_or_drop(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<seat_call&>(base);
    if (runner != nullptr) {
      if (self.claim()) self.run(thread_of(*runner));
    } else if (!self.begun.is_raised()) {
      self.dropped.raise();
      self.waiter->parker.unpark();
    }
    self.unref();
  }
  void unref() noexcept {
    if (owners.release()) delete this;
  }
};

using call_list = std::vector<std::unique_ptr<seat_call>>;

/// One for each seat, in its inbox.
call_list queue_calls(pool_core& core, call_state& state, void (*prepare)(void*, std::size_t)) {
  // A worker makes the call for its own seat before it waits and leaves the seat. A guest leaves its seat to
  // a worker, which makes that seat's call.
  pool_thread const& me = *state.waiter;
  seat const* const own = me.worker.load(std::memory_order_relaxed) ? me.sits_on() : nullptr;
  call_list calls;
  auto const held = life_of(core).hold(); // a snapshot: no seat opens or closes meanwhile
  std::size_t const n = size_of(core);
  prepare(state.arg, n);
  calls.reserve(n);
  for (std::size_t i = 0; i != n; ++i) calls.push_back(std::make_unique<seat_call>(state, i));
  state.left.add(n);
  for (std::size_t i = 0; i != n; ++i)
    if (own != nullptr && own->index == i)
      calls[i]->kept = true;
    else
      queue_task(core, static_cast<std::uint16_t>(i), priority::normal, *calls[i]);
  return calls;
}

void broadcast(pool_core& core, void (*prepare)(void*, std::size_t),
               void (*body)(void*, std::size_t, thread_context&), void* arg) {
  pool_thread& me = thread_of(*current);
  call_state state{body, arg, countdown<std::size_t>(), &me};
  call_list calls = queue_calls(core, state, prepare);
  if (calls.empty()) return;
  // The waiter first makes the call for its own seat.
  for (auto const& c : calls) {
    if (!c->kept) continue;
    if (c->claim()) c->run(me);
    c->unref(); // it is in no inbox
  }
  auto const stranded = [&](seat_call const& c) {
    // No thread sits there and none can be called: only the waiter is left to run it.
    // relaxed: the record is not followed, and no_thread_to_call() takes the lock under which a seat is left.
    return !c.begun.is_raised() &&
           (c.dropped.is_raised() || (queues_of(core)
                                              .seat_at(static_cast<unsigned>(c.seat_index))
                                              .occupant.load(std::memory_order_relaxed) == nullptr &&
                                      threads_of(core).no_thread_to_call()));
  };
  auto const ended = [&] { return state.left.is_over(); };
  while (!ended()) {
    park_until(me, "broadcast", nullptr, [&] {
      return ended() || std::any_of(calls.begin(), calls.end(), [&](auto const& c) { return stranded(*c); });
    });
    for (auto const& c : calls)
      if (!ended() && stranded(*c) && c->claim()) c->run(me);
  }
  for (auto& c : calls) c.release()->unref();
}

} // namespace

void broadcast_erased(pool_core& c, void (*prepare)(void*, std::size_t seats),
                      void (*body)(void*, std::size_t seat, thread_context&), void* arg) {
  on_pool(&handle_of(c), [&](thread_context&) { broadcast(c, prepare, body, arg); });
}

namespace {

struct thread_calls {
  void (*body)(void*, std::size_t, thread_context&);
  void* arg;
  call_end end{};
  countdown<std::size_t> left{0};
  flag dropped{};
};

/// In the list of its thread.
struct thread_call final : task {
  thread_calls* all;
  std::size_t position;

  thread_call(thread_calls& a, std::size_t i) noexcept
      : task(&run_or_drop)
      , all(&a)
      , position(i) {}

  static void run_or_drop(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<thread_call&>(base);
    thread_calls& all = *self.all;
    if (runner != nullptr)
      all.body(all.arg, self.position, *runner);
    else
      all.dropped.raise();
    if (all.left.arrive()) all.end.reach(); // the last touch: the caller's frame may be gone
  }
};

} // namespace

void broadcast_to_threads(pool_core& c, void (*prepare)(void*, std::size_t),
                          void (*body)(void*, std::size_t, thread_context&), void* arg) {
  arrival const in(c, arriving::unlimited);
  std::vector<pool_thread*> const threads = threads_to_call(c);
  prepare(arg, threads.size());
  if (threads.empty()) return;
  thread_calls all{.body = body, .arg = arg};
  std::deque<thread_call> calls; // they do not move
  for (std::size_t i = 0; i != threads.size(); ++i) calls.emplace_back(all, i);
  all.left.add(threads.size());
  task* own = nullptr;
  for (std::size_t i = 0; i != threads.size(); ++i)
    if (threads[i] == current)
      own = &calls[i];
    else
      call_on(c, *threads[i], calls[i]);
  if (own != nullptr) own->exec(*own, current);
  all.end.wait();
  if (all.dropped.is_raised()) throw cancelled();
}

} // namespace rubato::detail
