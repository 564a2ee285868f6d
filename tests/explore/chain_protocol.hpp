// What tests of the latent chain share: threads with a chain and a parker, and joins that do as join() does,
// the waiting included, but with every access under the explorer.
#pragma once

#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/latent_chain.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sync/parker.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace rubato_test {

using latent_chain = rubato::detail::basic_latent_chain<policy>;
using stolen_job = rubato::detail::basic_stolen_job<policy>;
using latent_job = rubato::detail::basic_latent_job<policy>;
using forked_job = rubato::detail::basic_forked_job<policy>;
using latent_loop = rubato::detail::basic_latent_loop<policy>;
using batched_job = rubato::detail::basic_batched_job<policy>;
using steal_result = rubato::detail::basic_steal_result<policy>;
using steal_request = rubato::detail::basic_steal_request<policy>;
using steal_filter = rubato::detail::basic_steal_filter<policy>;
using rubato::detail::thread_context;

/// A thread's record: a member whose chain is the explorer's.
struct actor : thread_context {
  latent_chain forks;
  rubato::detail::basic_parker<policy> parker;
  steal_request box;
  std::array<latent_chain::cell, 5> slots;
  std::vector<int> ran; ///< the jobs that this thread has run, in order

  explicit actor(bool asymmetric) { forks.attach(slots.data(), slots.size() - 2, asymmetric); }
};

inline actor& actor_of(thread_context& m) { return static_cast<actor&>(m); }

/// A job in its owner's frame, which dies with it. What it reads and writes there is checked for races.
struct job : forked_job {
  using body_type = std::function<void(actor&)>;
  policy::plain<int> argument;
  policy::plain<int> result{0};
  body_type body;    ///< what it does on whatever thread runs it
  void const* token; ///< in force at the fork

  job(int id, body_type b, void const* t)
      : forked_job(&exec_elsewhere)
      , argument(id)
      , body(std::move(b))
      , token(t) {}

  void run(actor& on) {
    on.ran.push_back(argument.get());
    if (body) body(on);
    result.set(argument.get() + 1);
  }
  static void exec_elsewhere(latent_job& base, thread_context& runner) {
    auto& self = static_cast<job&>(base);
    EXPLORE_ASSERT(self.stolen_job.value.runner == &runner);
    EXPLORE_ASSERT(self.stolen_job.value.token == self.token);
    self.run(actor_of(runner));
    actor& owner =
        actor_of(*self.stolen_job.value.owner); // read before: the frame may be gone after finish()
    if (self.stolen_job.value.finish()) owner.parker.unpark();
  }
};

/// As search does with what it has got. False: nothing.
inline bool run(actor& me, steal_result const& l) {
  if (!l) return false;
  if (l.job != nullptr)
    l.job->exec.get()(*l.job, me);
  else
    l.piece.exec(l.piece, me);
  return true;
}

inline bool take(actor& me, actor& victim, steal_filter const& w = {}) {
  return run(me, victim.forks.take(&victim, &me, me.forks.mark(), w));
}

/// Asks, waits for no longer than it takes to look, and takes, as the pool does.
inline bool ask_then_take(actor& me, actor& victim, bool takes = true) {
  if (!victim.forks.ask(me.box, &me, me.forks.mark(), {})) return false;
  steal_result l;
  bool answered = latent_chain::collect(me.box, l);
  if (!answered && !victim.forks.withdraw(me.box)) {
    while (!latent_chain::collect(me.box, l)) policy::pause();
    answered = true;
  }
  return answered ? run(me, l) : takes && take(me, victim);
}

/// Waits for a stolen job, running only what descends from it.
inline void wait_for(actor& me, stolen_job& d, bool helps = false) {
  while (!d.done()) {
    if (helps && take(me, actor_of(*d.runner), {.descends_from = &d})) continue;
    if (d.await())
      while (!d.done()) me.parker.park();
  }
}

inline bool pop(actor& me) {
  bool const mine = me.forks.asymmetric() ? me.forks.pop() : me.forks.pop_fenced();
  return mine || me.forks.pop_slow();
}

/// join(f, g), g being the job's body.
inline void join(actor& me, int id, std::function<void()> const& f, job::body_type g = {},
                 bool helps = false) {
  frame<job> const j(id, std::move(g), me.forks.token());
  me.forks.push(j.get());
  if (me.forks.must_poll()) me.forks.serve_request(&me);
  if (f) f();
  if (pop(me)) {
    j->run(me);
  } else {
    wait_for(me, j->stolen_job.value, helps);
    EXPLORE_ASSERT(j->result.get() == id + 1);
  }
}

} // namespace rubato_test
