// A thread's work on a pipeline: from batch to batch until nothing is left for it. docs/design/graphs.md
#pragma once

#include "rubato/detail/graph/pipeline_core.hpp"
#include "rubato/detail/sync/latent_chain.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <cstdint>
#include <exception>

namespace rubato::detail {

/// It is a latent loop of its thread: a piece that is split off makes another thread work on the pipeline.
class pipeline_session final : latent_loop {
  pipeline_core& core_;
  thread_context& me_;
  bool pushed_ = false;
  bool refused_ =
      false; // guarded by the pipeline's lock: a thief found nothing to do, and will not look again

  static bool split_off(latent_loop& l, loop_piece& out) noexcept;
  static void run_elsewhere(loop_piece const& p, thread_context& runner);

  struct outlook {
    bool shows = false; ///< the session becomes visible to thieves
    bool wakes = false; ///< a sleeping worker is worth waking
  };
  struct pulled {
    pipeline_item* batch = nullptr; ///< to run next
    pipeline_item* next = nullptr;  ///< a place for which the caller calls the source
  };
  [[nodiscard]] outlook look() noexcept RUBATO_REQUIRES(core_.scheduling_);
  void tell(outlook o) noexcept;
  void hide() noexcept;
  [[nodiscard]] pipeline_item* next_batch() noexcept;
  [[nodiscard]] pipeline_item* pull(pipeline_item& first) noexcept;
  [[nodiscard]] pulled source_ended(pipeline_item& place, stage_end went, std::exception_ptr error,
                                    bool may_go_on, std::int64_t took) noexcept;
  [[nodiscard]] pipeline_item* run(pipeline_item& b) noexcept;
  [[nodiscard]] pipeline_item* stage_ended(pipeline_item& b) noexcept;
  void drop(pipeline_item& b, std::exception_ptr error) noexcept;

public:
  pipeline_session(pipeline_core& c, thread_context& me) noexcept
      : latent_loop(&split_off, &c)
      , core_(c)
      , me_(me) {}

  /// `b`: runs first; null: none.
  void work(pipeline_item* b) noexcept;
  /// The call for an item has ended elsewhere, with an exception or null. Returns what to run next.
  [[nodiscard]] pipeline_item* call_ended(pipeline_item& i, std::exception_ptr error) noexcept;
  /// The same if the pool has dropped the entry that was to tell it.
  void drop_call(pipeline_item& i, std::exception_ptr const& error) noexcept;
  /// The last access to the pipeline.
  static void end_part(pipeline_core& c) noexcept;
};

} // namespace rubato::detail
