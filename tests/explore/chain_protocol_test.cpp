// Forks, taking, asking and waiting under the explorer: every job runs once, and no thread touches a frame
// that has died.
#include "explore/chain_protocol.hpp"

#include "rubato/detail/fork/loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace {

using namespace rubato_test;

struct people {
  std::array<actor, 3> actors;
  actor& a = actors[0];
  actor& b = actors[1];
  actor& c = actors[2];

  explicit people(bool asymmetric)
      : actors{actor(asymmetric), actor(asymmetric), actor(asymmetric)} {}

  /// Each of the jobs 1 ... n has been run once, by one of the three.
  void check(int n) {
    for (int id = 1; id <= n; ++id) {
      std::ptrdiff_t times = 0;
      for (actor const& each : actors) times += std::count(each.ran.begin(), each.ran.end(), id);
      EXPLORE_ASSERT(times == 1);
    }
  }
};

/// One fork and one thief.
template<bool Asymmetric>
void one_take(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] { join(p->a, 1, {}); });
  e.thread([p] { take(p->b, p->a); });
  e.finally([p] { p->check(1); });
}

/// Two forks, one in the other, and a thief that comes back. Jobs leave oldest first.
template<bool Asymmetric>
void two_takes(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] { join(p->a, 1, [p] { join(p->a, 2, {}); }); });
  e.thread([p] {
    take(p->b, p->a);
    take(p->b, p->a);
  });
  e.finally([p] {
    p->check(2);
    if (p->b.ran.size() == 2) EXPLORE_ASSERT(p->b.ran.front() == 1);
  });
}

/// Two forks, one after the other, so that a slot is used again.
template<bool Asymmetric>
void again(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] {
    join(p->a, 1, {});
    join(p->a, 2, {});
  });
  e.thread([p] { take(p->b, p->a); });
  e.finally([p] { p->check(2); });
}

template<bool Asymmetric>
void two_thieves(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] { join(p->a, 1, [p] { join(p->a, 2, {}); }); });
  e.thread([p] { take(p->b, p->a); });
  e.thread([p] { take(p->c, p->a); });
  e.finally([p] { p->check(2); });
}

/// A thief that asks, and takes what it was not given; forks see the request or do not.
template<bool Asymmetric>
void asks(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] { join(p->a, 1, [p] { join(p->a, 2, {}); }); });
  e.thread([p] { ask_then_take(p->b, p->a); });
  e.finally([p] { p->check(2); });
}

/// Two thieves ask, one of them twice with the same steal request.
void two_ask(execution& e) {
  auto const p = std::make_shared<people>(true);
  e.thread([p] { join(p->a, 1, [p] { join(p->a, 2, {}); }); });
  e.thread([p] {
    ask_then_take(p->b, p->a, false);
    ask_then_take(p->b, p->a, false);
  });
  e.thread([p] { ask_then_take(p->c, p->a, false); });
  e.finally([p] { p->check(2); });
}

/// A request that lies there is seen at the next fork, however it crossed with a look.
void request_is_kept(execution& e) {
  auto const p = std::make_shared<people>(true);
  e.thread([p] {
    p->a.forks.serve_request(&p->a);
    p->a.forks.serve_request(&p->a);
  });
  e.thread([p] { EXPLORE_ASSERT(p->a.forks.ask(p->b.box, &p->b, 0, {})); });
  e.finally([p] {
    bool const flag = p->a.forks.must_poll();
    if (p->a.forks.withdraw(p->b.box)) EXPLORE_ASSERT(flag);
  });
}

/// A job takes the token along that was in force at its fork.
void tokens(execution& e) {
  auto const p = std::make_shared<people>(true);
  e.thread([p] {
    join(p->a, 1, [p] {
      rubato::detail::token_frame scope{p.get()};
      p->a.forks.enter(scope);
      join(p->a, 2, {});
      p->a.forks.leave();
    });
  });
  e.thread([p] {
    take(p->b, p->a);
    take(p->b, p->a);
  });
  e.finally([p] { p->check(2); });
}

/// While a waits for 1, which b runs above its own 3, it helps with 2, which 1 has forked, but neither with 3
/// nor with 4, which b forks in the same place afterwards. A third thread may take 3 out of the way.
template<bool Asymmetric, bool Third>
void descendants(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] { join(p->a, 1, {}, [](actor& on) { join(on, 2, {}); }, true); });
  e.thread([p] {
    join(p->b, 3, [p] {
      take(p->b, p->a);
      join(p->b, 4, {});
    });
  });
  if (Third) e.thread([p] { take(p->c, p->b); });
  e.finally([p] {
    p->check(4);
    for (int const id : p->a.ran) EXPLORE_ASSERT(id <= 2);
  });
}

// Loops

/// As loop_root: in the frame of the thread that has called the loop.
struct loop_root {
  static constexpr std::size_t most = 3;
  actor& owner;
  policy::atomic<std::uint32_t> elsewhere{0};
  std::array<policy::plain<int>, most> done;

  explicit loop_root(actor& o)
      : owner(o) {}
};

/// As loop_share, without chunks.
struct loop_share : latent_loop {
  loop_root& root;
  rubato::detail::basic_split_range<policy> range;

  loop_share(loop_root& r, std::uint32_t lo, std::uint32_t hi)
      : latent_loop(&split_off, &r)
      , root(r)
      , range(lo, hi) {}

  static bool split_off(latent_loop& l, rubato::detail::loop_piece& out) noexcept {
    auto& self = static_cast<loop_share&>(l);
    auto const part = self.range.take_back();
    if (part.size() == 0) return false;
    self.root.elsewhere.fetch_add(1, std::memory_order_relaxed);
    out.exec = &run_elsewhere;
    out.root = &self.root;
    out.lo = part.lo;
    out.hi = part.hi;
    return true;
  }
  static void run_elsewhere(rubato::detail::loop_piece const& p, thread_context& runner) {
    auto& r = *static_cast<loop_root*>(p.root);
    run(actor_of(runner), r, p.lo, p.hi);
    actor& owner = r.owner; // read before: the root may be gone
    if (r.elsewhere.fetch_sub(1, std::memory_order_release) == 1) owner.parker.unpark();
  }
  static void run(actor& me, loop_root& r, std::uint32_t lo, std::uint32_t hi) {
    frame<loop_share> const share(r, lo, hi);
    me.forks.push(share.get());
    if (me.forks.must_poll()) me.forks.serve_request(&me);
    for (auto part = share->range.take_front(1); part.size() != 0; part = share->range.take_front(1)) {
      r.done[part.lo].set(r.done[part.lo].get() + 1);
      if (me.forks.must_poll()) me.forks.serve_request(&me);
    }
    pop(me);
  }
};

void finish(actor& me, loop_root& root, actor* helps_with = nullptr) {
  while (root.elsewhere.load(std::memory_order_acquire) != 0) {
    if (helps_with != nullptr && take(me, *helps_with, {.piece_of = &root})) continue;
    me.parker.park();
  }
}

void loop(actor& me, std::uint32_t n, actor* helps_with = nullptr) {
  frame<loop_root> const root(me);
  loop_share::run(me, *root, 0, n);
  finish(me, *root, helps_with);
  for (std::uint32_t i = 0; i != n; ++i) EXPLORE_ASSERT(root->done[i].get() == 1);
}

/// The oldest in the chain is a loop, which stays there when a piece leaves, and a job above it, which can be
/// had when nothing is left of the loop.
template<bool Asymmetric>
void loop_and_thief(execution& e) {
  auto const p = std::make_shared<people>(Asymmetric);
  e.thread([p] { loop(p->a, 2); });
  e.thread([p] {
    take(p->b, p->a);
    take(p->b, p->a);
  });
}
void loop_asked(execution& e) {
  auto const p = std::make_shared<people>(true);
  e.thread([p] { loop(p->a, 2); });
  e.thread([p] { ask_then_take(p->b, p->a); });
}
/// A piece is split again, by a third thread or by the waiting owner.
void loop_split_again(execution& e) {
  auto const p = std::make_shared<people>(true);
  e.thread([p] { loop(p->a, 3, &p->b); });
  e.thread([p] { take(p->b, p->a); });
  e.thread([p] { take(p->c, p->b); });
}
/// A job above a loop that is used up can be had; and a thief that wants pieces of one loop gets none of
/// another.
void job_above_loop(execution& e) {
  auto const p = std::make_shared<people>(true);
  e.thread([p] {
    frame<loop_root> const root(p->a);
    {
      frame<loop_share> const share(*root, 0U, 1U);
      p->a.forks.push(share.get());
      static_cast<void>(share->range.take_front(1));
      join(p->a, 1, {});
      pop(p->a);
    }
    finish(p->a, *root);
  });
  e.thread([p] {
    EXPLORE_ASSERT(!take(p->b, p->a, {.piece_of = p.get()}));
    take(p->b, p->a);
  });
  e.finally([p] { p->check(1); });
}

// Batches

/// As a node of a graph.
struct node : batched_job {
  policy::plain<int> id;
  policy::plain<int> runs{0};

  node(int i, void const* graph)
      : batched_job(&exec_elsewhere, graph)
      , id(i) {}

  void run(actor& on) {
    on.ran.push_back(id.get());
    runs.set(runs.get() + 1);
  }
  static void exec_elsewhere(latent_job& base, thread_context& runner) {
    for (batched_job* n = static_cast<batched_job*>(&base); n != nullptr;) {
      auto& self = static_cast<node&>(*n);
      n = n->newer; // before: the node may be gone when it has run
      EXPLORE_ASSERT(n == nullptr || n->batch.get() == self.batch.get());
      self.run(actor_of(runner));
    }
  }
};

/// The owner makes the nodes ready and runs those that it still has.
template<std::size_t N>
void run_nodes(actor& me, std::array<node, N>& nodes) {
  for (node& n : nodes) {
    me.forks.push(&n);
    if (me.forks.must_poll()) me.forks.serve_request(&me);
  }
  for (std::size_t left = N; left-- != 0;) {
    auto* const newest = static_cast<node*>(me.forks.newest());
    EXPLORE_ASSERT(newest == &nodes[left]);
    if (pop(me)) newest->run(me);
  }
}

struct graph_of_three : people {
  std::array<node, 3> nodes{node(1, this), node(2, this), node(3, this)};
  using people::people;
};

/// Half of the nodes leave at once, the oldest ones.
template<bool Asymmetric>
void batch(execution& e) {
  auto const p = std::make_shared<graph_of_three>(Asymmetric);
  e.thread([p] { run_nodes(p->a, p->nodes); });
  e.thread([p] { take(p->b, p->a); });
  e.finally([p] {
    p->check(3);
    auto const& got = p->b.ran;
    EXPLORE_ASSERT(got.size() <= 2 && (got.empty() || got.front() == 1));
    if (got.size() == 2) EXPLORE_ASSERT(got.back() == 2);
  });
}
void batch_asked(execution& e) {
  auto const p = std::make_shared<graph_of_three>(true);
  e.thread([p] { run_nodes(p->a, p->nodes); });
  e.thread([p] { ask_then_take(p->b, p->a); });
  e.finally([p] { p->check(3); });
}
void batch_and_two_thieves(execution& e) {
  auto const p = std::make_shared<graph_of_three>(true);
  e.thread([p] { run_nodes(p->a, p->nodes); });
  e.thread([p] { take(p->b, p->a); });
  e.thread([p] { take(p->c, p->a); });
  e.finally([p] { p->check(3); });
}
/// As a member of a group: all but one are latent in the thief's chain.
struct passed_on : node {
  passed_on(int i, void const* group)
      : node(i, group) {
    exec.set(&exec_elsewhere);
  }
  static void exec_elsewhere(latent_job& base, thread_context& runner) {
    actor& me = actor_of(runner);
    auto* n = static_cast<node*>(&base);
    std::size_t latent = 0;
    for (; n->newer != nullptr; ++latent) {
      auto* const next = static_cast<node*>(n->newer); // before: from the push on another thread may have it
      me.forks.push(n);
      n = next;
    }
    n->run(me);
    for (; latent != 0; --latent) {
      n = static_cast<node*>(me.forks.newest());
      if (pop(me)) n->run(me);
    }
  }
};
void batch_is_passed_on(execution& e) {
  struct state : people {
    std::array<passed_on, 3> members{passed_on(1, this), passed_on(2, this), passed_on(3, this)};
    using people::people;
  };
  auto const p = std::make_shared<state>(true);
  e.thread([p] {
    for (passed_on& m : p->members) p->a.forks.push(&m);
    for (std::size_t left = 3; left-- != 0;)
      if (pop(p->a)) p->members[left].run(p->a);
  });
  e.thread([p] { take(p->b, p->a); });
  e.thread([p] { take(p->c, p->b); });
  e.finally([p] { p->check(3); });
}
/// In a claimed cell there may be a node of another graph, or another job by then. The thief looks at it, and
/// not after its owner has destroyed it.
template<bool Asymmetric>
void batch_ends(execution& e) {
  struct state : people {
    node first{1, this};
    using people::people;
  };
  auto const p = std::make_shared<state>(Asymmetric);
  e.thread([p] {
    actor& me = p->a;
    me.forks.push(&p->first);
    {
      frame<node> const second(2, nullptr);
      frame<node> const third(3, nullptr);
      me.forks.push(second.get());
      me.forks.push(third.get());
      EXPLORE_ASSERT(pop(me));
      third->run(me);
      EXPLORE_ASSERT(pop(me));
      second->run(me);
    }
    join(me, 4, {});
    if (pop(me)) p->first.run(me);
  });
  e.thread([p] { take(p->b, p->a); });
  e.finally([p] { p->check(4); });
}

// What must not be done

enum class order_of_pop { unlink_then_look, look_then_unlink, look_at_fork };

/// A chain for one job with the owner's two steps in a given order; all else as in the library.
template<order_of_pop Order>
void one_slot(execution& e) {
  struct forked {
    policy::plain<int> runs{0};
    policy::atomic<bool> done{false};
  };
  struct state {
    policy::atomic<forked*> slot{nullptr};
    policy::atomic<int> head{0};
    rubato::detail::basic_mutex<policy> lock;
    int runs = 0;

    bool pop() {
      if (Order == order_of_pop::look_then_unlink) {
        bool const mine = head.load() == 0;
        policy::light_barrier();
        slot.store(nullptr);
        return mine;
      }
      slot.store(nullptr);
      policy::light_barrier();
      return Order == order_of_pop::look_at_fork || head.load() == 0;
    }
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    frame<forked> const f;
    s->slot.store(f.get());
    bool mine = Order != order_of_pop::look_at_fork || s->head.load() == 0;
    mine = s->pop() && mine;
    if (!mine) {
      std::lock_guard const guard(s->lock);
      mine = s->head.load() == 0;
    }
    if (mine) ++s->runs;
    while (!mine && !f->done.load()) policy::pause();
  });
  e.thread([s] {
    forked* f = nullptr;
    {
      std::lock_guard const guard(s->lock);
      if (s->slot.load() == nullptr) return;
      s->head.store(1);
      policy::heavy_barrier();
      f = s->slot.load();
      if (f == nullptr)
        s->head.store(0);
      else
        f->runs.set(1);
    }
    if (f == nullptr) return;
    ++s->runs;
    f->done.store(true);
  });
  e.finally([s] { EXPLORE_ASSERT(s->runs == 1); });
}

// The tests

tests const all{
    {"one_take", one_take<true>},
    {"one_take, fenced", one_take<false>},
    {"two_takes", two_takes<true>},
    {"two_takes, fenced", two_takes<false>},
    {"again", again<true>},
    {"again, fenced", again<false>},
    {"two_thieves", two_thieves<true>},
    {"two_thieves, fenced", two_thieves<false>},
    {"asks", asks<true>},
    {"asks, fenced", asks<false>},
    {"two_ask", two_ask},
    {"request_is_kept", request_is_kept},
    {"tokens", tokens},
    {"descendants", descendants<true, false>},
    {"descendants, fenced", descendants<false, false>},
    {"descendants, three threads", descendants<true, true>},
    {"loop_and_thief", loop_and_thief<true>},
    {"loop_and_thief, fenced", loop_and_thief<false>},
    {"loop_asked", loop_asked},
    {"loop_split_again", loop_split_again},
    {"job_above_loop", job_above_loop},
    {"batch", batch<true>},
    {"batch, fenced", batch<false>},
    {"batch_asked", batch_asked},
    {"batch_and_two_thieves", batch_and_two_thieves},
    {"batch_is_passed_on", batch_is_passed_on},
    {"batch_ends", batch_ends<true>},
    {"batch_ends, fenced", batch_ends<false>},
};

TEST(chain_protocol, runs_every_job_once_and_touches_no_dead_frame) {
  expect_all_pass({.max_executions = 100'000, .random = 5'000}, all);
}
TEST(chain_protocol, must_unlink_before_it_looks) {
  result const right = run({.preemptions = 99}, one_slot<order_of_pop::unlink_then_look>);
  EXPECT_TRUE(right.ok && right.exhausted) << right.message;
  EXPECT_FALSE(run({}, one_slot<order_of_pop::look_then_unlink>).ok);
  EXPECT_FALSE(run({}, one_slot<order_of_pop::look_at_fork>).ok);
}
TEST(chain_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 3'000}, all,
                               {// A waiter for a job asks done() again, which acquires:
                                // parker_protocol_test.cpp has what a wake brings.
                                "parker.hpp", "[failure acquire -> relaxed] await",
                                "[acquire -> relaxed] await",
                                // A hint: what is read at its address has been there since attach().
                                "[acquire -> relaxed] has_latent",
                                // An owner that sees a job gone takes the lock, which orders more.
                                "[release -> relaxed] move_out: head_.store(h + 1"});
}

} // namespace
