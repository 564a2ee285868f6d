#include "graph/pipeline_session.hpp"

#include "rubato/detail/base/fp_modes.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <new>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t slow_source_us = 5; // a source that takes so long does not fill a batch

} // namespace

bool pipeline_session::split_off(latent_loop& l, loop_piece& out) noexcept {
  auto& self = static_cast<pipeline_session&>(l);
  pipeline_core& core = self.core_;
  if (!core.stopped()) {
    lock_guard const guard(core.scheduling_);
    if (core.wants_thread()) {
      core.parts_.add(); // the session, whose entry this is, has a part as well
      out.exec = &run_elsewhere;
      out.root = &core;
      out.token = nullptr; // the session puts it in force, no longer than its part of the run lasts
      return true;
    }
    self.refused_ = true;
    return false;
  }
  return false;
}

void pipeline_session::run_elsewhere(loop_piece const& p, thread_context& runner) {
  auto& core = *static_cast<pipeline_core*>(p.root);
  {
    fp_modes_in_force const modes(core.modes());
    token_in_force const token(runner.chain, &core.stop());
    pipeline_session(core, runner).work(nullptr);
  }
  end_part(core);
}

void pipeline_session::end_part(pipeline_core& c) noexcept {
  run_end const end = c.end_; // read before: the pipeline may be gone
  if (c.parts_.arrive()) end.tell();
}

void pipeline_session::work(pipeline_item* b) noexcept {
  for (;;) {
    if (b == nullptr) b = next_batch();
    if (b == nullptr) break;
    b = b->stage == 0 ? pull(*b) : run(*b);
  }
  hide();
}

/// Under the lock: what the thread does after it.
pipeline_session::outlook pipeline_session::look() noexcept {
  bool const wanted = core_.wants_thread();
  core_.wanted_.set(wanted);
  return {.shows = wanted && (!pushed_ || std::exchange(refused_, false)), .wakes = wanted && core_.heavy_};
}

/// Lets other threads know that there is something to do.
void pipeline_session::tell(outlook o) noexcept {
  if (o.shows) {
    hide();
    if (!me_.chain.full()) {
      me_.chain.push(static_cast<latent_loop*>(this));
      pushed_ = true;
    }
  }
  if (me_.chain.must_poll()) poll_requests(me_);
  if (o.wakes) notify_of_latent(me_);
}

/// Afterwards no thief reads this object.
void pipeline_session::hide() noexcept {
  if (std::exchange(pushed_, false)) static_cast<void>(me_.chain.pop_settled());
}

/// Null: nothing is left for this thread.
pipeline_item* pipeline_session::next_batch() noexcept {
  if (core_.stopped()) {
    lock_guard const guard(core_.scheduling_);
    if (!core_.exhausted_ || core_.in_flight_ != 0) core_.cut_short();
    return nullptr;
  }
  pipeline_item* b = nullptr;
  outlook after;
  {
    lock_guard const guard(core_.scheduling_);
    b = core_.ready_.pop_front();
    if (b == nullptr && core_.source_is_free()) {
      b = core_.new_item();
      if (b != nullptr) core_.source_busy_ = true;
    }
    if (b == nullptr && core_.pulled_ != nullptr) {
      b = core_.take_pulled();
      if (!core_.enters(*b)) b = nullptr;
    }
    after = look();
  }
  if (b == nullptr && core_.lacks_memory()) core_.fail(std::make_exception_ptr(std::bad_alloc()));
  tell(after);
  return b;
}

/// At the source: takes items as long as they come fast, up to the limit of a batch. Other threads may take
/// what is there, so that a source that waits for what becomes of its items does not wait in vain.
pipeline_item* pipeline_session::pull(pipeline_item& first) noexcept {
  std::int64_t const begin = tick_count();
  for (pipeline_item* place = &first;;) {
    std::exception_ptr error;
    stage_end went = stage_end::none;
    try {
      went = core_.pull(*place, me_);
    } catch (...) {
      error = std::current_exception();
    }
    if (went == stage_end::elsewhere) return nullptr;
    std::int64_t const took = tick_count() - begin;
    bool const fast = took < slow_source_us * ticks_per_us();
    pulled const p = source_ended(*place, went, std::move(error), fast, took);
    if (p.next == nullptr) return p.batch;
    place = p.next;
  }
}

/// The source has ended for a place: with a value, or with none.
pipeline_session::pulled pipeline_session::source_ended(pipeline_item& place, stage_end went,
                                                        std::exception_ptr error, bool may_go_on,
                                                        std::int64_t took) noexcept {
  pulled result;
  outlook after;
  if (error != nullptr) core_.fail(std::move(error));
  {
    lock_guard const guard(core_.scheduling_);
    if (went == stage_end::done) {
      core_.add_pulled(place);
    } else {
      core_.exhausted_ = true;
      core_.give_back(place);
    }
    if (may_go_on && went == stage_end::done && core_.pulled_ != nullptr &&
        core_.pulled_->length < core_.batch_limit_ && core_.tokens() != 0)
      result.next = core_.new_item();
    if (result.next == nullptr) {
      core_.source_busy_ = false;
      if (core_.pulled_ != nullptr) {
        result.batch = core_.take_pulled();
        result.batch->ticks = took;
        if (!core_.enters(*result.batch)) result.batch = nullptr;
      }
    }
    after = look();
  }
  tell(after);
  return result;
}

/// Runs the next stage of a batch.
pipeline_item* pipeline_session::run(pipeline_item& b) noexcept {
  if (core_.stopped()) {
    core_.cut_short();
    drop(b, nullptr);
    return nullptr;
  }
  std::int64_t const begin = tick_count();
  std::exception_ptr error;
  stage_end went = stage_end::done;
  try {
    went = core_.run_stage(b, me_);
  } catch (...) {
    error = std::current_exception();
  }
  if (went == stage_end::elsewhere) return nullptr;
  if (error != nullptr || core_.ended_early()) { // the stage may have left out items of the batch
    drop(b, std::move(error));
    return nullptr;
  }
  b.ticks += tick_count() - begin;
  return stage_ended(b);
}

/// The batch has ended its stage. Returns what runs next here: that batch, or one that waited for the stage.
pipeline_item* pipeline_session::stage_ended(pipeline_item& b) noexcept {
  pipeline_item* next = nullptr;
  outlook after;
  {
    lock_guard const guard(core_.scheduling_);
    pipeline_item* const waited = core_.leave_stage(b);
    if (++b.stage == core_.number_of_stages_) {
      core_.learn(b);
      for (pipeline_item* i = &b; i != nullptr;) core_.give_back(*std::exchange(i, i->next));
    } else if (core_.enters(b)) {
      next = &b;
    }
    if (next == nullptr)
      next = waited;
    else if (waited != nullptr)
      core_.ready_.push_back(*waited);
    after = look();
  }
  tell(after);
  return next;
}

void pipeline_session::drop(pipeline_item& b, std::exception_ptr error) noexcept {
  if (error != nullptr) core_.fail(std::move(error));
  lock_guard const guard(core_.scheduling_);
  core_.dropped_.push_back(b);
}

pipeline_item* pipeline_session::call_ended(pipeline_item& i, std::exception_ptr error) noexcept {
  stage_end const went = error == nullptr ? core_.end_call(i) : stage_end::none;
  if (i.stage == 0) return source_ended(i, went, std::move(error), false, 0).batch;
  if (error == nullptr) return stage_ended(i);
  drop(i, std::move(error));
  return nullptr;
}

void pipeline_session::drop_call(pipeline_item& i, std::exception_ptr const& error) noexcept {
  if (error == nullptr) static_cast<void>(core_.end_call(i));
  lock_guard const guard(core_.scheduling_);
  if (i.stage == 0) {
    core_.exhausted_ = true;
    core_.source_busy_ = false;
  }
  core_.dropped_.push_back(i);
}

} // namespace rubato::detail
