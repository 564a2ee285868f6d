// Tasks that a coroutine awaits together. They are kept in its frame, and stay parts of it as long as nobody
// else has time for them: forks as cheap as those of join(). docs/design/coroutines.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/job.hpp"
#include "rubato/detail/race.hpp"
#include "rubato/task.hpp"

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace rubato::detail {

class sibling;
class sibling_group;
class sibling_race; // NOLINT(cppcoreguidelines-virtual-class-destructor): final

/// The line of execution of a sibling that does not run as a part of the coroutine that awaits it.
class sibling_activity final : link_holder, public activity {
  sibling& of_;

  [[nodiscard]] std::coroutine_handle<> begin(member& runner) noexcept override;
  void end(bool finished) noexcept override;

public:
  sibling_activity(sibling& s, stop_scope& around) noexcept
      : link_holder(&around)
      , activity(1, link)
      , of_(s) {}
  /// Nobody has a future of it.
  [[nodiscard]] void* result() noexcept override { return nullptr; }
  void fail(std::exception_ptr e) noexcept override;
  /// Nobody refers to it any more: tells the group.
  void dispose() noexcept override;
};

/// One of the tasks. Its result stays in its own frame.
class sibling final : public latent_job {
  friend class sibling_activity;
  friend class sibling_group;
  sibling_group* group_ = nullptr;
  own_promise* promise_ = nullptr;
  std::coroutine_handle<> frame_;
  std::exception_ptr const* error_ = nullptr; ///< where its own stands, if it has one
  std::exception_ptr broken_;                 ///< if it was never begun, or not finished

  static void run_elsewhere(latent_job& base, member& runner);
  [[nodiscard]] activity* go_away(pool_core& where) noexcept;
  void never_ends(std::exception_ptr why) noexcept;

public:
  sibling() noexcept
      : latent_job(&run_elsewhere) {}
  sibling(sibling const&) = delete;
  sibling& operator=(sibling const&) = delete;
  ~sibling() {
    if (frame_ != nullptr) tombstone::destroy_frame(frame_);
  }

  /// Runs by itself from now on, when its turn comes.
  void queue() noexcept;

  /// Once.
  template<class T>
  void adopt(sibling_group& g, rubato::task<T>&& t) {
    group_ = &g;
    auto const h = task_access::unbegun(t);
    static_cast<void>(task_access::let_go(t));
    frame_ = h;
    promise_ = &h.promise();
    error_ = &h.promise().error_room();
  }
  [[nodiscard]] bool has_failed() const noexcept {
    return broken_ != nullptr || promise_->holds() == outcome::error; // unless broken, its frame is there
  }
  /// Why it has failed; empty: it has not.
  [[nodiscard]] std::exception_ptr error() const noexcept {
    return broken_ != nullptr ? broken_ : has_failed() ? *error_ : std::exception_ptr();
  }
  /// After it has ended without an exception.
  template<class T>
  [[nodiscard]] result_promise<T>& result() noexcept {
    return static_cast<result_promise<T>&>(*promise_);
  }
};

/// All of them, where the coroutine that awaits them is resumed: whenever one that ran in its place has
/// ended.
class sibling_group : junction {
  friend class sibling;
  friend class sibling_activity;

public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

private:
  /// The coroutine, when it has nothing left to do itself.
  class wait_for_rest final : public own_awaitable, public suspension {
    sibling_group& group_;
    friend class sibling_group;
    [[nodiscard]] bool insert() noexcept override;
    [[nodiscard]] bool remove() noexcept override { return false; }

  public:
    explicit wait_for_rest(sibling_group& g) noexcept
        : suspension(ends::with_children)
        , group_(g) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template<std::derived_from<own_promise> P>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
      return suspend(h);
    }
    void await_resume() noexcept { static_cast<void>(retire()); }
  };
  activity& of_;
  stop_scope& around_;      ///< what they stop with
  stop_scope* const outer_; ///< in force again when the coroutine goes on; null: they are not forked
  sibling* const all_;
  std::uint32_t const count_;
  std::uint32_t next_ = 0; ///< the next that may run here; those from first_latent_ on were forked
  std::uint32_t first_latent_ = 0;
  std::uint32_t stayed_ = 0;        ///< so many have run here
  std::uint32_t flushes_ = 0;       ///< the coroutine's, when they were forked
  bool rested_ = false;             ///< the coroutine waited for the rest of them
  sibling* here_ = nullptr;         ///< runs as a part of the coroutine
  std::atomic<std::uint32_t> left_; ///< that have not ended, and one for the coroutine
  std::atomic<std::uint32_t> first_failed_{none};
  sibling_race* const race_;
  uninitialized<wait_for_rest> rest_; ///< built when it is awaited

  /// To be awaited with all(), or by start_all().
  sibling_group(activity& of, stop_scope& around, stop_scope* outer, sibling* all, std::size_t count,
                sibling_race* race) noexcept
      : junction(&one_has_ended)
      , of_(of)
      , around_(around)
      , outer_(outer)
      , all_(all)
      , count_(static_cast<std::uint32_t>(count))
      , left_(count_ + 1)
      , race_(race) {}

  [[nodiscard]] bool find_next() noexcept;
  [[nodiscard]] bool settle_next() noexcept;
  void pass_over() noexcept;
  void wait_for_others() noexcept;
  void pass_on() noexcept;
  void note(sibling const& s) noexcept;
  void ended(sibling const& s) noexcept;
  void start(sibling& s) noexcept;
  void fork() noexcept;
  void go_on() noexcept;
  static void one_has_ended(void* group) noexcept;

public:
  /// In the coroutine that awaits them, to be queued by start_all().
  sibling_group(sibling* all, std::size_t count, stop_scope& around, sibling_race* race) noexcept
      : sibling_group(*this_trampoline().running, around, nullptr, all, count, race) {}
  /// The same for those that are forked, by begin(). The first failure stops `limit`, a part of the same
  /// frame.
  sibling_group(sibling* all, std::size_t count, activity& of, nested_scope& limit) noexcept
      : sibling_group(of, limit.own, &limit.around, all, count, nullptr) {}
  sibling_group(sibling_group const&) = delete;
  sibling_group& operator=(sibling_group const&) = delete;
  ~sibling_group() = default;

  /// From await_suspend of the coroutine, which goes on when all have ended. The first runs in its place, and
  /// the others too unless somebody takes them.
  template<class P>
  void begin(std::coroutine_handle<P> h) noexcept {
    promise().owned_by(h);
    fork();
    go_on();
  }
  /// When it goes on. Throws the first failure in time.
  void finish() {
    if (rested_) static_cast<void>(rest_.value.retire());
    if (std::uint32_t const i = first_failed_.load(std::memory_order_relaxed); i != none)
      std::rethrow_exception(all_[i].error());
  }

  // In place of these: all are queued, and the coroutine goes on.
  void start_all() noexcept;
  /// co_await, once: until all have ended.
  [[nodiscard]] wait_for_rest& rest() noexcept { return *std::construct_at(&rest_.value, *this); }
};

/// Which of them was the first to succeed, or was claimed before it could. co_await: until that one has
/// ended, or all have failed. docs/design/races.md
class sibling_race final : public own_awaitable, suspension, public race {
  enum class state : unsigned char { open, awaited, decided };
  std::atomic<state> state_{state::open};
  std::atomic<std::uint32_t> undecided_; ///< that may yet succeed
  std::atomic<std::uint32_t> last_failed_{none};

  [[nodiscard]] bool insert() noexcept override;
  [[nodiscard]] bool remove() noexcept override { return false; }
  void decide() noexcept;

public:
  explicit sibling_race(std::size_t count) noexcept
      : suspension(ends::with_children)
      , undecided_(static_cast<std::uint32_t>(count)) {}
  void note(std::uint32_t index, bool success) noexcept;

  [[nodiscard]] bool await_ready() const noexcept {
    return state_.load(std::memory_order_acquire) == state::decided; // acquire: pairs with decide()
  }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return suspend(h);
  }
  void await_resume() noexcept { static_cast<void>(retire()); }

  /// After all have ended.
  [[nodiscard]] std::uint32_t last_failed() const noexcept {
    return last_failed_.load(std::memory_order_relaxed);
  }
};

/// A fixed number of them.
template<std::size_t N>
class siblings {
  sibling all_[N];

  template<class... Ts>
  void adopt(rubato::task<Ts>&&... tasks) {
    std::size_t i = 0;
    (all_[i++].adopt(group, std::move(tasks)), ...);
  }

public:
  sibling_group group;
  template<class... Ts>
  explicit siblings(stop_scope& around, sibling_race* race, rubato::task<Ts>&&... tasks)
      : group(all_, N, around, race) {
    adopt(std::move(tasks)...);
  }
  template<class... Ts>
  explicit siblings(activity& of, nested_scope& limit, rubato::task<Ts>&&... tasks)
      : group(all_, N, of, limit) {
    adopt(std::move(tasks)...);
  }
  [[nodiscard]] sibling& operator[](std::size_t i) noexcept { return all_[i]; }
};

/// As many as there are.
template<class T>
class sibling_range {
  // From the slabs.
  struct deleter {
    std::size_t count;
    void operator()(sibling* all) const noexcept {
      std::destroy_n(all, count);
      deallocate(all, count * sizeof(sibling));
    }
  };
  std::unique_ptr<sibling[], deleter> all_;
  std::size_t count_;

  [[nodiscard]] static sibling* make(std::size_t count) {
    auto* const all = static_cast<sibling*>(allocate(count * sizeof(sibling)));
    std::uninitialized_default_construct_n(all, count);
    return all;
  }

  void adopt(std::vector<rubato::task<T>>&& tasks) {
    for (std::size_t i = 0; i != count_; ++i) all_[i].adopt(group, std::move(tasks[i]));
  }

public:
  sibling_group group;
  sibling_range(stop_scope& around, sibling_race* race, std::vector<rubato::task<T>>&& tasks)
      : all_(make(tasks.size()), {tasks.size()})
      , count_(tasks.size())
      , group(all_.get(), tasks.size(), around, race) {
    adopt(std::move(tasks));
  }
  sibling_range(activity& of, nested_scope& limit, std::vector<rubato::task<T>>&& tasks)
      : all_(make(tasks.size()), {tasks.size()})
      , count_(tasks.size())
      , group(all_.get(), tasks.size(), of, limit) {
    adopt(std::move(tasks));
  }
  [[nodiscard]] sibling& operator[](std::size_t i) noexcept { return all_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
};

} // namespace rubato::detail
