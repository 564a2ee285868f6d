// Groups whose members are lines of execution of their own from the beginning: they are stopped apart from
// the coroutine that awaits them. Of when_any(), when_first(), when_some(), with_deadline(), shielded().
// docs/design/races.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/coro/group.hpp"
#include "rubato/detail/sync/race.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace rubato::detail {

/// Decides which members were the first to succeed, or to end, or were claimed before they could. The
/// coroutine awaits it: until as many as are wanted have succeeded, or too few can. docs/design/races.md
class RUBATO_API group_race final : public wait_operation, public race {
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
  void throw_failure(auto& group) const {
    if (std::uint32_t const i = failed_.get(); i != failed_.none)
      std::rethrow_exception(group.take_failure(i));
  }
};

class RUBATO_API queued_group : public group_base {
  /// The wait of the coroutine.
  class wait_for_all final : public wait_operation {
    queued_group& group_;
    [[nodiscard]] bool insert() noexcept override { return !group_.left_.arrive(); }
    [[nodiscard]] bool remove() noexcept override { return false; }

  public:
    explicit wait_for_all(queued_group& g) noexcept
        : wait_operation(ends::with_children)
        , group_(g) {}
  };
  coroutine_task& of_;
  stop_scope& around_;
  countdown<std::uint32_t> left_; ///< members that have not ended, and one for the coroutine
  group_race* const race_;
  uninitialized<wait_for_all> rest_; ///< built when it is awaited

  void one_has_ended(std::uint32_t index) noexcept;

protected:
  /// `Group` has all(), size() and slot_at(i).
  template<class Group>
  static constexpr functions functions_of{
      [](group_base& g) noexcept { return static_cast<Group&>(g).all(); },
      [](group_base& g) noexcept { return static_cast<Group&>(g).size(); },
      [](group_base& g, std::uint32_t i) noexcept { return static_cast<Group&>(g).slot_at(i); },
      [](group_base& g) noexcept -> stop_scope& { return static_cast<Group&>(g).around_; },
      [](group_base& g) noexcept -> coroutine_task& { return static_cast<Group&>(g).of_; },
      [](group_base& g, std::uint32_t i) noexcept { static_cast<Group&>(g).one_has_ended(i); },
      [](group_base& g, std::uint32_t i) noexcept { return race_entry{static_cast<Group&>(g).race_, i}; }};

  /// In the coroutine that will await it. `around`: what the members stop with. `among`: null: no race.
  queued_group(functions const& f, std::size_t size, stop_scope& around, group_race* among) noexcept
      : group_base(f)
      , of_(*this_trampoline().running)
      , around_(around)
      , left_(static_cast<std::uint32_t>(size) + 1)
      , race_(among) {}
  ~queued_group() = default;
  /// Of the members that have not begun, by the destructor of the class that has the members.
  void destroy_frames() noexcept;

public:
  /// Queues all, and the coroutine goes on.
  void start_all() noexcept;
  /// The same, but each runs here, at once, until it is suspended for the first time.
  void begin_all_here() noexcept;
  /// To be awaited once, after one of these: waits until all members have ended.
  [[nodiscard]] wait_for_all& rest() noexcept { return *std::construct_at(&rest_.value, *this); }

  /// The exception of a member, moved out; null: it has a value.
  [[nodiscard]] std::exception_ptr take_failure(std::size_t index) noexcept {
    any_slot const s = slot(static_cast<std::uint32_t>(index));
    return s.has_failed() ? s.take_failure() : nullptr;
  }
};

/// A queued group of the tasks in a tuple or a vector.
template<class Tasks>
class queued_group_of;

template<class... Ts>
class queued_group_of<std::tuple<rubato::task<Ts>...>> : public queued_group {
  friend class queued_group;
  static constexpr auto every = std::index_sequence_for<Ts...>();
  std::array<group_member, sizeof...(Ts)> members_;
  std::tuple<result_slot<Ts>...> slots_;

  [[nodiscard]] static constexpr std::uint32_t size() noexcept { return sizeof...(Ts); }
  [[nodiscard]] group_member* all() noexcept { return members_.data(); }
  [[nodiscard]] any_slot slot_at(std::uint32_t i) noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      std::array<any_slot, sizeof...(Ts)> const slots{any_slot(std::get<I>(slots_))...};
      return slots[i];
    }(every);
  }

  template<std::size_t... I>
  queued_group_of(std::index_sequence<I...> /*all*/, stop_scope& around, group_race* among,
                  std::tuple<rubato::task<Ts>...>& tasks)
      : queued_group(functions_of<queued_group_of>, sizeof...(Ts), around, among)
      , members_{group_member(*this, std::get<I>(tasks))...} {
    (members_[I].goes_to(std::get<I>(slots_)), ...);
  }

public:
  using value_type = std::variant<value_in_std<Ts>...>;

  queued_group_of(stop_scope& around, group_race* among, std::tuple<rubato::task<Ts>...>&& tasks)
      : queued_group_of(
            every, around, among,
            (std::apply([](auto&... t) { (static_cast<void>(task_access::unbegun(t)), ...); }, tasks),
             tasks)) {}
  ~queued_group_of() { this->destroy_frames(); }

  // Of a member that has a value.
  template<std::size_t I>
  [[nodiscard]] decltype(auto) take() {
    return std::get<I>(slots_).take();
  }
  [[nodiscard]] value_type value(std::size_t index) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      using function = value_type (*)(queued_group_of&);
      static constexpr function table[] = {[](queued_group_of& g) {
        return value_type(std::in_place_index<I>,
                          in_std<std::tuple_element_t<I, std::tuple<Ts...>>>(g.template take<I>()));
      }...};
      return table[index](*this);
    }(every);
  }
};

template<class T>
class queued_group_of<std::vector<rubato::task<T>>> : public queued_group {
  friend class queued_group;
  member_block<T> block_;

  [[nodiscard]] std::uint32_t size() const noexcept { return block_.number(); }
  [[nodiscard]] group_member* all() const noexcept { return block_.members(); }
  [[nodiscard]] any_slot slot_at(std::uint32_t i) const noexcept { return any_slot(block_.slot(i)); }

public:
  using value_type = value_in_std<T>;

  queued_group_of(stop_scope& around, group_race* among, std::vector<rubato::task<T>>&& tasks)
      : queued_group(functions_of<queued_group_of>, (check_unbegun(tasks), tasks.size()), around, among)
      , block_(*this, tasks.begin(), tasks.size()) {}
  ~queued_group_of() { this->destroy_frames(); }

  [[nodiscard]] value_type value(std::size_t i) { return in_std<T>(block_.slot(i).take()); }
};

/// A group of one task.
template<class T>
class group_of_one : public queued_group_of<std::tuple<rubato::task<T>>> {
public:
  group_of_one(stop_scope& around, rubato::task<T>&& t)
      : queued_group_of<std::tuple<rubato::task<T>>>(around, nullptr, std::tuple(std::move(t))) {}
  /// The exception of the member, which has ended; null: it has a value.
  [[nodiscard]] std::exception_ptr take_failure() noexcept { return queued_group::take_failure(0); }
  decltype(auto) take_result() { return this->template take<0>(); }
};

template<class T>
rubato::task<T> run_shielded(rubato::task<T> awaited) {
  stop_scope shield{stop_scope::shield()};
  group_of_one<T> work(shield, std::move(awaited));
  work.start_all();
  co_await work.rest();
  if (std::exception_ptr const error = work.take_failure(); error != nullptr) std::rethrow_exception(error);
  if constexpr (std::is_void_v<T>)
    work.take_result();
  else
    co_return work.take_result();
}

} // namespace rubato::detail
