// The group of a when_all(): the coroutine runs its members one after the other unless another worker is
// free, forks as cheap as those of join(). docs/design/coroutines.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/coro/group.hpp"
#include "rubato/detail/sync/group_state.hpp"

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// In the frame of the awaiting coroutine. It is the join point at which that goes on where it does not call
/// its members: when it was suspended, or there was no room on the stack.
class forked_group : public group_base, join_point {
  /// The wait of the coroutine when no member is left to run in its place.
  class wait_for_rest final : public wait_operation {
    forked_group& group_;
    [[nodiscard]] bool insert() noexcept override { return group_.state_.wait_for(group_.elsewhere_); }
    [[nodiscard]] bool remove() noexcept override { return false; }

  public:
    explicit wait_for_rest(forked_group& g) noexcept
        : wait_operation(ends::with_children)
        , group_(g) {}
    using wait_operation::suspend;
  };
  // Not initialised: each is written before it is read, and most are not needed.
  coroutine_task* of_;
  uninitialized<scope_word> outer_; ///< in force again when the coroutine goes on
  std::uint32_t next_ = 0;          ///< the next member to run here; from 1 + elsewhere_ on they were forked
  std::uint32_t elsewhere_ = 0;     ///< the number of members that do not run here, as far as it is known
  group_state state_;
  uninitialized<std::exception_ptr> error_; ///< of the member that has failed first
  uninitialized<forked_group*> inner_;      ///< for build_scope()
  uninitialized<nested_scope> scope_;
  uninitialized<wait_for_rest> rest_;

  [[nodiscard]] void* join_address() noexcept { return static_cast<join_point*>(this); }
  void build_scope() noexcept;
  [[nodiscard]] bool may_begin(group_member const& m) noexcept;
  [[nodiscard]] bool find_next(std::uint32_t& here) noexcept;
  void leave_rest() noexcept;
  void pass_over(std::uint32_t index) noexcept;
  [[nodiscard]] RUBATO_API bool run_from(std::uint32_t here) noexcept;
  [[nodiscard]] bool join_rest() noexcept;
  RUBATO_API static void one_has_ended(void* group) noexcept;

  // Rare paths of run(). Each returns what run() does.
  [[nodiscard]] RUBATO_API bool begin_slowly() noexcept;
  [[nodiscard]] RUBATO_API bool go_on() noexcept;
  [[nodiscard]] RUBATO_API bool settle(std::uint32_t index) noexcept;
  RUBATO_API void note_failure(std::uint32_t index) noexcept;

public:
  // By any thread that keeps the group from ending.
  [[nodiscard]] RUBATO_API stop_scope& own_scope() noexcept;
  /// Of the scope that there is, or else of those around. Builds none.
  [[nodiscard]] stop_level level() noexcept;

protected:
  /// `Group` has all(), a constant size() or one that never changes, slot_at(i), and has_failed(i): member i,
  /// which has ended, has no value.
  template<class Group>
  static constexpr functions functions_of{
      [](group_base& g) noexcept { return static_cast<Group&>(g).all(); },
      [](group_base& g) noexcept { return static_cast<Group&>(g).size(); },
      [](group_base& g, std::uint32_t i) noexcept { return static_cast<Group&>(g).slot_at(i); },
      [](group_base& g) noexcept -> stop_scope& { return static_cast<Group&>(g).own_scope(); },
      [](group_base& g) noexcept -> coroutine_task& { return *static_cast<Group&>(g).of_; },
      [](group_base& g, std::uint32_t i) noexcept { static_cast<Group&>(g).one_ended_elsewhere(i); },
      [](group_base& /*g*/, std::uint32_t /*i*/) noexcept { return race_entry(); }};

  [[gnu::always_inline]] explicit forked_group(functions const& f) noexcept
      : group_base(f)
      , join_point(&one_has_ended) {}
  ~forked_group() = default;

  RUBATO_API void one_ended_elsewhere(std::uint32_t index) noexcept;
  RUBATO_API void clean_up() noexcept;

  /// From the destructor of the awaiter: the awaitable may outlive the scopes that the group is in.
  [[gnu::always_inline]] void end(std::uint32_t size) noexcept {
    if (next_ != size || !state_.is_plain()) [[unlikely]]
      clean_up();
  }
  /// The same from the destructor of the group, where the awaiter's may have called end().
  [[gnu::always_inline]] void end_unawaited() noexcept {
    if (next_ == 0) [[unlikely]]
      clean_up();
  }
  /// When the coroutine goes on: throws the first failure in time.
  [[gnu::always_inline]] void check() {
    if (!state_.is_plain()) [[unlikely]]
      leave_wait();
  }
  RUBATO_API void leave_wait();

  /// From await_suspend of the coroutine h: forks the members, and runs those that no other thread takes.
  /// True: all have ended. False: the coroutine is suspended, or members go on from the resumption loop.
  template<class Group, class P>
  [[nodiscard, gnu::always_inline]] static bool run(Group& self, std::coroutine_handle<P> h) noexcept {
    trampoline& t = own_trampoline;
    latent_chain& chain = current->chain;
    coroutine_task& of = *t.running;
    std::uint32_t const size = self.size();
    group_member* const all = self.all();
    self.promise().awaited_by(h);
    self.of_ = &of;
    scope_word const outer = of.in_force();
    self.outer_.value = outer;
    // What the common case has not: no room on the stack, a seat of its own, no workers, a thief's request, a
    // full chain, a stop request since the last look.
    if (stack_position() < t.fork_stack_end || chain.must_poll(size - 1) ||
        of.clear_at != stop_requests.get()) [[unlikely]]
      return self.begin_slowly();
    of.in_force(scope_word(static_cast<forked_group&>(self)));
    latent_chain::cell* place = nullptr;
    for (std::uint32_t i = size; --i != 0;) place = chain.push(&all[i]);
    self.next_ = 1;
    for (std::uint32_t i = 0;;) {
      own_promise::in(all[i].frame_).awaited_by(self);
      all[i].frame_.resume();
      if (t.next != self.join_address()) return false; // the group may be gone
      if (self.has_failed(i)) [[unlikely]]
        self.note_failure(i);
      if (++i == size) break;
      if (!chain.is_at(place)) [[unlikely]] // the members were queued: see coroutine_task::flush()
        return self.go_on();
      if (!chain.pop(place)) [[unlikely]]
        return self.settle(i);
      --place;
      self.next_ = i + 1;
      if (of.clear_at != stop_requests.get()) [[unlikely]]
        return self.run_from(i);
    }
    of.in_force(outer);
    return true;
  }
};

/// A result that its owner resets.
template<class R>
union unreset_slot {
  result_slot<R> value;
  [[gnu::always_inline]] unreset_slot() noexcept
      : value() {}
  [[gnu::always_inline]] ~unreset_slot() {} // NOLINT(modernize-use-equals-default)
  unreset_slot(unreset_slot const&) = delete;
  unreset_slot& operator=(unreset_slot const&) = delete;
};

/// A forked group of the tasks in a tuple, or in a range.
template<class Tasks>
class forked_group_of;

template<class... Ts>
class forked_group_of<std::tuple<rubato::task<Ts>...>> final : public forked_group {
  friend class forked_group;
  static constexpr std::uint32_t number_of = sizeof...(Ts);
  static constexpr auto every = std::index_sequence_for<Ts...>();
  std::array<group_member, number_of> members_;
  std::tuple<unreset_slot<Ts>...> slots_;

  [[nodiscard, gnu::always_inline]] static constexpr std::uint32_t size() noexcept { return number_of; }
  [[nodiscard, gnu::always_inline]] group_member* all() noexcept { return members_.data(); }
  [[nodiscard, gnu::always_inline]] bool has_failed(std::uint32_t i) noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      return ((I == i && std::get<I>(slots_).value.holds() != outcome::value) || ...);
    }(every);
  }
  [[nodiscard]] any_slot slot_at(std::uint32_t i) noexcept {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      std::array<any_slot, number_of> const slots{any_slot(std::get<I>(slots_).value)...};
      return slots[i];
    }(every);
  }
  template<std::size_t... I, class... From>
  [[gnu::always_inline]] forked_group_of(std::index_sequence<I...> /*all*/, From&... from) noexcept
      : forked_group(functions_of<forked_group_of>)
      , members_{group_member(*this, from)...} {
    (members_[I].goes_to(std::get<I>(slots_).value), ...);
  }
  template<std::size_t... I>
  forked_group_of(std::index_sequence<I...> all, forked_group_of& other, int /*moved*/) noexcept
      : forked_group_of(all, other.members_[I]...) {}

public:
  using values_type = std::tuple<value_of<Ts>...>;

  /// The caller has checked that each has a coroutine.
  [[gnu::always_inline]] explicit forked_group_of(rubato::task<Ts>&... tasks) noexcept
      : forked_group_of(every, tasks...) {}
  /// Of one that was not run.
  forked_group_of(forked_group_of&& other) noexcept
      : forked_group_of(every, other, 0) {}
  [[gnu::always_inline]] ~forked_group_of() {
    this->end_unawaited();
    constexpr bool trivial = (std::is_trivially_destructible_v<typename result_storage<Ts>::stored> && ...);
    // An exception is taken out of its slot before.
    if constexpr (!trivial) std::apply([](auto&... s) { (s.value.reset(), ...); }, slots_);
  }

  template<class P>
  [[nodiscard, gnu::always_inline]] bool run(std::coroutine_handle<P> h) noexcept {
    return forked_group::run(*this, h);
  }
  [[nodiscard, gnu::always_inline]] values_type take() {
    this->check();
    return [this]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      return values_type{std::get<I>(slots_).value.take_value()...};
    }(every);
  }
  [[gnu::always_inline]] void end_await() noexcept { this->end(number_of); }
};

template<class T>
class forked_group_of<std::vector<rubato::task<T>>> final : public forked_group {
  friend class forked_group;
  member_block<T> block_;

  [[nodiscard]] group_member* all() const noexcept { return block_.members(); }
  [[nodiscard]] bool has_failed(std::uint32_t i) const noexcept {
    return block_.slot(i).holds() != outcome::value;
  }
  [[nodiscard]] any_slot slot_at(std::uint32_t i) const noexcept { return any_slot(block_.slot(i)); }

public:
  /// The caller has checked that each has a coroutine.
  template<class Iterator>
  forked_group_of(Iterator tasks, std::size_t n)
      : forked_group(functions_of<forked_group_of>)
      , block_(*this, tasks, n) {}
  ~forked_group_of() { this->end(size()); }
  [[nodiscard]] std::uint32_t size() const noexcept { return block_.number(); }

  template<class P>
  [[nodiscard]] bool run(std::coroutine_handle<P> h) noexcept {
    return size() == 0 || forked_group::run(*this, h);
  }
  /// Calls f(i, value) with each value, in order.
  template<class F>
  void take_each(F f) {
    this->check();
    for (std::size_t i = 0; i != size(); ++i) f(i, block_.slot(i).take_value());
  }
};

} // namespace rubato::detail
