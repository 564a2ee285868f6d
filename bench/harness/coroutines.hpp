// The same as driver.hpp for coroutines: `bench-<contender>-coroutines <scenario> <workers> <size>`.
//
// A contender is a class R, made with a number of workers. Its members, of which it may lack some:
//
//   R::task<T>                   a lazy coroutine
//   r.block_on(task)             runs it on the pool and returns its result
//   r.run_all(vector of task<>)  the same for many at once
//   r.start(task<>)              does not wait for it
//   r.enqueue(task<>)            the same, and no caller ever wants to know its end
//   R::fib(n)                    task of fib(n), each call two that may run at once
//   R::skynet(first, leaves)     task of the sum, ten children per node
//   r.make_mutex()               pointer to an R::mutex; co_await R::lock(m) is something that unlocks it
//   r.make_semaphore(n)          pointer to an R::semaphore; co_await R::acquire(s), r.release(s), and, where
//                                that has to be awaited, R::async_release(s)
//   r.make_channel<capacity>()   pointer to a channel; co_await R::send(c, v), R::value(co_await
//                                R::receive(c)); where these are done to something made of it, R::end(c)
#pragma once

#include "../scenarios/contention.hpp"
#include "../scenarios/coroutines.hpp"
#include "main.hpp"

namespace bench {

template<class R>
concept forks_coroutines = requires {
  R::fib(1);
  R::skynet(0, 1);
};
template<class R>
concept enqueues = requires(R& r, typename R::template task<void> t) { r.enqueue(std::move(t)); };
template<class R>
concept has_mutex = requires(R& r) { r.make_mutex(); };
template<class R>
concept has_semaphore = requires(R& r) { r.make_semaphore(1); };
template<class R>
concept has_channel = requires(R& r) { r.template make_channel<1>(); };

template<class R>
std::optional<measurement> perform_coroutines(R& r, std::string_view scenario, std::uint64_t size) {
  if (scenario == "call") return coroutine_call(r, size);
  if (scenario == "framememory") return frame_memory<R>(size);
  if constexpr (forks_coroutines<R>) {
    if (scenario == "cofib") return coroutine_fib(r, size);
    if (scenario == "coskynet") return coroutine_skynet(r, size);
  }
  if constexpr (enqueues<R>) {
    if (scenario == "enqueuetask") return coroutine_enqueue(r, size);
  }
  if constexpr (has_mutex<R>) {
    if (scenario == "mutex") return mutex_contention(r, size);
  }
  if constexpr (has_semaphore<R>) {
    if (scenario == "semaphore") return semaphore_contention(r, size);
    if (scenario == "suspendedmemory") return suspended_memory(r, size);
  }
  if constexpr (has_channel<R>) {
    if (scenario == "channel1x1") return channel_traffic<1, 1>(r, size);
    if (scenario == "channel1x64") return channel_traffic<1, 64>(r, size);
    if (scenario == "channel4x1") return channel_traffic<4, 1>(r, size);
    if (scenario == "channel4x64") return channel_traffic<4, 64>(r, size);
  }
  return std::nullopt;
}

template<class R>
int drive_coroutines(int argc, char** argv) {
  return run_scenario<R>(argc, argv, [](R& r, std::string_view scenario, unsigned, std::uint64_t size) {
    return perform_coroutines(r, scenario, size);
  });
}

} // namespace bench
