#include "rubato/detail/graph/pipeline_core.hpp"

#include "graph/await_run.hpp"
#include "graph/pipeline_session.hpp"
#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/run/search.hpp"
#include "work/pool_thread.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::size_t largest_batch = 4096;
constexpr std::int64_t brief_us = 10,
                       long_us = 20; // a batch that takes less grows, one that takes more shrinks

/// A batch must leave enough of the items in flight to the other threads. A pool with one worker has none:
/// there the thread at the source must not hold items back.
std::size_t most_in_batch(pool_core const& core, std::size_t max_in_flight, bool has_coroutines) noexcept {
  std::size_t const workers = size_of(core);
  if (has_coroutines || workers < 2) return 1;
  return std::clamp(max_in_flight / (2 * (workers + 1)), std::size_t{1}, largest_batch);
}

} // namespace

void batch_list::insert_behind(pipeline_item* at, pipeline_item& b) noexcept {
  b.before = at;
  pipeline_item*& next = at != nullptr ? at->behind : first_;
  b.behind = next;
  (next != nullptr ? next->before : last_) = &b;
  next = &b;
}

void batch_list::insert_in_order(pipeline_item& b) noexcept {
  pipeline_item* at = last_;
  while (at != nullptr && at->number > b.number) at = at->before;
  insert_behind(at, b);
}

pipeline_item* batch_list::pop_front() noexcept {
  pipeline_item* const b = first_;
  if (b == nullptr) return nullptr;
  first_ = b->behind;
  (first_ != nullptr ? first_->before : last_) = nullptr;
  return b;
}

pipeline_core::pipeline_core(pool_core& core, stop_scope* around, run_end end, pipeline_stage_state* stages,
                             std::size_t number_of_stages, std::size_t max_in_flight, bool has_coroutines)
    : run_root(core, around)
    , stages_(stages)
    , number_of_stages_(number_of_stages)
    , max_in_flight_(max_in_flight)
    , has_coroutines_(has_coroutines)
    , most_in_batch_(most_in_batch(core, max_in_flight, has_coroutines))
    , end_(end) {}

bool pipeline_core::enters(pipeline_item& b) noexcept {
  pipeline_stage_state& s = stages_[b.stage];
  if (s.kind == stage_kind::parallel) return true;
  bool const in_order = s.kind == stage_kind::serial_in_order;
  if (!s.busy && (!in_order || b.number == s.expected)) return s.busy = true;
  if (in_order)
    s.parked.insert_in_order(b);
  else
    s.parked.push_back(b);
  return false;
}

pipeline_item* pipeline_core::leave_stage(pipeline_item const& b) noexcept {
  pipeline_stage_state& s = stages_[b.stage];
  if (s.kind == stage_kind::parallel) return nullptr;
  RUBATO_ASSERT(s.busy, "a batch leaves a serial stage that it is not in", b.stage, b.number);
  s.busy = false;
  pipeline_item* const first = s.parked.front();
  if (s.kind == stage_kind::serial_in_order) {
    RUBATO_ASSERT(s.expected == b.number, "an item has passed an earlier one", b.stage, b.number, s.expected);
    s.expected += b.length;
    if (first != nullptr && first->number != s.expected) return nullptr;
  }
  if (first == nullptr) return nullptr;
  s.busy = true;
  return s.parked.pop_front();
}

void pipeline_core::add_pulled(pipeline_item& i) noexcept {
  i.number = next_number_++;
  i.stage = 1;
  i.length = 1;
  i.ticks = 0;
  i.next = nullptr;
  if (pulled_ == nullptr) {
    pulled_ = &i;
  } else {
    last_pulled_->next = &i;
    ++pulled_->length;
  }
  last_pulled_ = &i;
}

pipeline_item* pipeline_core::take_pulled() noexcept { return std::exchange(pulled_, nullptr); }

pipeline_item* pipeline_core::new_item() noexcept {
  pipeline_item* i = free_;
  if (i != nullptr) {
    free_ = i->next;
  } else {
    try {
      i = make_place();
    } catch (std::bad_alloc const&) {
      no_memory_ = in_flight_ == 0; // else it goes on with the places that there are
      return nullptr;
    }
  }
  ++in_flight_;
  i->next = nullptr;
  i->stage = 0;
  return i;
}

bool pipeline_core::lacks_memory() noexcept {
  lock_guard const guard(scheduling_);
  return no_memory_;
}

void pipeline_core::give_back(pipeline_item& i) noexcept {
  RUBATO_ASSERT(i.holds == 0, "a place is given back that holds an item", i.holds, i.number);
  --in_flight_;
  i.next = free_;
  free_ = &i;
}

void pipeline_core::learn(pipeline_item const& b) noexcept {
  std::int64_t const us = ticks_per_us();
  heavy_ = b.ticks >= brief_us * us;
  if (!heavy_)
    batch_limit_ = std::min(most_in_batch_, 2 * std::max<std::size_t>(batch_limit_, b.length));
  else if (b.ticks > long_us * us)
    batch_limit_ = std::max<std::size_t>(
        1, static_cast<std::size_t>(b.length * static_cast<std::uint64_t>(long_us * us) /
                                    static_cast<std::uint64_t>(b.ticks)));
}

void pipeline_core::destroy_list(batch_list& l) noexcept {
  while (pipeline_item* i = l.pop_front())
    while (i != nullptr) {
      pipeline_item* const next = i->next;
      destroy_value(*i);
      free_place(*i);
      i = next;
    }
}

void pipeline_core::destroy_items() noexcept RUBATO_NOT_ANALYSED { // no other thread uses them any more
  destroy_list(ready_);
  destroy_list(dropped_);
  for (std::size_t s = 0; s != number_of_stages_; ++s) destroy_list(stages_[s].parked);
  RUBATO_ASSERT(pulled_ == nullptr, "a pipeline ends while its source is called", pulled_);
  while (free_ != nullptr) free_place(*std::exchange(free_, free_->next));
}

void pipeline_core::work(thread_context* runner) noexcept {
  if (runner == nullptr) {
    cut_short();
  } else {
    fp_modes_in_force const of_run(modes());
    token_in_force const token(runner->chain, &stop());
    pipeline_session(*this, *runner).work(nullptr);
  }
  pipeline_session::end_part(*this);
}

void pipeline_item::go_on(task& base, thread_context* runner) noexcept {
  auto& self = static_cast<pipeline_item&>(base);
  pipeline_core& core = self.of;
  std::exception_ptr e = std::exchange(self.error, nullptr);
  if (runner == nullptr) core.cut_short();
  thread_context& me = runner != nullptr ? *runner : *current;
  {
    std::optional<fp_modes_in_force> of_run;
    std::optional<token_in_force> token;
    if (runner != nullptr) {
      of_run.emplace(core.modes());
      token.emplace(me.chain, &core.stop());
    }
    pipeline_session s(core, me);
    if (runner != nullptr)
      s.work(s.call_ended(self, std::move(e)));
    else
      s.drop_call(self, e);
  }
  pipeline_session::end_part(core);
}

void pipeline_core::run_here(thread_context& me) {
  work(&me);
  pool_thread& t = thread_of(me);
  // Only this pipeline: nothing else may run on top of the caller.
  await_run(
      me, "pipeline", has_coroutines_, [this] { return has_ended(); },
      [&] {
        return wanted_.get() ? find_latent(*t.core, t, {.piece_of = static_cast<pipeline_core*>(this)})
                             : steal_result();
      });
  if (std::exception_ptr error = take_error()) std::rethrow_exception(std::move(error));
}

} // namespace rubato::detail
