// The calls of the stages of a pipeline. A place has two cells: a stage takes its input from one of them and
// puts its result into the other, so the pipeline itself moves no item.
#pragma once

#include "rubato/detail/graph/pipeline_stage.hpp"
#include "rubato/detail/memory/slab.hpp"
#include "rubato/task.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace rubato::detail {

/// A base class, so that it is built before the part that refers to it.
template<std::size_t N>
struct pipeline_stage_states {
  std::array<pipeline_stage_state, N> states;
};

template<class... Stages>
class pipeline_of final : pipeline_stage_states<sizeof...(Stages)>, public pipeline_core {
  using types = pipeline_types<typename Stages::callable...>;
  static constexpr std::size_t stages = sizeof...(Stages);
  template<std::size_t S>
  using callable = typename std::tuple_element_t<S, std::tuple<Stages...>>::callable;
  template<std::size_t S>
  using input = typename types::template input<S>;
  template<std::size_t S>
  using stored = typename types::template stored<S>;

  template<std::size_t S>
  struct call_of {
    using type = call_result_t<callable<S>&, input<S>>;
  };
  template<std::size_t S>
    requires(S == 0)
  struct call_of<S> {
    using type = call_result_t<callable<0>&>;
  };
  template<std::size_t S>
  static constexpr bool goes_on_elsewhere =
      flattened<typename call_of<S>::type>::is_task || flattened<typename call_of<S>::type>::is_future;
  template<class Indices>
  struct over;
  template<std::size_t... S>
  struct over<std::index_sequence<S...>> {
    static constexpr bool any_elsewhere = (goes_on_elsewhere<S> || ...);
  };
  static constexpr bool has_coroutines = over<std::make_index_sequence<stages>>::any_elsewhere;

  /// Of the cell with the inputs of stages whose number is odd, or even.
  template<bool Odd, class Indices>
  struct cell_of;
  template<bool Odd, std::size_t... I>
  struct cell_of<Odd, std::index_sequence<I...>> {
    template<std::size_t S>
    static constexpr bool is_in = S % 2 == (Odd ? 1 : 0);
    static constexpr std::size_t size =
        std::max({std::size_t{1}, (is_in<I + 1> ? sizeof(stored<I + 1>) : 1)...});
    static constexpr std::size_t alignment =
        std::max({std::size_t{1}, (is_in<I + 1> ? alignof(stored<I + 1>) : 1)...});
  };
  using inputs = std::make_index_sequence<stages - 1>;
  using odd_cell = cell_of<true, inputs>;
  using even_cell = cell_of<false, inputs>;

  struct place final : pipeline_item {
    alignas(odd_cell::alignment) std::byte odd[odd_cell::size];    // never in a coroutine
    alignas(even_cell::alignment) std::byte even[even_cell::size]; // never in a coroutine
    explicit place(pipeline_core& c) noexcept // NOLINT(cppcoreguidelines-pro-type-member-init)
        : pipeline_item(c) {}

    template<std::size_t S>
    [[nodiscard]] void* cell() noexcept {
      return S % 2 == 1 ? odd : even;
    }
    template<std::size_t S>
    [[nodiscard]] stored<S>& value() noexcept {
      return *std::launder(static_cast<stored<S>*>(cell<S>()));
    }
    /// As stage number S gets it.
    template<std::size_t S>
    [[nodiscard]] input<S>&& get() noexcept {
      if constexpr (S == 1)
        return static_cast<input<S>&&>(*value<S>());
      else if constexpr (std::is_reference_v<input<S>>)
        return static_cast<input<S>&&>(*value<S>());
      else
        return std::move(value<S>());
    }
  };

  std::tuple<Stages&...> of_;

  template<std::size_t S>
  [[nodiscard]] callable<S>& function() noexcept {
    return std::get<S>(of_).f;
  }

  /// Puts a result into the cell of the next stage.
  template<std::size_t S>
  struct take_result {
    place* to;
    void operator()(auto&& slot) const {
      if constexpr (S == 0) {
        ::new (to->template cell<1>()) stored<1>(slot.take());
      } else if constexpr (S + 1 == stages) {
        slot.take();
      } else if constexpr (std::is_reference_v<input<S + 1>>) {
        auto&& result = slot.take();
        ::new (to->template cell<S + 1>()) stored<S + 1>(std::addressof(result));
      } else {
        ::new (to->template cell<S + 1>()) stored<S + 1>(slot.take());
      }
    }
  };

  /// Starts a coroutine, or what makes a future. elsewhere: it has not ended.
  template<std::size_t S, class... Args>
  [[nodiscard]] stage_end start(place& p, thread_context& me, Args&&... args) {
    using call = borrowed_call<callable<S>, Args...>;
    this->begin_part();
    bool ended = false;
    try {
      ended = started_job<call, take_result<S>>::start(
          this->core(), p, this->stop(), me,
          call{&function<S>(), std::tuple<Args&&...>(static_cast<Args&&>(args)...)}, take_result<S>{&p});
    } catch (...) {
      this->end_part();
      throw;
    }
    if (!ended) return stage_end::elsewhere;
    this->end_part();
    if (std::exception_ptr e = std::exchange(p.error, nullptr)) std::rethrow_exception(std::move(e));
    return end_call(p);
  }

  template<std::size_t S>
  void call_one(place& p, thread_context& me) {
    if constexpr (S + 1 == stages) {
      static_cast<void>(call(me, function<S>(), p.template get<S>()));
    } else if constexpr (std::is_reference_v<input<S + 1>>) {
      auto&& result = call(me, function<S>(), p.template get<S>());
      ::new (p.template cell<S + 1>()) stored<S + 1>(std::addressof(result));
    } else {
      ::new (p.template cell<S + 1>()) stored<S + 1>(call(me, function<S>(), p.template get<S>()));
    }
    ended<S>(p);
  }
  template<std::size_t S>
  void ended(place& p) noexcept {
    std::destroy_at(std::addressof(p.template value<S>()));
    p.holds = (S + 1) % stages; // the last one leaves nothing
  }

  template<std::size_t S>
  static stage_end run_number(pipeline_of& self, pipeline_item& b, thread_context& me) {
    if constexpr (goes_on_elsewhere<S>) {
      auto& p = static_cast<place&>(b);
      return self.template start<S, input<S>>(p, me, p.template get<S>());
    } else {
      for (pipeline_item* i = &b; i != nullptr && !self.ended_early(); i = i->next)
        self.template call_one<S>(static_cast<place&>(*i), me);
      return stage_end::done;
    }
  }

  /// Calls f(std::integral_constant<std::size_t, S>) for the stage number s, which is not the source.
  template<class F>
  static void with_number(std::size_t s, F f) {
    [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      static_cast<void>(((s == I + 1 && (f(std::integral_constant<std::size_t, I + 1>()), true)) || ...));
    }(inputs());
  }

  [[nodiscard]] pipeline_item* make_place() override { return make_in_slab<place>(*this); }
  void free_place(pipeline_item& i) noexcept override { free_in_slab(static_cast<place*>(&i)); }
  void destroy_value(pipeline_item& i) noexcept override {
    with_number(std::exchange(i.holds, 0), [&i](auto s) {
      std::destroy_at(std::addressof(static_cast<place&>(i).template value<decltype(s)::value>()));
    });
  }
  [[nodiscard]] stage_end pull(pipeline_item& i, thread_context& me) override {
    auto& p = static_cast<place&>(i);
    if constexpr (goes_on_elsewhere<0>) {
      return start<0>(p, me);
    } else {
      ::new (p.template cell<1>()) stored<1>(call(me, function<0>()));
      return end_call(i);
    }
  }
  [[nodiscard]] stage_end run_stage(pipeline_item& b, thread_context& me) override {
    using function_type = stage_end (*)(pipeline_of&, pipeline_item&, thread_context&);
    static constexpr auto table = []<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      return std::array<function_type, stages - 1>{&run_number<I + 1>...};
    }(inputs());
    return table[b.stage - 1](*this, b, me);
  }
  [[nodiscard]] stage_end end_call(pipeline_item& i) noexcept override {
    auto& p = static_cast<place&>(i);
    if (i.stage != 0) {
      with_number(i.stage, [&](auto s) { this->template ended<decltype(s)::value>(p); });
      return stage_end::done;
    }
    if (p.template value<1>().has_value()) {
      i.holds = 1;
      return stage_end::done;
    }
    std::destroy_at(std::addressof(p.template value<1>()));
    return stage_end::none;
  }

public:
  pipeline_of(pool_core& core, stop_scope* around, run_end end, std::size_t max_in_flight, Stages&... all)
      : pipeline_core(core, around, end, this->states.data(), stages, max_in_flight, has_coroutines)
      , of_(all...) {
    std::size_t s = 0;
    ((this->states[s++].kind = Stages::kind), ...);
  }
  ~pipeline_of() { this->destroy_items(); }
};

template<class... Stages>
class pipeline_awaiter final : public run_awaiter {
  std::size_t const max_in_flight_;
  std::tuple<Stages&...> of_;
  std::optional<pipeline_of<Stages...>> run_;

  [[nodiscard]] bool begin(pool_core& core, stop_scope& around) override {
    std::apply(
        [&](Stages&... all) {
          run_.emplace(core, &around, run_end{.awaiter = this}, max_in_flight_, all...);
        },
        of_);
    return true;
  }
  void work(thread_context* runner) noexcept override { run_->work(runner); }
  void finish() override {
    if (!run_) return;
    std::exception_ptr error = run_->take_error();
    run_.reset();
    if (error != nullptr) std::rethrow_exception(std::move(error));
  }

public:
  pipeline_awaiter(pool* p, std::size_t max_in_flight, Stages&... all) noexcept
      : run_awaiter(p)
      , max_in_flight_(max_in_flight)
      , of_(all...) {}
};

template<std::integral N>
[[nodiscard]] std::size_t items_in_flight(N max_in_flight) {
  if (max_in_flight <= 0)
    throw std::invalid_argument("rubato: pipeline(0, ...): no item may be in flight, so none would ever be");
  return static_cast<std::size_t>(max_in_flight);
}

template<class... Stages>
void run_pipeline(pool* p, std::size_t max_in_flight, Stages&... all) {
  on_pool(p, [&](thread_context& me) {
    pipeline_of<Stages...> run(*me.core, static_cast<stop_scope*>(me.chain.token()), run_end{.caller = &me},
                               max_in_flight, all...);
    run.run_here(me);
  });
}

template<class... Stages>
rubato::task<void> run_async_pipeline(pool* p, std::size_t max_in_flight, Stages... all) {
  pipeline_awaiter<Stages...> run(p, max_in_flight, all...);
  co_await run;
}

} // namespace rubato::detail
