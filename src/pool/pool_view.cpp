#include "pool/pool_view.hpp"

#include "os/clock.hpp"
#include "os/thread.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/core/pool_registry.hpp"

#include <algorithm>
#include <exception>

namespace rubato::detail {

namespace {

/// The same wait twice: what is read in between is of that wait, too.
void view_wait(thread_view& v, pool_thread& t) {
  for (int tries = 0; tries != 8; ++tries) {
    os::ticks const since = t.waits_since.get();
    v.in = t.waits_in.get();
    if (v.in == nullptr) return;
    thread_context const* const runner = t.waits_for.get();
    v.runner = runner != nullptr ? std::int64_t{runner->index} : -1;
    v.node = t.waits_in_node.get();
    v.since = std::chrono::microseconds((os::now() - since) / ticks_per_us());
    if (t.waits_in.get() == v.in && t.waits_since.get() == since) return;
  }
  v.in = nullptr; // it waits again and again
}

thread_view view_thread(pool_thread& t) {
  using condition = thread_view::condition;
  thread_view v;
  v.index = t.index;
  v.is_guest = !t.worker.load(std::memory_order_relaxed); // relaxed: a report
  v.kernel_id = static_cast<long>(t.tid.get());
  view_wait(v, t);
  unsigned const boundaries = t.boundaries.get();
  if (v.in != nullptr) {
    v.is = condition::waits;
  } else if (pool_thread::is_in_task(boundaries)) {
    // Of the same thread: it has been in one task meanwhile.
    bool const sleeps = v.kernel_id != 0 && os::state_of(t.tid.get()) == os::thread_state::sleeps;
    v.is = sleeps && t.boundaries.get() == boundaries && t.waits_in.get() == nullptr ? condition::blocked
                                                                                     : condition::runs;
  } else if (t.parker.sleeps()) {
    v.is = condition::idle;
  }
  return v;
}

/// Of what decides whether two coroutines look alike.
std::string tail_of(coroutine_chain::entry const& e) {
  std::string text(e.node.data());
  text += static_cast<char>('0' + static_cast<int>(e.is));
  text += e.has_more ? '+' : '.';
  return text;
}

} // namespace

void coroutine_views::add(future_state& work) {
  coroutine_task* const first = work.as_coroutine();
  if (first == nullptr) {
    ++others;
    return;
  }
  chain_.look_at(*first);
  coroutine_chain::entry const& head = chain_[0];
  // What it waits for is no other coroutine: of a result the text says whether it is ready.
  if (head.frames != 0 && head.goes_on == coroutine_view::link::none && head.group == 0 &&
      head.descriptor < 0) {
    std::vector<std::uint64_t> code(head.code.begin(), head.code.begin() + head.frames);
    code.insert(code.end(), {head.wait, head.result_is_ready ? 1U : 0U, head.result_begun_by});
    auto const [at, is_new] = alike_.try_emplace({std::move(code), tail_of(head)}, views.size());
    if (!is_new) {
      view& like = views[at->second];
      ++like.more;
      like.until = std::min(like.until, head.until);
      return;
    }
  }
  for (std::size_t i = 0; i != chain_.size(); ++i) {
    coroutine_chain::entry const& e = chain_[i];
    views.push_back({e, codes.size(), e.node.data()});
    codes.insert(codes.end(), e.code.begin(), e.code.begin() + e.frames);
  }
}

pool_view::pool_view(pool_core& core)
    : name(core.name())
    , size(core.size())
    , made(core.threads.made())
    , queued(core.queues.size()) {
  core.threads.records.for_each([this](pool_thread& t) { threads.push_back(view_thread(t)); });
  core.owned.for_each([this](future_state& work) { coroutines.add(work); });
}

process_view view_process() {
  process_view all;
  std::exception_ptr error;
  // Under the lock of the registry: a pool waits at its end, and fork() until the loader's lock is free. No
  // other thread would free that in the child.
  static_cast<void>(find_pool([&](pool_core& core) {
    try {
      if (all.pools.empty()) all.modules = os::loaded_modules();
      all.pools.emplace_back(core);
    } catch (...) {
      error = std::current_exception();
    }
    return error != nullptr;
  }));
  if (error != nullptr) std::rethrow_exception(error);
  return all;
}

} // namespace rubato::detail
