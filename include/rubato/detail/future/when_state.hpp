// The arguments of when_all(), when_any() and when_first(), if all are futures, and their states. That of
// when_some() is in when_some_state.hpp.
// docs/design/futures.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/memory/slab_array.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/future.hpp"

#include <cstddef>
#include <exception>
#include <ranges>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rubato::detail {

/// One input: a result that the state waits for.
struct when_input : relay_waiter {
  std::size_t index = 0;
  state_ref source;
  bool owned = true; ///< of a future; false: of a shared future
  when_input() noexcept
      : relay_waiter(nullptr, nullptr) {} // the state sets both
  [[nodiscard]] std::exception_ptr error() noexcept { return owned ? source->take_error() : source->error(); }
};

/// The value of an input: moved out of a future, copied out of a shared future.
template<class T>
value_of<T> value_from(when_input& g) {
  auto slot = result_of<T>(*g.source.get());
  // Only copyable values are shared here: see put_input().
  if constexpr (!std::is_void_v<T> && (std::is_reference_v<T> || std::is_copy_constructible_v<T>))
    if (!g.owned) return static_cast<value_of<T>>(slot.look());
  return slot.take();
}

/// Inputs of different types.
template<class... Ts>
struct tuple_inputs {
  using all_type = std::tuple<value_of<Ts>...>;
  using any_type = std::variant<value_in_std<Ts>...>;

  when_input all[sizeof...(Ts)];

  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof...(Ts); }
  [[nodiscard]] when_input& operator[](std::size_t i) noexcept { return all[i]; }

  [[nodiscard]] all_type values() {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      return all_type{value_from<Ts>(all[I])...};
    }(std::index_sequence_for<Ts...>());
  }
  [[nodiscard]] any_type value(std::size_t i) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      using function = any_type (*)(when_input&);
      static constexpr function table[] = {
          [](when_input& g) { return any_type(std::in_place_index<I>, in_std<Ts>(value_from<Ts>(g))); }...};
      return table[i](all[i]);
    }(std::index_sequence_for<Ts...>());
  }
};

/// Any number of inputs of one type.
template<class T>
struct range_inputs {
  using all_type = std::vector<value_in_std<T>>;
  using any_type = value_in_std<T>;

  slab_array<when_input> all;

  explicit range_inputs(std::size_t n)
      : all(n) {}
  [[nodiscard]] std::size_t size() const noexcept { return all.size(); }
  [[nodiscard]] when_input& operator[](std::size_t i) noexcept { return all[i]; }

  [[nodiscard]] all_type values() {
    if constexpr (std::is_void_v<T>) return all_type(size());
    all_type made;
    made.reserve(size());
    for (std::size_t i = 0; i != size(); ++i) made.push_back(value(i));
    return made;
  }
  [[nodiscard]] any_type value(std::size_t i) { return in_std<T>(value_from<T>(all[i])); }
};

/// The common handling of inputs.
template<class Result, class Inputs>
class when_state : public state_of<Result> {
  future_state* next_to_ask_ = nullptr;

  static void input_ended(future_waiter& base, completions& more) noexcept {
    auto& g = static_cast<when_input&>(base);
    static_cast<when_state*>(g.target)->arrived(g, more);
  }

protected:
  Inputs inputs_;

  explicit when_state(Inputs&& in) noexcept
      : state_of<Result>(2)
      , inputs_(std::move(in)) {
    for (std::size_t i = 0; i != inputs_.size(); ++i) {
      when_input& g = inputs_[i];
      g.fire = &input_ended;
      g.target = this;
      g.index = i;
      if (this->home() == nullptr) this->set_home(g.source->home()); // its likely pool
    }
  }

  /// An input has ended. If this gives the state its result, the state goes to `more`.
  virtual void arrived(when_input& g, completions& more) noexcept = 0;
  /// It was cancelled, and stops waiting for one of its inputs, as if that input had failed.
  virtual void leave_input() noexcept = 0;

  void fail_as(when_input& g) noexcept {
    this->was_cut = g.source->is_cut();
    this->fail(g.error());
  }

  /// Calls ask(input) for each owned input but one, then leave(input): is the state to leave it? And left(),
  /// if the state waited for it.
  template<class Stop, class Leave, class Left>
  void stop_inputs(std::size_t but, Stop ask, Leave leave, Left left) noexcept {
    // The newest waiter first: many copies of one shared future are many waiters in one list.
    for (std::size_t i = inputs_.size(); i-- != 0;) {
      if (i == but) continue;
      when_input& g = inputs_[i];
      state_ref const input = g.source;
      if (g.owned) ask(*input.get());
      if (leave(g) && input->waiters.remove(g)) left();
    }
  }
  /// True if the state does not wait for this input after a failure: it has other owners, or no work runs for
  /// it.
  [[nodiscard]] static bool may_leave(when_input const& g) noexcept {
    return ends_without(*g.source.get(), g.owned);
  }

public:
  void cancel_inputs(cancellation& all) noexcept override {
    stop_inputs(
        inputs_.size(), [&all](future_state& s) { all.add(s); }, &may_leave, [this] { leave_input(); });
  }
  [[nodiscard]] future_state** next_to_ask() noexcept override { return &next_to_ask_; }
  [[nodiscard]] bool is_work() const noexcept override { return false; }
  [[nodiscard]] future_state* pending_input(std::size_t& index) noexcept override {
    while (index < inputs_.size())
      if (state_ref const& source = inputs_[index++].source; !source->done()) return state_ref(source).take();
    return nullptr;
  }
};

/// All values, or the first failure in time, once all awaited inputs have ended. The first failure asks the
/// other inputs to stop; the state then waits only for inputs whose work it owns.
template<class Inputs>
class when_all_state final : public when_state<typename Inputs::all_type, Inputs> {
  static constexpr std::size_t none = first_of<std::size_t>::none, by_cancel = none - 1;
  first_of<std::size_t> failed_;
  countdown<std::size_t> left_;

  using when_state<typename Inputs::all_type, Inputs>::may_leave;

  void arrived(when_input& g, completions& more) noexcept override {
    note(g);
    if (count_down()) more.push(g); // else the state may be gone
  }

  void note(when_input& g) noexcept {
    // If it is the first failure: its own input is not counted down yet, so the state cannot complete
    // meanwhile.
    if (g.source->has_failed() && failed_.claim(g.index))
      this->stop_inputs(
          g.index, [](future_state& s) { s.cancel(); }, &may_leave,
          [this] { static_cast<void>(count_down()); }); // not the last
  }
  void leave_input() noexcept override {
    static_cast<void>(failed_.claim(by_cancel)); // cancel() has asked all inputs to stop
    if (count_down()) this->complete();
  }

  [[nodiscard]] bool count_down(std::size_t ended = 1) noexcept {
    if (!left_.arrive(ended)) return false;
    if (std::size_t const i = failed_.get(); i == by_cancel)
      this->fail(cancelled_error());
    else if (i != none)
      this->fail_as(this->inputs_[i]);
    else
      this->slot().fill([this] { return this->inputs_.values(); });
    return true;
  }

  /// False: the state does not wait for this input.
  [[nodiscard]] bool await_input(when_input& g) noexcept {
    // A failure that this misses is found by begin(), or finds this input.
    if (may_leave(g) && failed_.get() != none) return false;
    if (!g.source->waiters.add(g)) {
      note(g);
      return false;
    }
    return true;
  }

public:
  explicit when_all_state(Inputs&& in) noexcept
      : when_state<typename Inputs::all_type, Inputs>(std::move(in))
      , left_(this->inputs_.size() + 1) {} // one for begin()

  /// Called once: from now on it may complete. The caller has a reference.
  void begin() noexcept {
    std::size_t ended = 1; // this call's own part
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) ended += await_input(this->inputs_[i]) ? 0U : 1U;
    // Either stop_inputs() finds an input that was added above, or this thread the failure. The thread that
    // removes the input counts it down.
    if (failed_.is_claimed_now()) [[unlikely]]
      for (std::size_t i = 0; i != this->inputs_.size(); ++i)
        if (when_input& g = this->inputs_[i]; may_leave(g) && g.source->waiters.remove(g)) ++ended;
    if (count_down(ended)) this->complete();
  }
};

/// The index of the first input that succeeded, and its value.
template<class Value>
struct any_result {
  std::size_t index;
  Value value;
};

/// The first input that decides it; of when_any(), if all fail, the last failure. The thread that completes
/// the winner asks the losers to stop; the state does not wait for them.
template<class Inputs, decided_by By>
class when_one_state final : public when_state<any_result<typename Inputs::any_type>, Inputs> {
  using result = any_result<typename Inputs::any_type>;
  static constexpr std::size_t none = first_of<std::size_t>::none;
  first_of<std::size_t> winner_;
  countdown<std::size_t> left_;

  void arrived(when_input& g, completions& more) noexcept override {
    if (note(g)) more.push(g);
    this->release(); // this input's hold
  }

  /// Once it is asked to stop, it waits for all work of its inputs: a failure does not decide it any more.
  [[nodiscard]] bool may_decide(when_input& g) const noexcept {
    return !g.source->has_failed() || (By == decided_by::any_end && !this->asked.is_raised());
  }
  /// True: the state has its result.
  [[nodiscard]] bool note(when_input& g) noexcept {
    bool const wins = may_decide(g) && winner_.claim(g.index);
    if (wins) {
      if (By == decided_by::any_end && g.source->has_failed())
        this->fail_as(g);
      else
        this->slot().fill([&] { return result{g.index, this->inputs_.value(g.index)}; });
      this->stop_inputs(
          g.index, [](future_state& s) { s.cancel(); }, [](when_input const&) { return true; },
          [this] { this->release(); }); // its hold
    }
    bool const was_last = count_down();
    if (was_last) this->fail_as(g);
    return wins || was_last;
  }
  /// True: all inputs have ended, and none has won.
  [[nodiscard]] bool count_down() noexcept { return left_.arrive() && winner_.get() == none; }
  void leave_input() noexcept override {
    if (count_down()) {
      this->fail(cancelled_error());
      this->complete();
    }
    this->release(); // this input's hold
  }

public:
  explicit when_one_state(Inputs&& in) noexcept
      : when_state<result, Inputs>(std::move(in))
      , left_(this->inputs_.size()) {
    // Each input has a reference to the state until it has fired or is taken out.
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) this->hold();
  }

  void begin() noexcept {
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) {
      when_input& g = this->inputs_[i];
      // A winner that this misses is found below, or finds this input.
      if (winner_.get() == none) {
        if (g.source->waiters.add(g)) {
          // Either stop_inputs() finds the input, or this thread the winner. The thread that removes the
          // input releases its reference.
          if (!winner_.is_claimed_now() || !g.source->waiters.remove(g)) continue;
        } else if (note(g)) {
          this->complete();
        }
      }
      this->release(); // its hold
    }
  }
};

template<class Inputs>
using when_any_state = when_one_state<Inputs, decided_by::success>;
template<class Inputs>
using when_first_state = when_one_state<Inputs, decided_by::any_end>;

/// For the ranges of when_any() and when_first().
void refuse_none_of(auto const& all) {
  if (std::size(all) == 0)
    throw std::invalid_argument("rubato: when_any() or when_first() of nothing would never be ready");
}

template<class A>
inline constexpr bool is_some_future =
    is_future<std::remove_cvref_t<A>>::value || is_shared_future<std::remove_cvref_t<A>>::value;

/// Called for all inputs before the first is moved from, and for each again: a future may be passed twice.
template<class F>
void check_input(F const& f) {
  if (!f.valid())
    throw_no_state("rubato: when_all(), when_any() or when_first() of a future that has no state");
}

template<class F>
void put_input(when_input& g, F&& f) {
  using type = std::remove_cvref_t<F>;
  using value = typename type::value_type;
  static_assert(
      is_future<type>::value || std::is_void_v<value> || std::is_reference_v<value> ||
          std::is_copy_constructible_v<value>,
      "rubato: when_all(), when_any() and when_first() copy the value of a shared_future, and this one "
      "cannot be copied");
  check_input(f);
  g.owned = is_future<type>::value;
  if constexpr (is_future<type>::value || !std::is_lvalue_reference_v<F>)
    g.source = std::move(future_access::state(f));
  else
    g.source = future_access::state(f);
}

template<class... Fs>
auto inputs_of(Fs&&... fs) {
  (check_input(fs), ...);
  tuple_inputs<typename std::remove_cvref_t<Fs>::value_type...> in;
  std::size_t i = 0;
  (put_input(in[i++], std::forward<Fs>(fs)), ...);
  return in;
}

/// From an array, whose elements are different objects. `Ours`: its shared futures may be moved from.
template<bool Ours, class Element>
auto inputs_of_array(Element* first, std::size_t number) {
  using element = std::remove_const_t<Element>;
  constexpr bool moves = is_future<element>::value || (Ours && !std::is_const_v<Element>);
  using taken = std::conditional_t<moves, element&&, element const&>;
  for (std::size_t i = 0; i != number; ++i) check_input(first[i]);
  range_inputs<typename element::value_type> in(number);
  for (std::size_t i = 0; i != number; ++i) put_input(in[i], static_cast<taken>(first[i]));
  return in;
}

/// From any other range.
template<class Element, class Taken, class Range>
auto inputs_of_others(Range&& range) {
  // A view whose elements are values may make them as it is read, so it is read once.
  if constexpr (std::ranges::forward_range<Range> &&
                std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>>)
    for (auto const& f : range) check_input(f);
  std::vector<Element> all; // what throws below drops them, which asks their work to stop
  if constexpr (std::ranges::sized_range<Range>) all.reserve(std::ranges::size(range));
  for (auto&& f : range) all.push_back(static_cast<Taken>(f));
  return inputs_of_array<true>(all.data(), all.size());
}

template<class Range>
auto inputs_of_range(Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  using taken = std::conditional_t<is_shared_future<element>::value, element const&, element&&>;
  constexpr bool ours = !std::is_lvalue_reference_v<Range> && !std::ranges::borrowed_range<Range>;
  if constexpr (std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>)
    return inputs_of_array<ours>(std::ranges::data(range), std::ranges::size(range));
  else
    return inputs_of_others<element, taken>(std::forward<Range>(range));
}
template<class Range>
auto some_inputs_of(Range&& range) {
  auto in = inputs_of_range(std::forward<Range>(range));
  refuse_none_of(in);
  return in;
}

template<template<class> class State, class Inputs>
auto gather(Inputs in) {
  using type = State<Inputs>;
  using result = std::remove_cvref_t<decltype(std::declval<type&>().slot().take())>;
  auto* const made = make_in_slab<type>(std::move(in));
  future<result> out = future_access::make<result>(state_ref(made));
  made->begin();
  return out;
}

template<class Range>
concept future_range = std::ranges::input_range<Range> && is_some_future<std::ranges::range_value_t<Range>>;

} // namespace rubato::detail
