// The state of when_some(), if all its arguments are futures. docs/design/futures.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/future/when_state.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "rubato/detail/memory/slab_array.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/future.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rubato::detail {

inline void refuse_more_than(std::size_t number, std::size_t wanted) {
  if (wanted > number)
    throw std::invalid_argument("rubato: when_some(n, range): the range has fewer than n elements");
}

/// The first inputs that succeed, as many as are wanted, in order; or the failure after which too few can. So
/// many successes and so many failures exclude each other: each input ends once. The thread that completes
/// the deciding input asks the others to stop; the state does not wait for them.
template<class Inputs>
class when_some_state final : public when_state<std::vector<any_result<typename Inputs::any_type>>, Inputs> {
  using result = any_result<typename Inputs::any_type>;
  using base = when_state<std::vector<result>, Inputs>;
  static constexpr std::size_t nothing = first_of<std::size_t>::none - 1; ///< in place of a deciding input
  std::size_t const wanted_;
  slab_array<std::size_t> order_;  ///< the inputs that count, in the order in which they have succeeded
  relaxed<std::size_t> succeeded_; ///< takes a place in order_
  countdown<std::size_t> missing_; ///< places in order_ that are not written
  relaxed<std::size_t> failed_;
  countdown<std::size_t> left_;      ///< inputs that have not ended
  first_of<std::size_t> decided_by_; ///< an input, or `nothing`

  void arrived(when_input& g, completions& more) noexcept override {
    if (note(g)) more.push(g);
    this->release(); // this input's hold
  }

  /// True: this success is the last that is wanted.
  [[nodiscard]] bool fills(when_input const& g) noexcept {
    std::size_t const place = succeeded_.add(1);
    if (place >= wanted_) return false;
    order_[place] = g.index;
    return missing_.arrive();
  }
  /// True: with this failure too few inputs are left. Once the state is asked to stop, it waits for all work
  /// of its inputs: a failure does not decide it any more.
  [[nodiscard]] bool empties() noexcept {
    return failed_.add(1) == this->inputs_.size() - wanted_ && !this->asked.is_raised();
  }
  /// The caller gives the state its result, and asks the other inputs to stop. False: it has one.
  template<class SetResult>
  [[nodiscard]] bool decide(std::size_t by, SetResult set_result) noexcept {
    if (!decided_by_.claim(by)) return false;
    set_result();
    this->stop_inputs(
        by, [](future_state& s) { s.cancel(); }, [](when_input const&) { return true; },
        [this] { this->release(); }); // its hold
    return true;
  }
  /// All of `order_` is written.
  void fill() noexcept {
    this->slot().fill([this] {
      std::vector<result> made;
      made.reserve(wanted_);
      for (std::size_t n = 0; n != wanted_; ++n)
        made.push_back(result{order_[n], this->inputs_.value(order_[n])});
      return made;
    });
  }

  /// True: the state has its result.
  [[nodiscard]] bool note(when_input& g) noexcept {
    bool decides = false;
    if (!g.source->has_failed())
      decides = fills(g) && decide(g.index, [this] { fill(); });
    else
      decides = empties() && decide(g.index, [&] { this->fail_as(g); });
    return ended(g.source->has_failed() ? &g : nullptr) || decides;
  }
  /// An input has ended, with this failure or without one. True: it was the last, and nothing has decided.
  [[nodiscard]] bool ended(when_input* failed) noexcept {
    if (!left_.arrive() || !decided_by_.claim(nothing)) return false;
    if (failed != nullptr)
      this->fail_as(*failed);
    else
      this->fail(cancelled_error());
    return true;
  }
  void leave_input() noexcept override {
    static_cast<void>(failed_.add(1));
    if (ended(nullptr)) this->complete();
    this->release(); // this input's hold
  }

public:
  when_some_state(Inputs&& in, std::size_t wanted)
      : base(std::move(in))
      , wanted_(wanted)
      , order_(wanted)
      , missing_(wanted)
      , left_(this->inputs_.size()) {
    // Each input has a reference to the state until it has fired or is taken out.
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) this->hold();
  }

  void begin() noexcept {
    if (wanted_ == 0 && decide(nothing, [this] { fill(); })) this->complete();
    for (std::size_t i = 0; i != this->inputs_.size(); ++i) {
      when_input& g = this->inputs_[i];
      // A decision that this misses is found below, or finds this input.
      if (decided_by_.get() == decided_by_.none) {
        if (g.source->waiters.add(g)) {
          // Either stop_inputs() finds the input, or this thread the decision. The thread that removes the
          // input releases its reference.
          if (!decided_by_.is_claimed_now() || !g.source->waiters.remove(g)) continue;
        } else if (note(g)) {
          this->complete();
        }
      }
      this->release(); // its hold
    }
  }
};

/// The inputs of when_some().
template<class Range>
auto enough_inputs_of(std::size_t wanted, Range&& range) {
  using element = std::ranges::range_value_t<Range>;
  if constexpr (std::ranges::forward_range<Range>) {
    refuse_more_than(static_cast<std::size_t>(std::ranges::distance(range)), wanted);
    return inputs_of_range(std::forward<Range>(range));
  } else {
    std::vector<element> all;
    for (auto&& f : range) all.push_back(static_cast<element&&>(f));
    refuse_more_than(all.size(), wanted);
    return inputs_of_array<true>(all.data(), all.size());
  }
}

template<class Inputs>
auto gather_some(std::size_t wanted, Inputs in) {
  using type = when_some_state<Inputs>;
  using result = std::remove_cvref_t<decltype(std::declval<type&>().slot().take())>;
  auto* const made = make_in_slab<type>(std::move(in), wanted);
  future<result> out = future_access::make<result>(state_ref(made));
  made->begin();
  return out;
}

} // namespace rubato::detail
