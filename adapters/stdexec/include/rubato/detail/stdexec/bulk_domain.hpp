// The domain of a pool's schedulers: bulk, bulk_chunked and bulk_unchunked become loops of the pool.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/scope.hpp"

#include <exec/sender_for.hpp>
#include <stdexec/execution.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace rubato {

class stdexec_scheduler;

namespace detail {

template<class Policy>
inline constexpr bool may_run_in_parallel = std::same_as<Policy, stdexec::parallel_policy> ||
                                            std::same_as<Policy, stdexec::parallel_unsequenced_policy>;

/// An operation has no stop scope of its own. In this one the loop ends early if the pool discards.
template<class Shape, class F>
void loop_in_scope(pool& where, Shape first, Shape last, F const& chunk) {
  with_scope(where, [&](scope&) { for_range(where, first, last, chunk); });
}

/// The function of a bulk_chunked that runs f on chunks of its range, on the pool's workers.
template<class F>
struct chunks_in_pool {
  pool* where;
  [[no_unique_address]] F f;

  template<class Shape, class... Args>
    requires std::invocable<F&, Shape, Shape, Args&...>
  void operator()(Shape first, Shape last, Args&... args) {
    detail::loop_in_scope(*where, first, last, [&](Shape lo, Shape hi) { f(lo, hi, args...); });
  }
};

/// The same for the function of a bulk_unchunked, which gets one index.
template<class F>
struct indices_in_pool {
  pool* where;
  [[no_unique_address]] F f;

  template<class Shape, class... Args>
    requires std::invocable<F&, Shape, Args&...>
  void operator()(Shape first, Shape last, Args&... args) {
    detail::loop_in_scope(*where, first, last, [&](Shape lo, Shape hi) {
      for (; lo != hi; ++lo) f(lo, args...);
    });
  }
};

template<class F>
inline constexpr bool runs_in_pool = false;
template<class F>
inline constexpr bool runs_in_pool<chunks_in_pool<F>> = true;
template<class F>
inline constexpr bool runs_in_pool<indices_in_pool<F>> = true;

template<class Sender>
using bulk_policy = std::remove_cvref_t<decltype(std::declval<stdexec::__data_of<Sender>>().__pol_.__get())>;
template<class Sender>
using bulk_function = std::remove_cvref_t<decltype(std::declval<stdexec::__data_of<Sender>>().__fun_)>;

/// Is it a bulk that is to run in parallel, and has not been transformed yet?
template<class Sender, class Tag>
concept parallel_bulk = exec::sender_for<Sender, Tag> && may_run_in_parallel<bulk_policy<Sender>> &&
                        !runs_in_pool<bulk_function<Sender>>;

/// What follows stdexec's own default of bulk_chunked, which calls the function once, with the whole range,
/// in the thread in which the sender before it has completed: that is a worker of the pool.
struct bulk_domain : stdexec::default_domain {
  template<class Sender, class Env>
    requires parallel_bulk<Sender, stdexec::bulk_chunked_t> ||
             parallel_bulk<Sender, stdexec::bulk_unchunked_t>
  auto transform_sender(stdexec::set_value_t, Sender&& sender, Env const& env) const {
    auto& [tag, data, child] = sender;
    static_assert(stdexec::__completes_on<decltype(child), stdexec_scheduler, Env>,
                  "rubato: bulk runs on the pool on which the sender before it completes: put "
                  "continues_on(scheduler) before it");
    pool& where = stdexec::get_completion_scheduler<stdexec::set_value_t>(stdexec::get_env(child), env).on();
    using function = bulk_function<Sender>;
    using in_pool = std::conditional_t<exec::sender_for<Sender, stdexec::bulk_chunked_t>,
                                       chunks_in_pool<function>, indices_in_pool<function>>;
    return stdexec::bulk_chunked(stdexec::__forward_like<Sender>(child), data.__pol_.__get(), data.__shape_,
                                 in_pool{&where, stdexec::__forward_like<Sender>(data.__fun_)});
  }
};

} // namespace detail

} // namespace rubato
