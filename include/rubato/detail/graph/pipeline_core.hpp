// A pipeline while it runs: which items may enter which stage. docs/design/graphs.md
//
// The unit is a batch: consecutive items of the source, mostly one. All of what may begin is decided under
// one lock, once per batch and stage. Stages run without the lock.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/graph/run_awaiter.hpp"
#include "rubato/detail/graph/run_root.hpp"
#include "rubato/detail/graph/started_job.hpp"
#include "rubato/detail/sync/latent_chain.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>

namespace rubato::detail {

class pipeline_core;
class pipeline_session;

enum class stage_kind : unsigned char { serial_in_order, serial, parallel };

/// The place of an item in flight. The last three lines are of a batch, in its first item.
struct pipeline_item : job_end {
  pipeline_core& of;
  pipeline_item* next = nullptr; ///< of its batch, or of the free ones
  std::size_t holds = 0;         ///< the stage whose input it holds; 0: nothing

  std::uint64_t number = 0; ///< of the first item, in the order of the source
  std::size_t stage = 0;    ///< to run next
  pipeline_item* before = nullptr;
  pipeline_item* behind = nullptr; ///< in a list of batches
  std::uint32_t length = 1;
  std::int64_t ticks = 0; ///< that its stages have taken

  explicit pipeline_item(pipeline_core& c) noexcept
      : job_end(&go_on)
      , of(c) {}
  RUBATO_API static void go_on(task& base, thread_context* runner) noexcept;
};

/// Batches that wait, linked in themselves.
class batch_list {
  pipeline_item* first_ = nullptr;
  pipeline_item* last_ = nullptr;

  RUBATO_API void insert_behind(pipeline_item* at, pipeline_item& b) noexcept;

public:
  [[nodiscard]] pipeline_item* front() const noexcept { return first_; }
  void push_back(pipeline_item& b) noexcept { insert_behind(last_, b); }
  /// By number. O(1) if it is nearly the last.
  void insert_in_order(pipeline_item& b) noexcept;
  /// Null: it is empty.
  pipeline_item* pop_front() noexcept;
};

struct pipeline_stage_state {
  stage_kind kind = stage_kind::parallel;
  bool busy = false;          ///< of a serial stage
  std::uint64_t expected = 0; ///< in order: the number that enters next
  batch_list parked;          ///< that wait for the stage
};

/// How a call of a stage went. none: the source is exhausted. elsewhere: the item must not be touched.
enum class stage_end : unsigned char { done, none, elsewhere };

class pipeline_core : public run_root {
  friend class pipeline_session;
  friend struct pipeline_item;

  pipeline_stage_state* const stages_; // in the derived class; the first is the source
  std::size_t const number_of_stages_;
  std::size_t const max_in_flight_;
  bool const has_coroutines_;
  std::size_t const most_in_batch_;
  run_end const end_;
  countdown<std::size_t> parts_{1}; // threads that work on it, and stages that go on elsewhere
  relaxed<bool> wanted_;            // a hint: another thread would find something to do

  // Guarded by scheduling_, the stages' states included.
  mutex scheduling_;
  std::size_t in_flight_ RUBATO_GUARDED_BY(scheduling_) = 0;
  std::uint64_t next_number_ RUBATO_GUARDED_BY(scheduling_) = 0;
  std::size_t batch_limit_ RUBATO_GUARDED_BY(scheduling_) = 1;
  bool source_busy_ RUBATO_GUARDED_BY(scheduling_) = false;
  bool exhausted_ RUBATO_GUARDED_BY(scheduling_) = false;
  bool no_memory_ RUBATO_GUARDED_BY(scheduling_) = false;
  bool heavy_ RUBATO_GUARDED_BY(scheduling_) = true;               // a batch takes long
  batch_list ready_ RUBATO_GUARDED_BY(scheduling_);                // may run, and no thread has them
  batch_list dropped_ RUBATO_GUARDED_BY(scheduling_);              // after a failure or a stop
  pipeline_item* pulled_ RUBATO_GUARDED_BY(scheduling_) = nullptr; // the source's batch so far
  pipeline_item* last_pulled_ RUBATO_GUARDED_BY(scheduling_) = nullptr;
  pipeline_item* free_ RUBATO_GUARDED_BY(scheduling_) = nullptr;

  [[nodiscard]] std::size_t tokens() const noexcept RUBATO_REQUIRES(scheduling_) {
    return max_in_flight_ - in_flight_;
  }
  [[nodiscard]] bool source_is_free() const noexcept RUBATO_REQUIRES(scheduling_) {
    return !source_busy_ && !exhausted_ && tokens() != 0;
  }
  [[nodiscard]] bool wants_thread() const noexcept RUBATO_REQUIRES(scheduling_) {
    return ready_.front() != nullptr || pulled_ != nullptr || source_is_free();
  }
  /// True: the batch may run its next stage. False: it is parked there.
  [[nodiscard]] bool enters(pipeline_item& b) noexcept RUBATO_REQUIRES(scheduling_);
  /// Returns a batch that waited for the stage, and enters it; null: there is none.
  [[nodiscard]] pipeline_item* leave_stage(pipeline_item const& b) noexcept RUBATO_REQUIRES(scheduling_);
  void add_pulled(pipeline_item& i) noexcept RUBATO_REQUIRES(scheduling_);
  [[nodiscard]] pipeline_item* take_pulled() noexcept RUBATO_REQUIRES(scheduling_);
  /// A place in flight. Null: there is no memory.
  [[nodiscard]] pipeline_item* new_item() noexcept RUBATO_REQUIRES(scheduling_);
  void give_back(pipeline_item& i) noexcept RUBATO_REQUIRES(scheduling_);
  void learn(pipeline_item const& b) noexcept RUBATO_REQUIRES(scheduling_);
  [[nodiscard]] bool lacks_memory() noexcept;
  void destroy_list(batch_list& l) noexcept;

protected:
  RUBATO_API pipeline_core(pool_core& core, stop_scope* around, run_end end, pipeline_stage_state* stages,
                           std::size_t number_of_stages, std::size_t max_in_flight, bool has_coroutines);
  virtual ~pipeline_core() = default;
  /// Destroys all items. By the destructor of the derived class.
  RUBATO_API void destroy_items() noexcept;

  /// A place without an item. Throws std::bad_alloc.
  [[nodiscard]] virtual pipeline_item* make_place() = 0;
  virtual void free_place(pipeline_item& i) noexcept = 0;
  virtual void destroy_value(pipeline_item& i) noexcept = 0;
  /// Calls the source for the item, or a stage for each item of the batch. Throws what they throw.
  [[nodiscard]] virtual stage_end pull(pipeline_item& i, thread_context& me) = 0;
  [[nodiscard]] virtual stage_end run_stage(pipeline_item& b, thread_context& me) = 0;
  /// The call for the item has ended elsewhere without an exception.
  [[nodiscard]] virtual stage_end end_call(pipeline_item& i) noexcept = 0;

  // For stages that go on elsewhere.
  void begin_part() noexcept { parts_.add(); }
  void end_part() noexcept { static_cast<void>(parts_.arrive()); } // not the last one: the caller has another

public:
  [[nodiscard]] bool has_ended() const noexcept { return parts_.is_over(); }
  /// Begins with the caller's part. `runner`: null if the pool has dropped the entry.
  RUBATO_API void work(thread_context* runner) noexcept;
  /// Works on it, and waits for the end; throws the first failure.
  RUBATO_API void run_here(thread_context& me);
};

} // namespace rubato::detail
