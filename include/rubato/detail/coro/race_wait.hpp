// A coroutine's wait for several one-step operations, of which one takes effect. docs/design/races.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/as_task.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/future/when_state.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/task.hpp"

#include <array>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rubato::detail {

/// An operation that another thread completes in one step, under the lock of the object that it waits for.
template<class A>
concept one_step = requires { requires std::remove_cvref_t<A>::is_one_step; };

/// What takes part in a race for it.
template<one_step A>
[[nodiscard]] waiter& racer_of(A& a) noexcept {
  if constexpr (requires { a.racer(); })
    return a.racer();
  else
    return a;
}

/// One that waits for time: a drain of the pool ends it, and no other operation of its race.
template<class A>
concept timed_step = one_step<A> && requires { requires std::remove_cvref_t<A>::is_timed; };

/// A mixed Weyl sequence: callers that alternate must not always get the same operation first. A lost
/// update does no harm.
[[nodiscard]] inline std::size_t next_turn() noexcept {
  static constinit relaxed<std::uint32_t> turn;
  std::uint32_t now = turn.get() + 0x9e37'79b9U;
  turn.set(now);
  now = (now ^ (now >> 16U)) * 0x7feb'352dU;
  now = (now ^ (now >> 15U)) * 0x846c'a68bU;
  return now ^ (now >> 16U);
}
/// The operation that any_step() looks at first. The first argument, or, so that neither a late tick nor a
/// busy channel keeps the other waiting for ever, each in turn.
template<one_step... As>
[[nodiscard]] std::size_t first_step(std::size_t number) noexcept {
  if constexpr ((timed_step<As> || ...)) return next_turn() % number;
  return 0;
}

/// Yields the index of the operation that has taken effect. The operations are in the coroutine's frame.
class race_wait final : public wait_operation, race {
  waiter* const* const all_;
  std::uint32_t const count_;
  std::uint32_t const first_;
  std::uint32_t entered_ = 0; ///< number of operations put into lists, from first_ on
  bool const drains_;         ///< the pool had begun to drain before: no timed operation takes part
  bool survives_drain_ = false;

  [[nodiscard]] static race_wait& of(race& r) noexcept { return static_cast<race_wait&>(r); }
  [[nodiscard]] std::uint32_t nth(std::uint32_t n) const noexcept { return (first_ + n) % count_; }

  [[nodiscard]] bool insert() override {
    for (; entered_ != count_; ++entered_) {
      std::uint32_t const i = nth(entered_);
      if (drains_ && all_[i]->timed) continue;
      // If the operation ended here, no other thread ends the wait; if it lost, the thread that claimed the
      // race does.
      if (!all_[i]->begin_race()) return winner() != i;
    }
    return true;
  }
  [[nodiscard]] bool remove() noexcept override { return claim(stopped); }
  /// Takes the losers out of their lists. It takes the lock of each list, under which other threads look at
  /// this.
  void leave() noexcept {
    for (; entered_ != 0; --entered_)
      if (std::uint32_t const i = nth(entered_ - 1); i != winner()) all_[i]->leave_race();
  }

public:
  race_wait(waiter* const* all, std::size_t number, std::size_t first) noexcept
      : race([](race& r, bool by_event) noexcept {
        of(r).end_wait(by_event ? made_ready_by::event : made_ready_by::task);
      })
      , all_(all)
      , count_(static_cast<std::uint32_t>(number))
      , first_(static_cast<std::uint32_t>(first))
      , drains_(this_trampoline().running->scope().level() == stop_level::draining) {
    bool has_timed = false;
    for (std::uint32_t i = 0; i != count_; ++i) {
      all_[i]->enter(*this, i);
      (all_[i]->timed ? has_timed : survives_drain_) = true;
    }
    timed = has_timed && !(drains_ && survives_drain_);
  }
  ~race_wait() {
    retire();
    leave();
  }
  /// Yields the number of operations if a drain has ended the wait, and only some of them: the caller waits
  /// again, for the others.
  [[nodiscard]] std::size_t await_resume() {
    bool const was_stopped = retire();
    leave();
    if (!was_stopped) return winner();
    bool const drains = this_trampoline().running->scope().level() == stop_level::draining;
    if (timed && survives_drain_ && drains) return count_;
    throw cancelled();
  }
};

/// Operations of different types.
template<one_step... As>
class racers {
  std::tuple<As...> all_;
  std::array<waiter*, sizeof...(As)> waiters_;

  template<std::size_t... I>
  [[nodiscard]] std::array<waiter*, sizeof...(As)> addresses(std::index_sequence<I...> /*all*/) noexcept {
    return {&racer_of(std::get<I>(all_))...};
  }

  // Sends of the same object: only one of them takes effect.
  template<std::size_t I, std::size_t... Earlier>
  void share_value(std::index_sequence<Earlier...> /*all*/) noexcept {
    [[maybe_unused]] auto const share = [](auto& later, auto& earlier) {
      if constexpr (requires { later.share_value_of(earlier); }) later.share_value_of(earlier);
    };
    (share(std::get<I>(all_), std::get<Earlier>(all_)), ...);
  }
  template<std::size_t... I>
  void share_values(std::index_sequence<I...> /*all*/) noexcept {
    (share_value<I>(std::make_index_sequence<I>()), ...);
  }

public:
  static constexpr std::size_t number = sizeof...(As), none = number;

  explicit racers(As&&... steps)
      : all_(static_cast<As&&>(steps)...)
      , waiters_(addresses(std::index_sequence_for<As...>())) {
    share_values(std::index_sequence_for<As...>());
  }
  racers(racers const&) = delete;
  racers& operator=(racers const&) = delete;
  [[nodiscard]] waiter* const* waiters() const noexcept { return waiters_.data(); }

  /// Calls f with the operation of that index.
  template<class F>
  void with(std::size_t index, F f) {
    [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      static_cast<void>(((index == I && (f.template operator()<I>(std::get<I>(all_)), true)) || ...));
    }(std::index_sequence_for<As...>());
  }
  /// The first operation, from index `first` on, that need not wait: it has taken effect.
  [[nodiscard]] std::size_t find_ready(std::size_t first) {
    for (std::size_t n = 0; n != number; ++n) {
      std::size_t const i = (first + n) % number;
      bool ready = false;
      with(i, [&]<std::size_t>(auto& a) { ready = a.await_ready(); });
      if (ready) return i;
    }
    return none;
  }
};

/// The result of an operation that has taken effect, in a type that std types can hold.
template<class Racer>
[[nodiscard]] auto stored_result(Racer& a) {
  using type = decltype(a.await_resume());
  if constexpr (std::is_void_v<type>) {
    a.await_resume();
    return std::monostate();
  } else {
    return a.await_resume();
  }
}

/// when_any() of one-step operations alone.
template<one_step... As>
rubato::task<any_result<std::variant<value_in_std<awaited_t<As>>...>>> any_step(As... steps) {
  using value = std::variant<value_in_std<awaited_t<As>>...>;
  co_await ready_wait(); // before one of them takes effect
  racers<As...> all(std::move(steps)...);
  std::size_t const first = first_step<As...>(all.number);
  std::size_t winner = all.find_ready(first);
  while (winner == all.none) {
    race_wait wait(all.waiters(), all.number, first);
    winner = co_await wait;
  }
  std::optional<value> made;
  all.with(winner, [&]<std::size_t I>(auto& a) { made.emplace(std::in_place_index<I>, stored_result(a)); });
  co_return any_result<value>{winner, std::move(*made)};
}
template<one_step A>
rubato::task<any_result<value_in_std<awaited_t<A>>>> any_step_of(std::vector<A> from) {
  co_await ready_wait();
  std::vector<A> steps = std::move(from); // a parameter would outlive the coroutine task
  std::size_t const number = steps.size();
  std::vector<waiter*> waiters;
  waiters.reserve(number);
  std::size_t winner = number;
  for (A& a : steps) waiters.push_back(&racer_of(a));
  std::size_t const first = first_step<A>(number);
  for (std::size_t n = 0; n != number && winner == number; ++n)
    if (std::size_t const i = (first + n) % number; steps[i].await_ready()) winner = i;
  while (winner == number) {
    race_wait wait(waiters.data(), number, first);
    winner = co_await wait;
  }
  co_return any_result<value_in_std<awaited_t<A>>>{winner, stored_result(steps[winner])};
}
template<class Range>
[[nodiscard]] auto steps_of(Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  std::vector<element> all;
  for (auto&& a : range) all.push_back(static_cast<element&&>(a));
  return all;
}

// Beside tasks

/// Awaits an operation that shares its race with tasks that it does not know. Throws cancelled if it has
/// lost.
template<class Racer>
class shared_racer final : public own_awaitable {
  Racer& racer_;
  race& race_;
  std::uint32_t index_;

public:
  shared_racer(Racer& a, race& r, std::size_t index) noexcept
      : racer_(a)
      , race_(r)
      , index_(static_cast<std::uint32_t>(index)) {
    racer_of(racer_).enter(r, index_);
  }
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) {
    return racer_.await_suspend(h);
  }
  decltype(auto) await_resume() {
    if (!race_.is_claimed_by(index_)) throw cancelled(); // its destructor ends its part in the wait
    return racer_.await_resume();
  }
};

/// A task, or an awaitable that converts to one, as when_any() keeps it: a one-step operation stays as it is.
template<class A>
[[nodiscard]] auto as_part(A&& a) {
  if constexpr (one_step<A>)
    return std::decay_t<A>(std::forward<A>(a));
  else
    return as_task(std::forward<A>(a));
}

template<class T>
[[nodiscard]] rubato::task<T> as_racer(rubato::task<T>&& t, race& /*among*/, std::size_t /*index*/) {
  return std::move(t);
}
template<one_step A>
[[nodiscard]] rubato::task<awaited_t<A>> as_racer(A&& a, race& among, std::size_t index) {
  if constexpr (timed_step<A>) // not always: the others need not wait either
    if (next_turn() % 2 == 0) a.come_first(among, index);
  return [](A own, race& r, std::size_t i) -> rubato::task<awaited_t<A>> {
    A racer(std::move(own)); // a parameter would outlive the coroutine task
    shared_racer<A> wait(racer, r, i);
    co_return co_await wait;
  }(std::forward<A>(a), among, index);
}

} // namespace rubato::detail
