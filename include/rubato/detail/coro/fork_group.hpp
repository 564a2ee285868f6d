// Tasks that a coroutine awaits together. They are in its frame, and are parts of it unless another worker is
// free: forks as cheap as those of join(). docs/design/coroutines.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/task.hpp"

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace rubato::detail {

class group_member;
class fork_group;
class group_race; // NOLINT(cppcoreguidelines-virtual-class-destructor): final

/// The coroutine task of a group member that does not run as a part of the awaiting coroutine.
class group_member_task final : link_holder, public coroutine_task {
  group_member& of_;

  [[nodiscard]] std::coroutine_handle<> begin(thread_context& runner) noexcept override;
  void end(bool finished) noexcept override;

public:
  group_member_task(group_member& s, stop_scope& around) noexcept;
  /// No future refers to it.
  [[nodiscard]] void* result() noexcept override { return nullptr; }
  [[nodiscard]] race_entry entry() const noexcept override;
  void fail(std::exception_ptr e) noexcept override;
  /// The last reference is gone: tells the group.
  void dispose() noexcept override;
};

/// One task of a group. Its result stays in its own frame.
class group_member final : public latent_job {
  friend class group_member_task;
  friend class fork_group;
  fork_group* group_ = nullptr;
  own_promise* promise_ = nullptr;
  std::coroutine_handle<> frame_;
  std::exception_ptr const* error_ = nullptr; ///< the place of the task's own exception, if there is one
  std::exception_ptr broken_;                 ///< the exception of a task that never began or was destroyed

  static void run_elsewhere(latent_job& base, thread_context& runner);
  [[nodiscard]] coroutine_task* make_task(pool_core& where) noexcept;

public:
  group_member() noexcept
      : latent_job(&run_elsewhere) {}
  ~group_member() {
    if (frame_ != nullptr) tombstone::destroy_frame(frame_);
  }

  /// Queues it as a coroutine task of its own.
  void queue() noexcept;

  /// Called once.
  template<class T>
  void adopt(fork_group& g, rubato::task<T>&& t) {
    group_ = &g;
    auto const h = task_access::unbegun(t);
    static_cast<void>(task_access::release(t));
    frame_ = h;
    promise_ = &h.promise();
    error_ = &h.promise().stored_error();
  }
  [[nodiscard]] bool has_failed() const noexcept {
    return broken_ != nullptr || promise_->holds() == outcome::error; // unless broken, its frame exists
  }
  /// After it has ended: throws std::bad_alloc if there was no memory to begin it.
  void throw_if_memory_lacked() const;
  /// For one that has not begun: it has to begin even if the group was stopped.
  [[nodiscard]] bool begins_though_stopped() const noexcept { return promise_->begins_though_stopped(); }
  /// Its exception; empty: it has not failed.
  [[nodiscard]] std::exception_ptr error() const noexcept {
    return broken_ != nullptr ? broken_ : has_failed() ? *error_ : std::exception_ptr();
  }
  /// After it has ended without an exception.
  template<class T>
  [[nodiscard]] result_promise<T>& result() noexcept {
    return static_cast<result_promise<T>&>(*promise_);
  }
};

/// All members of a group, and the join point at which the awaiting coroutine is resumed: each time a member
/// that ran in its place has ended.
class fork_group : join_point {
  friend class group_member;
  friend class group_member_task;

  /// The wait of the coroutine when no member is left to run in its place.
  class wait_for_rest final : public wait_operation {
    fork_group& group_;
    friend class fork_group;
    [[nodiscard]] bool insert() noexcept override;
    [[nodiscard]] bool remove() noexcept override { return false; }

  public:
    explicit wait_for_rest(fork_group& g) noexcept
        : wait_operation(ends::with_children)
        , group_(g) {}
  };
  coroutine_task& of_;
  stop_scope& around_;      ///< the scope that the members stop with
  stop_scope* const outer_; ///< in force again when the coroutine resumes; null: not forked
  group_member* const all_;
  std::uint32_t const count_;
  std::uint32_t next_ = 0; ///< the next member to run here; from first_latent_ on they are forked
  std::uint32_t first_latent_ = 0;
  std::uint32_t stayed_ = 0;      ///< the number of members that have run here
  bool rested_ = false;           ///< the coroutine has waited for the rest
  group_member* here_ = nullptr;  ///< the member that runs as a part of the coroutine
  countdown<std::uint32_t> left_; ///< members that have not ended, plus one for the coroutine
  first_of<std::uint32_t> first_failed_;
  group_race* const race_;
  uninitialized<wait_for_rest> rest_; ///< built when it is awaited

  /// Its members are forked by begin(), queued by start_all(), or run by begin_all_here().
  fork_group(coroutine_task& of, stop_scope& around, stop_scope* outer, group_member* all, std::size_t number,
             group_race* among) noexcept
      : join_point(&one_has_ended)
      , of_(of)
      , around_(around)
      , outer_(outer)
      , all_(all)
      , count_(static_cast<std::uint32_t>(number))
      , left_(count_ + 1)
      , race_(among) {}

  [[nodiscard]] bool find_next() noexcept;
  [[nodiscard]] bool settle_next() noexcept;
  void pass_over() noexcept;
  void wait_for_others() noexcept;
  void pass_on() noexcept;
  void note(group_member const& s) noexcept;
  void ended(group_member const& s) noexcept;
  void start(group_member& s) noexcept;
  void fork() noexcept;
  void go_on() noexcept;
  static void one_has_ended(void* group) noexcept;

public:
  /// In the awaiting coroutine, for start_all(), which queues the members.
  fork_group(group_member* all, std::size_t number, stop_scope& around, group_race* among) noexcept
      : fork_group(*this_trampoline().running, around, nullptr, all, number, among) {}
  /// The same for begin(), which forks them. The first failure stops `limit`, which is in the same frame.
  fork_group(group_member* all, std::size_t number, coroutine_task& of, nested_scope& limit) noexcept
      : fork_group(of, limit.own, &limit.around, all, number, nullptr) {}

  /// From await_suspend of the coroutine, which resumes when all members have ended. The first member runs in
  /// its place, and so do the others unless another thread steals them.
  template<class P>
  void begin(std::coroutine_handle<P> h) noexcept {
    promise().owned_by(h);
    fork();
    go_on();
  }
  /// When the coroutine resumes: throws the first failure in time.
  void finish() {
    if (rested_) rest_.value.retire();
    if (std::uint32_t const i = first_failed_.get(); i != first_failed_.none) // ordered by left_
      std::rethrow_exception(all_[i].error());
  }

  // Instead of begin() and finish(): queues all, and the coroutine goes on.
  void start_all() noexcept;
  /// The same, but each runs here, at once, until it is suspended for the first time.
  void begin_all_here() noexcept;
  /// To be awaited once: waits until all members have ended.
  [[nodiscard]] wait_for_rest& rest() noexcept { return *std::construct_at(&rest_.value, *this); }
};

/// Decides which members were the first to succeed, or to end, or were claimed before they could. The
/// coroutine awaits it: until as many as are wanted have succeeded, or too few can. docs/design/races.md
class group_race final : public wait_operation, public race {
  enum class state : unsigned char { open, awaited, decided };
  std::atomic<state> state_{state::open};
  decided_by const by_;
  std::uint32_t const spare_;        ///< as many may fail, and not one more
  countdown<std::uint32_t> missing_; ///< successes that are still wanted
  relaxed<std::uint32_t> failures_;  ///< of members that had not won
  first_of<std::uint32_t> failed_;   ///< the member whose failure decides

  [[nodiscard]] bool insert() noexcept override;
  [[nodiscard]] bool remove() noexcept override { return false; }
  void decide() noexcept;

public:
  /// `several`: of those that are wanted, if that is more than one.
  group_race(std::size_t number, decided_by by, std::size_t wanted = 1, winners* several = nullptr) noexcept
      : wait_operation(ends::with_children)
      , race(several)
      , by_(by)
      , spare_(static_cast<std::uint32_t>(number - wanted))
      , missing_(static_cast<std::uint32_t>(wanted)) {}
  void note(std::uint32_t index, bool success) noexcept;

  [[nodiscard]] bool await_ready() const noexcept {
    return state_.load(std::memory_order_acquire) == state::decided; // acquire: pairs with decide()
  }

  /// Called after all have ended: throws the failure that has decided it, if one has.
  void throw_failure(auto& members) const {
    if (std::uint32_t const i = failed_.get(); i != failed_.none) std::rethrow_exception(members[i].error());
  }
};

/// A group of the tasks in a tuple or a vector. `around` and `how`: as for fork_group.
template<class Tasks>
class fork_group_of;

template<class... Ts>
class fork_group_of<std::tuple<rubato::task<Ts>...>> {
  group_member all_[sizeof...(Ts)];

public:
  using values_type = std::tuple<value_of<Ts>...>;
  using value_type = std::variant<value_in_std<Ts>...>;
  fork_group group;

  template<class Around, class How>
  fork_group_of(Around& around, How&& how, std::tuple<rubato::task<Ts>...>&& tasks)
      : group(all_, sizeof...(Ts), around, how) {
    std::apply(
        [this, i = std::size_t{0}](auto&... t) mutable { (all_[i++].adopt(group, std::move(t)), ...); },
        tasks);
  }
  [[nodiscard]] group_member& operator[](std::size_t i) noexcept { return all_[i]; }

  // After they have ended without exceptions.
  [[nodiscard]] values_type values() {
    return [this]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      return values_type{all_[I].template result<Ts>().take()...};
    }(std::index_sequence_for<Ts...>());
  }
  [[nodiscard]] value_type value(std::size_t index) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      using function = value_type (*)(group_member&);
      static constexpr function table[] = {[](group_member& s) {
        return value_type(std::in_place_index<I>, in_std<Ts>(s.template result<Ts>().take()));
      }...};
      return table[index](all_[index]);
    }(std::index_sequence_for<Ts...>());
  }
};

template<class T>
class fork_group_of<std::vector<rubato::task<T>>> {
  std::vector<group_member> all_; // of a fixed length: a member is not moved

public:
  using values_type = std::vector<value_in_std<T>>;
  using value_type = value_in_std<T>;
  fork_group group;

  template<class Around, class How>
  fork_group_of(Around& around, How&& how, std::vector<rubato::task<T>>&& tasks)
      : all_(tasks.size())
      , group(all_.data(), tasks.size(), around, how) {
    for (std::size_t i = 0; i != tasks.size(); ++i) all_[i].adopt(group, std::move(tasks[i]));
  }
  [[nodiscard]] group_member& operator[](std::size_t i) noexcept { return all_[i]; }

  [[nodiscard]] values_type values() {
    values_type all;
    all.reserve(all_.size());
    for (std::size_t i = 0; i != all_.size(); ++i) all.push_back(value(i));
    return all;
  }
  [[nodiscard]] value_type value(std::size_t i) { return in_std<T>(all_[i].template result<T>().take()); }
};

/// A group of one task, for start_all().
template<class T>
class group_of_one : public fork_group_of<std::tuple<rubato::task<T>>> {
public:
  group_of_one(stop_scope& around, rubato::task<T>&& t)
      : fork_group_of<std::tuple<rubato::task<T>>>(around, nullptr, std::tuple(std::move(t))) {}
  [[nodiscard]] std::exception_ptr error() noexcept { return (*this)[0].error(); }
  /// After it has ended: throws std::bad_alloc if there was no memory to begin it.
  void throw_if_memory_lacked() { (*this)[0].throw_if_memory_lacked(); }
  decltype(auto) take() { return (*this)[0].template result<T>().take(); }
};

template<class T>
rubato::task<T> run_shielded(rubato::task<T> awaited) {
  stop_scope shield{stop_scope::shield()};
  group_of_one<T> work(shield, std::move(awaited));
  work.group.start_all();
  co_await work.group.rest();
  if (std::exception_ptr const error = work.error(); error != nullptr) std::rethrow_exception(error);
  if constexpr (std::is_void_v<T>)
    work.take();
  else
    co_return work.take();
}

} // namespace rubato::detail
