// The suspension of a coroutine under the explorer: for each wait it goes on once, with the result or
// stopped, and no thread touches its frame afterwards.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/sync/completion.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"
#include "rubato/detail/sync/suspension.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using suspension = rubato::detail::basic_suspension<policy>;

/// What a mutant leaves out or swaps.
enum class mutant {
  none,
  writes_late, ///< the coroutine is suspended, then writes what its resumption reads
  looks_early, ///< it looks for a stop before it inserts
  ends_twice,  ///< the stop does not ask whether it took the operation out
  no_retire,   ///< the coroutine goes on while the stop request is still in its frame
};

/// The lists in which an operation waits: a word, as that of a future, and a list under a lock, as those of
/// locks and channels.
struct word_list {
  using list = rubato::detail::basic_completion<policy>;
  list waiters;
  bool add(list::waiter& w) { return waiters.add(w); }
  bool remove(list::waiter& w) { return waiters.remove(w); }
  /// Calls f with each waiter.
  template<class F>
  void close(F f) {
    for (auto* w = waiters.close(); w != nullptr;) {
      auto* const next = w->next;
      f(*w);
      w = next;
    }
  }
  struct node : list::waiter {};
};
struct locked_list {
  struct node {};
  rubato::detail::basic_mutex<policy> lock;
  policy::plain<node*> first{nullptr};
  policy::plain<bool> closed{false};
  bool add(node& n) {
    std::lock_guard const guard(lock);
    if (!closed.get()) first.set(&n);
    return !closed.get();
  }
  bool remove(node& n) {
    std::lock_guard const guard(lock);
    bool const found = first.get() == &n;
    if (found) first.set(nullptr);
    return found;
  }
  template<class F>
  void close(F f) {
    node* n = nullptr;
    {
      std::lock_guard const guard(lock);
      closed.set(true);
      n = first.get();
      first.set(nullptr);
    }
    if (n != nullptr) f(*n);
  }
  /// Calls the waiter, if there is one, without a result: it inserts its operation again.
  template<class F>
  void call(F f) {
    node* n = nullptr;
    {
      std::lock_guard const guard(lock);
      n = first.get();
      first.set(nullptr);
    }
    if (n != nullptr) f(*n);
  }
};

/// The shards of the timers, in which a sleep waits: remove() asks without the lock whether the operation was
/// ever inserted, as basic_timer_shards::disarm() does.
struct timer_list : locked_list {
  struct node : locked_list::node {
    policy::atomic<bool> was_armed{false};
  };
  bool add(node& n) {
    std::lock_guard const guard(lock);
    n.was_armed.store(true, std::memory_order_seq_cst);
    if (!closed.get()) first.set(&n);
    return !closed.get();
  }
  bool remove(node& n) { return n.was_armed.load(std::memory_order_seq_cst) && locked_list::remove(n); }
};

/// The call of a stop listener, as in a stop scope: retire() waits until it has ended, unless it is made by
/// the thread that retires.
struct listener {
  enum : int { listed, called, out };
  policy::atomic<int> state{listed};
};

template<class List, mutant Mutant>
struct world;

/// A wait operation, in the coroutine's frame.
template<class List, mutant Mutant>
struct operation : List::node {
  suspension state;
  world<List, Mutant>& in;
  explicit operation(world<List, Mutant>& w)
      : in(w) {}
  auto remover() {
    return [this] { return in.list.remove(*this); };
  }
};

template<class List, mutant Mutant>
struct world {
  using wait = operation<List, Mutant>;
  List list;
  policy::plain<int> result{0};
  listener stop;
  // The coroutine task.
  policy::plain<int> leaf{0};
  rubato::detail::basic_pinned_ptr<policy, wait> waits_on;
  policy::plain<int> gone_on{0};
  policy::plain<bool> stopped{false};
  policy::plain<bool> withdrawn{false};
  std::unique_ptr<rubato_test::frame<wait>> frame;
  bool may_retry = false; ///< the operation can be called without a result
  bool stops = false;     ///< a thread requests a stop

  void begin() { frame = std::make_unique<rubato_test::frame<wait>>(*this); }

  /// As wait_operation::suspend() does, up to the resumption by this thread.
  void suspend() {
    wait& w = **frame;
    if (Mutant != mutant::writes_late) leaf.set(1);
    waits_on.set(w);
    if (!list.add(w) || (!settle(w) && !wait_again(w))) go_on(false);
    if (Mutant == mutant::writes_late) leaf.set(1);
  }
  bool settle(wait& w) {
    if constexpr (Mutant == mutant::looks_early)
      return w.state.settle([] { return false; });
    else
      return w.state.settle(w.remover());
  }
  /// As wait_operation::wait_again() does.
  bool wait_again(wait& w) {
    while (may_retry && !w.state.was_stopped()) {
      w.state.start_again();
      if (!list.add(w)) return false;
      if (settle(w)) return true;
    }
    return false;
  }
  /// As coroutine_task::resume() does, and then the coroutine.
  void resume(bool in_stop) {
    if (wait_again(*waits_on.get())) return;
    go_on(in_stop);
  }
  void go_on(bool in_stop) {
    EXPLORE_ASSERT(frame != nullptr && leaf.get() == 1);
    static_cast<void>(waits_on.clear());
    if (Mutant != mutant::no_retire) retire(in_stop);
    gone_on.set(gone_on.get() + 1);
    stopped.set((*frame)->state.was_stopped());
    if (!stopped.get()) EXPLORE_ASSERT(result.get() == 7);
    frame.reset();
  }
  void retire(bool in_stop) {
    if (!stops) return;
    int expected = listener::listed;
    if (stop.state.compare_exchange_strong(expected, listener::out) || in_stop) return;
    while (stop.state.load(std::memory_order_acquire) != listener::out) policy::pause();
  }

  void end(wait& w) {
    if (w.state.end()) resume(false);
  }
  void complete() {
    result.set(7);
    list.close([this](auto& n) { end(static_cast<wait&>(n)); });
  }
  void request_stop() {
    int expected = listener::listed;
    if (!stop.state.compare_exchange_strong(expected, listener::called)) return;
    EXPLORE_ASSERT(frame != nullptr);
    wait& w = **frame;
    bool const resumes = Mutant == mutant::ends_twice ? w.state.stop([&w] {
      static_cast<void>(w.in.list.remove(w));
      return true;
    })
                                                      : w.state.stop(w.remover());
    if (resumes)
      resume(true);
    else
      stop.state.store(listener::out, std::memory_order_release);
  }
  /// As owned_tasks::withdraw_stuck() and coroutine_task::destroy() do.
  void break_off() {
    bool const took = waits_on.use([](wait& w) { return w.state.withdraw(w.remover()); });
    if (!took) return;
    EXPLORE_ASSERT(leaf.get() == 1);
    static_cast<void>(waits_on.clear());
    retire(false);
    withdrawn.set(true);
    frame.reset();
  }
  void check() { EXPLORE_ASSERT(gone_on.get() + (withdrawn.get() ? 1 : 0) == 1 && frame == nullptr); }
};

template<class List, mutant Mutant = mutant::none>
auto make(execution& e, bool stops) {
  auto const w = std::make_shared<world<List, Mutant>>();
  w->stops = stops;
  w->begin();
  e.thread([w] { w->suspend(); });
  return w;
}

/// The result comes before, while and after the coroutine is suspended.
template<class List, mutant Mutant = mutant::none>
void completed(execution& e) {
  auto const w = make<List, Mutant>(e, false);
  e.thread([w] { w->complete(); });
  e.finally([w] { w->check(); });
}
/// No result comes: a stop request ends the wait.
template<class List, mutant Mutant = mutant::none>
void stopped(execution& e) {
  auto const w = make<List, Mutant>(e, true);
  e.thread([w] { w->request_stop(); });
  e.finally([w] {
    w->check();
    EXPLORE_ASSERT(w->stopped.get());
  });
}
/// Both, at the same time.
template<class List, mutant Mutant = mutant::none>
void completed_or_stopped(execution& e) {
  auto const w = make<List, Mutant>(e, true);
  e.thread([w] { w->complete(); });
  e.thread([w] { w->request_stop(); });
  e.finally([w] { w->check(); });
}
/// The coroutine is called without a result, and waits again.
void called(execution& e) {
  auto const w = make<locked_list>(e, true);
  w->may_retry = true;
  e.thread([w] {
    w->list.call([&w](auto& n) { w->end(static_cast<world<locked_list, mutant::none>::wait&>(n)); });
  });
  e.thread([w] { w->request_stop(); });
  e.finally([w] { w->check(); });
}
/// The pool ends: a thread destroys the coroutine, or another completes its wait.
template<class List>
void broken_off(execution& e) {
  auto const w = make<List>(e, false);
  e.thread([w] { w->break_off(); });
  e.thread([w] { w->complete(); });
  e.finally([w] { w->check(); });
}

tests const all{completed<word_list>,
                completed<locked_list>,
                stopped<word_list>,
                stopped<locked_list>,
                stopped<timer_list>,
                completed_or_stopped<word_list>,
                completed_or_stopped<locked_list>,
                completed_or_stopped<timer_list>,
                called,
                broken_off<word_list>,
                broken_off<locked_list>,
                broken_off<timer_list>};

TEST(suspension_protocol, lets_the_coroutine_go_on_once) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(suspension_protocol, regression_a_stop_finds_an_arming_sleep) {
  expect_all_pass({.max_executions = 100'000}, {stopped<timer_list>});
}
TEST(suspension_protocol, needs_every_step) {
  EXPECT_FALSE(run({}, completed<word_list, mutant::writes_late>).ok);
  EXPECT_EQ(run({}, stopped<locked_list, mutant::looks_early>).what, verdict::assertion);
  EXPECT_FALSE(run({}, completed_or_stopped<word_list, mutant::ends_twice>).ok);
  EXPECT_FALSE(run({}, completed_or_stopped<locked_list, mutant::no_retire>).ok);
}
TEST(suspension_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "suspension.hpp"}, all);
}

} // namespace
