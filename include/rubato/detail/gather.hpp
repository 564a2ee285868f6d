// A result made of several others. docs/design/futures.md
#pragma once

#include "rubato/detail/continuation.hpp"
#include "rubato/detail/future_state.hpp"
#include "rubato/detail/value_in_std.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rubato::detail {

class gathering;

/// One of the results that are waited for.
struct gathered : relay_waiter {
  gathering* owner = nullptr;
  std::size_t index = 0;
  state_ref source;
  bool owned = true; ///< a future's, else a shared future's
  gathered() noexcept;
};

/// What all gatherings share.
class gathering {
protected:
  ~gathering() = default;

public:
  /// An input has ended. If the state has its result by that it goes to `more`.
  virtual void arrived(gathered& g, completions& more) noexcept = 0;

  static void input_ended(future_waiter& base, completions& more) noexcept {
    auto& g = static_cast<gathered&>(base);
    g.owner->arrived(g, more);
  }
};

inline gathered::gathered() noexcept
    : relay_waiter(&gathering::input_ended, nullptr) {}

template<class T>
using in_tuple = value_of<T>;

/// The value of an input: moved out of a future, copied out of a shared one.
template<class T>
value_of<T> value_from(gathered& g) {
  auto slot = result_of<T>(*g.source.get());
  // Only what can be copied is shared here: see put_input().
  if constexpr (!std::is_void_v<T> && (std::is_reference_v<T> || std::is_copy_constructible_v<T>))
    if (!g.owned) return static_cast<value_of<T>>(slot.look());
  return slot.take();
}

template<class T>
[[nodiscard]] bool has_failed(gathered const& g) noexcept {
  return result_of<T>(*g.source.get()).has_error();
}
/// Moved out of a future, copied out of a shared one.
template<class T>
[[nodiscard]] std::exception_ptr error_of(gathered const& g) noexcept {
  auto slot = result_of<T>(*g.source.get());
  return g.owned ? slot.take_error() : slot.error();
}

/// Inputs of different types.
template<class... Ts>
struct tuple_inputs {
  template<class I>
  using type_at = std::tuple_element_t<I::value, std::tuple<std::type_identity<Ts>...>>;
  using all_type = std::tuple<in_tuple<Ts>...>;
  using any_type = std::variant<storable<Ts>...>;

  gathered all[sizeof...(Ts)];

  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof...(Ts); }
  [[nodiscard]] gathered& operator[](std::size_t i) noexcept { return all[i]; }

  [[nodiscard]] all_type values() {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      return all_type{value_from<Ts>(all[I])...};
    }(std::index_sequence_for<Ts...>());
  }
  [[nodiscard]] bool failed(std::size_t i) const noexcept {
    using function = bool (*)(gathered const&) noexcept;
    static constexpr function table[] = {&has_failed<Ts>...};
    return table[i](all[i]);
  }
  [[nodiscard]] std::exception_ptr error(std::size_t i) noexcept {
    using function = std::exception_ptr (*)(gathered const&) noexcept;
    static constexpr function table[] = {&error_of<Ts>...};
    return table[i](all[i]);
  }
  [[nodiscard]] any_type value(std::size_t i) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      using function = any_type (*)(gathered&);
      static constexpr function table[] = {
          [](gathered& g) { return any_type(std::in_place_index<I>, value_from<Ts>(g)); }...};
      return table[i](all[i]);
    }(std::index_sequence_for<Ts...>());
  }
};

/// Any number of inputs of one type.
template<class T>
struct range_inputs {
  using all_type = std::vector<storable<T>>;
  using any_type = storable<T>;

  std::unique_ptr<gathered[]> all;
  std::size_t count = 0;

  [[nodiscard]] std::size_t size() const noexcept { return count; }
  [[nodiscard]] gathered& operator[](std::size_t i) noexcept { return all[i]; }

  [[nodiscard]] all_type values() {
    all_type made;
    made.reserve(count);
    for (std::size_t i = 0; i != count; ++i) made.push_back(value_from<T>(all[i]));
    return made;
  }
  [[nodiscard]] bool failed(std::size_t i) const noexcept { return has_failed<T>(all[i]); }
  [[nodiscard]] std::exception_ptr error(std::size_t i) noexcept { return error_of<T>(all[i]); }
  [[nodiscard]] any_type value(std::size_t i) { return value_from<T>(all[i]); }
};

/// What all gathering states do with their inputs.
template<class Result, class Inputs>
class gathering_state : public state_of<Result>, public gathering {
  future_state* next_to_ask_ = nullptr;

protected:
  Inputs inputs_;

  explicit gathering_state(Inputs&& in) noexcept
      : state_of<Result>(2)
      , inputs_(std::move(in)) {
    for (std::size_t i = 0; i != inputs_.size(); ++i) {
      gathered& g = inputs_[i];
      g.owner = this;
      g.target = this;
      g.index = i;
      if (this->home() == nullptr) this->settle(g.source->home()); // where it will most likely be made
    }
  }

  /// It was cancelled, and does not wait for one of its inputs any more: as if that had failed.
  virtual void forsake() noexcept = 0;

public:
  void cancel_inputs(cancellation& all) noexcept override {
    // The newest waiter first: many copies of one shared future are many waiters in one list.
    for (std::size_t i = inputs_.size(); i-- != 0;) {
      gathered& g = inputs_[i];
      state_ref const input = g.source;
      if (g.owned) all.add(*input.get());
      if (ends_without(*input.get(), g.owned) && input->waiters.remove(g)) forsake();
    }
  }
  [[nodiscard]] future_state** next_to_ask() noexcept override { return &next_to_ask_; }
  [[nodiscard]] bool is_work() const noexcept override { return false; }
  [[nodiscard]] future_state* pending_input(std::size_t& index) noexcept override {
    while (index < inputs_.size())
      if (state_ref const& source = inputs_[index++].source; !source->done())
        return state_ref(source).let_go();
    return nullptr;
  }
};

/// All values, or the first failure in time, after all that is waited for has ended. The first failure asks
/// the other inputs to stop, and then waits only for those whose work is its own.
template<class Inputs>
class all_state final : public gathering_state<typename Inputs::all_type, Inputs> {
  static constexpr std::size_t none = ~std::size_t{0}, forsaken = none - 1;
  std::atomic<std::size_t> failed_{none};
  std::atomic<std::size_t> left_;

  /// After a failure it is not waited for: it has other owners, or nothing runs for it.
  [[nodiscard]] static bool may_leave(gathered const& g) noexcept {
    return ends_without(*g.source.get(), g.owned);
  }

  void arrived(gathered& g, completions& more) noexcept override {
    note(g);
    if (count_down()) more.push(g); // else it may be gone
  }

  void note(gathered& g) noexcept {
    if (this->inputs_.failed(g.index) && note_failure(g.index)) stop_others(g.index);
  }
  /// True: it is the first. Its own input is not counted down yet, so the state cannot complete meanwhile.
  [[nodiscard]] bool note_failure(std::size_t index) noexcept {
    std::size_t expected = none;
    // acquire: pairs with begin(), because stop_others() must find what was added before. release: pairs with
    // begin(), for the opposite order.
    return failed_.compare_exchange_strong(expected, index, std::memory_order_acq_rel,
                                           std::memory_order_relaxed);
  }
  void stop_others(std::size_t failed) noexcept {
    // The newest waiter first: many copies of one shared future are many waiters in one list.
    for (std::size_t i = this->inputs_.size(); i-- != 0;) {
      gathered& g = this->inputs_[i];
      if (i == failed) continue;
      if (g.owned) g.source->cancel();
      if (may_leave(g) && g.source->waiters.remove(g)) static_cast<void>(count_down()); // not the last
    }
  }
  void forsake() noexcept override {
    static_cast<void>(note_failure(forsaken)); // all have been asked to stop
    if (count_down()) this->complete();
  }

  [[nodiscard]] bool count_down() noexcept {
    // acq_rel: whoever comes last sees what the others have noted.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
    if (std::size_t const i = failed_.load(std::memory_order_relaxed); i != none)
      this->fail(i == forsaken ? cancelled_error() : this->inputs_.error(i));
    else
      this->slot().fill([this] { return this->inputs_.values(); });
    return true;
  }

  /// False: it is waited for.
  [[nodiscard]] bool is_over(gathered& g) noexcept {
    // relaxed: a failure that this misses is found below, or finds this input.
    if (may_leave(g) && failed_.load(std::memory_order_relaxed) != none) return true;
    if (!g.source->waiters.add(g)) {
      note(g);
      return true;
    }
    // A read-modify-write: pairs with note_failure(). Either it comes before that, and stop_others() finds
    // the input, or it reads the failure. The one that removes the input counts it down.
    return may_leave(g) && failed_.fetch_add(0, std::memory_order_acq_rel) != none &&
           g.source->waiters.remove(g);
  }

public:
  explicit all_state(Inputs&& in) noexcept
      : gathering_state<typename Inputs::all_type, Inputs>(std::move(in))
      , left_(this->inputs_.size() + 1) {} // one for begin()

  /// Once: from now on it may complete. The caller holds it.
  void begin() noexcept {
    for (std::size_t i = 0; i != this->inputs_.size(); ++i)
      if (is_over(this->inputs_[i])) static_cast<void>(count_down()); // not the last
    if (count_down()) this->complete();
  }
  void dispose() noexcept override { dispose_state(this); }
};

/// Which input was the first that did not fail, and its value.
template<class Value>
struct any_result {
  std::size_t index;
  Value value;
};

/// The first success, or, if all fail, the last failure. The losers are asked to stop, by whoever brings the
/// winner, and left to themselves.
template<class Inputs>
class any_state final : public gathering_state<any_result<typename Inputs::any_type>, Inputs> {
  using result = any_result<typename Inputs::any_type>;
  static constexpr std::size_t none = ~std::size_t{0};
  std::atomic<std::size_t> winner_{none};
  std::atomic<std::size_t> left_;

  void arrived(gathered& g, completions& more) noexcept override {
    if (note(g)) more.push(g);
    this->release(); // this input's hold
  }

  /// True: it has its result.
  [[nodiscard]] bool note(gathered& g) noexcept {
    std::size_t expected = none;
    bool const failed = this->inputs_.failed(g.index);
    bool const wins =
        !failed && winner_.compare_exchange_strong(expected, g.index, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed); // pairs with begin()
    if (wins) {
      this->slot().fill([&] { return result{g.index, this->inputs_.value(g.index)}; });
      stop_losers(g.index);
    }
    bool const was_last = count_down();
    if (was_last) this->fail(this->inputs_.error(g.index));
    return wins || was_last;
  }
  /// True: all have ended, and none has won.
  [[nodiscard]] bool count_down() noexcept {
    // acq_rel: whoever comes last sees what the others have done.
    return left_.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
           winner_.load(std::memory_order_relaxed) == none;
  }
  void forsake() noexcept override {
    if (count_down()) {
      this->fail(cancelled_error());
      this->complete();
    }
    this->release(); // this input's hold
  }
  void stop_losers(std::size_t winner) noexcept {
    // The newest waiter first: many copies of one shared future are many waiters in one list.
    for (std::size_t i = this->inputs_.size(); i-- != 0;) {
      gathered& g = this->inputs_[i];
      if (i == winner) continue;
      if (g.owned) g.source->cancel();
      if (g.source->waiters.remove(g)) this->release(); // its hold
    }
  }

public:
  explicit any_state(Inputs&& in) noexcept
      : gathering_state<result, Inputs>(std::move(in))
      , left_(this->inputs_.size()) {
    // Each input holds the state until it has told it, or is taken out.
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) this->hold();
  }

  void begin() noexcept {
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) {
      gathered& g = this->inputs_[i];
      // relaxed: a winner that this misses is found below, or finds this input.
      if (winner_.load(std::memory_order_relaxed) == none) {
        if (g.source->waiters.add(g)) {
          // A read-modify-write: pairs with note(). Either it comes before that, and stop_losers() finds the
          // input, or it reads the winner. The one that removes the input ends its hold.
          if (winner_.fetch_add(0, std::memory_order_acq_rel) == none || !g.source->waiters.remove(g))
            continue;
        } else if (note(g)) {
          this->complete();
        }
      }
      this->release(); // its hold
    }
  }
  void dispose() noexcept override { dispose_state(this); }
};

} // namespace rubato::detail
