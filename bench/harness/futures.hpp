// The same as driver.hpp for what has results: `bench-<contender>-futures <scenario> <workers> <size>`.
//
// A contender is a class R, made with a number of workers. Its members, of which it may lack some:
//
//   r.enqueue(f)                 f() some time later
//   r.spawn(f)                   the same, and something whose get() waits for what f returns
//   .then(f), R::ready(future)   of what spawn returns: a continuation; has it its value?
//   R::when_all(a, b)            of two futures the future of both values
//   R::promise                   of std::uint64_t
#pragma once

#include "../scenarios/bodies.hpp"
#include "../scenarios/enqueue.hpp"
#include "../scenarios/future_fib.hpp"
#include "../scenarios/memory.hpp"
#include "../scenarios/spawn.hpp"
#include "../scenarios/then_chain.hpp"
#include "../scenarios/there_and_back.hpp"
#include "main.hpp"

namespace bench {

namespace probe {
struct one {
  std::uint64_t operator()() const { return 1; }
};
struct add {
  std::uint64_t operator()(std::uint64_t v) const { return v + 1; }
};
} // namespace probe

template<class R>
concept starts = requires(R& r) { r.enqueue([] {}); };
template<class R>
concept has_results = requires(R& r) { r.spawn(probe::one{}).get(); };
template<class R>
concept continues = has_results<R> && requires(R& r) { r.spawn(probe::one{}).then(probe::add{}).get(); };
template<class R>
concept gathers =
    continues<R> && requires(R& r) { R::when_all(r.spawn(probe::one{}), r.spawn(probe::one{})).get(); };
template<class R>
concept promises = requires { typename R::promise; };

template<class R>
std::optional<measurement> perform_futures(R& r, std::string_view scenario, unsigned workers,
                                           std::uint64_t size) {
  if constexpr (starts<R>) {
    if (scenario == "enqueue") return enqueue(r, size);
    if (scenario == "latency") return latency(r, size);
    if (scenario == "enqueue1us") return enqueue_bodies(r, size, workers);
  }
  if constexpr (has_results<R>) {
    if (scenario == "spawn") return spawn(r, size);
    if (scenario == "spawn1us") return spawn_bodies(r, size, workers);
    if (scenario == "spawnget") return spawn_and_get(r, size);
  }
  if constexpr (continues<R>) {
    if (scenario == "thenfirst") return then_chain<known::first>(r, size);
    if (scenario == "thenlast") return then_chain<known::last>(r, size);
  }
  if constexpr (gathers<R>) {
    if (scenario == "futurefib") return future_fib(r, size);
  }
  if constexpr (promises<R>) {
    if (scenario == "promisememory") return promise_memory<R>(size);
  }
  return std::nullopt;
}

template<class R>
int drive_futures(int argc, char** argv) {
  return run_scenario<R>(argc, argv,
                         [](R& r, std::string_view scenario, unsigned workers, std::uint64_t size) {
                           return perform_futures(r, scenario, workers, size);
                         });
}

} // namespace bench
