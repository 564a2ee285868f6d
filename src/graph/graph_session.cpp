#include "graph/graph_session.hpp"

#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "work/pool_thread.hpp"

#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t worth_a_wake_us = 10;

/// While a session runs on a thread of the pool: its token, and the floating-point modes of its run.
class session_frame {
  fp_modes_in_force const modes_;
  token_in_force const token_;
  pool_thread& thread_;
  char const* const outer_node_;

public:
  session_frame(thread_context& me, graph_run& r) noexcept
      : modes_(r.modes())
      , token_(me.chain, &r.stop())
      , thread_(thread_of(me))
      , outer_node_(thread_.node) {}
  session_frame(session_frame const&) = delete;
  ~session_frame() { thread_.node = outer_node_; }
};

/// The trace shows the node by its name, else by the type that contains its callable.
[[gnu::noinline, gnu::cold]] bool begin_traced(graph_node& n, graph_session& by) {
  bool const is_named = !n.name().empty();
  noted_activity const runs(is_named ? activity::node : activity::task, &n,
                            is_named ? name_of_text(n.name().c_str()) : type_word(n));
  return n.begin(by);
}

} // namespace

thread_context& thread_of(graph_session& s) noexcept { return s.thread(); }

graph_session::graph_session(thread_context& me, bool runs, graph_run& r) noexcept
    : me_(me)
    , runs_(runs)
    , run_(&r)
    , token_(&r.stop()) {}

void graph_session::begin(graph_run& r, thread_context* runner) noexcept {
  graph_session self(runner != nullptr ? *runner : *current, runner != nullptr, r);
  std::optional<session_frame> frame;
  if (runner != nullptr)
    frame.emplace(*runner, r);
  else
    r.cut_short();
  self.add_roots(r);
  self.work();
  frame.reset();
  self.end_.tell();
}

void graph_session::run_nodes(graph_node& oldest, thread_context& runner) noexcept {
  graph_run& r = *oldest.graph_->run_;
  graph_session self(runner, true, r);
  {
    session_frame const frame(runner, r);
    graph_node* newest = &oldest;
    while (newest->newer != nullptr) {
      graph_node& n = *newest;
      newest = static_cast<graph_node*>(n.newer); // read before: from the push on another thread may run it
      self.push(n);
    }
    self.next_ = newest;
    self.tell_others(r);
    self.work();
  }
  self.end_.tell();
}

void graph_session::go_on_after(graph_node& n, std::exception_ptr error, thread_context* runner) noexcept {
  graph_run& r = *n.graph_->run_;
  graph_session self(runner != nullptr ? *runner : *current, runner != nullptr, r);
  std::optional<session_frame> frame;
  if (runner != nullptr)
    frame.emplace(*runner, r);
  else
    r.cut_short();
  self.node_has_ended(n, std::move(error));
  self.tell_others(r);
  self.work();
  frame.reset();
  self.end_.tell();
}

void graph_session::add_roots(graph_run& r) noexcept {
  // Backwards: the chain's newest job runs first.
  std::vector<graph_node*> const& roots = r.graph_.roots_;
  for (std::size_t i = roots.size(); i-- != 1;) push(*roots[i]);
  ready(*roots.front()); // another node may already be next: one behind a nested run that has just ended
  tell_others(r);
}

void graph_session::ready(graph_node& n) noexcept {
  if (next_ == nullptr)
    next_ = &n;
  else
    push(n);
}

void graph_session::push(graph_node& n) noexcept {
  if (!runs_ || me_.chain.full()) {
    n.next_ = overflow_;
    overflow_ = &n;
    return;
  }
  me_.chain.push(&n);
  ++latent_;
  has_pushed_ = true;
}

/// Nodes were pushed.
void graph_session::tell_others(graph_run const& r) noexcept {
  if (!std::exchange(has_pushed_, false)) return;
  if (me_.chain.must_poll()) poll_requests(me_);
  if (r.graph_.node_ticks_ * static_cast<std::int64_t>(latent_) >= worth_a_wake_us * ticks_per_us())
    notify_of_latent(me_);
}

/// The next node to run here. Null: there is none.
graph_node* graph_session::take() noexcept {
  if (next_ != nullptr) return std::exchange(next_, nullptr);
  while (latent_ != 0) {
    auto* const n = static_cast<graph_node*>(me_.chain.newest());
    --latent_;
    if (me_.chain.pop_settled()) return n;
    // Another thread has it, and all older ones.
  }
  if (overflow_ == nullptr) return nullptr;
  graph_node* const n = std::exchange(overflow_, overflow_->next_);
  while (runs_ && overflow_ != nullptr && !me_.chain.full())
    push(*std::exchange(overflow_, overflow_->next_));
  return n;
}

void graph_session::work() noexcept {
  for (;;) {
    while (graph_node* const n = take()) step(*n);
    if (run_ == nullptr) return;
    flush();
  }
}

/// What the node forks, and its token, belong to its run.
void graph_session::in_force(graph_run& r) noexcept {
  if (!runs_ || token_ == &r.stop()) return;
  token_ = &r.stop();
  me_.chain.change_token(token_);
}

void graph_session::step(graph_node& n) noexcept {
  graph_run& r = *n.graph_->run_;
  if (!runs_ || r.stopped()) [[unlikely]] {
    r.cut_short();
    settle(n, false);
    return;
  }
  in_force(r);
  if (run_ != &r) count(r);
  pool_thread& t = thread_of(me_);
  t.node = n.name_.empty() ? nullptr : n.name_.c_str();
  std::exception_ptr error;
  bool ended = true;
  try {
    if (is_traced<event_kind::begin>()) [[unlikely]]
      ended = begin_traced(n, *this);
    else
      ended = n.begin(*this);
  } catch (...) {
    error = std::current_exception();
  }
  t.node = nullptr;
  if (!ended) return;
  if (error != nullptr) [[unlikely]] {
    node_has_ended(n, std::move(error));
    return;
  }
  settle(n, true);
  tell_others(r);
}

void graph_session::node_has_ended(graph_node& n, std::exception_ptr error) noexcept {
  graph_run& r = *n.graph_->run_;
  bool const failed = error != nullptr;
  if (failed) r.fail(std::move(error));
  settle(n, !failed);
}

/// The node has ended, or is skipped: so are nodes of which that was the last hope.
void graph_session::settle(graph_node& n, bool ran) noexcept {
  resolve(n, ran);
  while (skipped_ != nullptr) resolve(*std::exchange(skipped_, skipped_->next_), false);
}

void graph_session::resolve(graph_node& n, bool ran) noexcept {
  graph_run& r = *n.graph_->run_;
  bool const chosen = std::exchange(n.has_chosen_, false);
  for (graph_edge const* e = n.first_edge_; e != n.last_edge_; ++e) {
    bool const live = ran && (e->kind == edge_kind::after || (chosen && e->result == n.choice_));
    graph_node& to = *e->to;
    switch (to.in_.resolve(e->kind, live)) {
    case node_fate::undecided:
      break;
    case node_fate::runs:
      ready(to);
      break;
    case node_fate::skipped:
      to.next_ = skipped_;
      skipped_ = &to;
      break;
    }
  }
  if (run_ != &r) count(r);
  ++ended_; // last: the run may end as soon as the session tells of it
}

/// From here on it counts nodes of that run.
void graph_session::count(graph_run& r) noexcept {
  while (run_ != nullptr && run_ != &r) flush();
  run_ = &r;
}

/// Tells the run of the nodes that have ended. It may end by that, and be gone. Then the session has no node
/// left, unless that run was within another, and tells the waiter last, when the run's token is not in force
/// any more: what the waiter has is perhaps destroyed here, and the program may look for a token.
void graph_session::flush() noexcept {
  graph_run& r = *std::exchange(run_, nullptr);
  std::uint64_t const n = std::exchange(ended_, 0);
  if (n == 0) return;         // and it may be gone
  run_end const end = r.end_; // read before: as soon as the last node is counted, the caller may return
  nested_node* const within = r.within_;
  if (!r.left_.arrive(n)) return;
  if (within != nullptr)
    within->inner_has_ended(*this);
  else
    end_ = end;
}

bool nested_node::begin(graph_session& by) {
  if (inner_.size() == 0) return true;
  graph_run& outer = *this->graph().run();
  inner_run_.emplace(inner_, outer.core(), &outer.stop(), run_end(), this);
  by.add_roots(*inner_run_);
  return false;
}

void nested_node::inner_has_ended(graph_session& by) noexcept {
  std::exception_ptr error = inner_run_->take_error();
  by.in_force(*this->graph().run()); // in place of the inner run's: the failure may call stop callbacks
  inner_run_.reset();
  by.node_has_ended(*this, std::move(error));
}

} // namespace rubato::detail
