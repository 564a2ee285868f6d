// Coroutines by themselves: calls, forks, memory. A contender brings its task<T>, and the two recursions in
// the form that it recommends; harness/coroutines.hpp says how.
#pragma once

#include "../harness/measure.hpp"
#include "memory.hpp"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

// No compiler may see through the callee, or there would be nothing to measure.
template<class R>
[[gnu::noinline]] typename R::template task<std::uint64_t> callee(std::uint64_t i) {
  co_return i ^ 1U;
}

template<class R>
typename R::template task<std::uint64_t> caller(std::uint64_t calls) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i != calls; ++i) {
    auto called = callee<R>(i);
    sum += co_await std::move(called);
  }
  co_return sum;
}

/// A coroutine that calls another: its frame, the transfer there and back, the result; ns per call.
template<class R>
measurement coroutine_call(R& r, std::uint64_t calls) {
  r.block_on(caller<R>(1000));
  return timed(static_cast<double>(calls), [&] { return std::uint64_t{r.block_on(caller<R>(calls))}; });
}

template<class R>
measurement coroutine_fib(R& r, std::uint64_t n) {
  r.block_on(R::fib(15));
  return timed(1, [&] { return std::uint64_t{r.block_on(R::fib(n))}; });
}

template<class R>
measurement coroutine_skynet(R& r, std::uint64_t levels) {
  std::uint64_t leaves = 1;
  for (; levels != 0; --levels) leaves *= 10;
  r.block_on(R::skynet(0, 1000));
  return timed(1, [&] { return std::uint64_t{r.block_on(R::skynet(0, leaves))}; });
}

/// Bytes of a coroutine that has not begun: its frame, with the promise, as the allocator hands it out.
template<class R>
measurement frame_memory(std::uint64_t n) {
  auto frames = touched<typename R::template task<std::uint64_t>>(n);
  const std::uint64_t before = resident_bytes();
  for (std::uint64_t i = 0; i != n; ++i) frames.push_back(callee<R>(i));
  const auto each = static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
  return {each, 0, n, {}};
}

template<class R>
typename R::template task<void> counts_down(std::atomic<std::uint64_t>& left,
                                            std::atomic<std::uint32_t>& done) {
  if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    done.store(1, std::memory_order_release);
    done.notify_one();
  }
  co_return;
}

/// Coroutines that are never suspended, from one thread outside the pool until all have ended; ns for each.
template<class R>
measurement coroutine_enqueue(R& r, std::uint64_t n) {
  // Static, as in enqueue.hpp.
  static std::atomic<std::uint64_t> left;
  static std::atomic<std::uint32_t> done;
  auto all = [&r](std::uint64_t number) {
    left.store(number);
    done.store(0);
    for (std::uint64_t i = 0; i != number; ++i) r.enqueue(counts_down<R>(left, done));
    done.wait(0, std::memory_order_acquire);
    return left.load();
  };
  all(10'000);
  return timed(static_cast<double>(n), [&] { return all(n); });
}

template<class R>
typename R::template task<void> waits(typename R::semaphore& s, std::atomic<std::uint64_t>& begun,
                                      std::atomic<std::uint64_t>& ended) {
  begun.fetch_add(1);
  co_await R::acquire(s);
  ended.fetch_add(1);
}

/// Bytes of a coroutine that was started and waits for a semaphore, all told; of its frame alone in the
/// remarks.
template<class R>
measurement suspended_memory(R& r, std::uint64_t n) {
  auto gate = r.make_semaphore(0);
  std::atomic<std::uint64_t> begun{0}, ended{0};
  auto frames = touched<typename R::template task<void>>(n);
  const std::uint64_t before = resident_bytes();
  for (std::uint64_t i = 0; i != n; ++i) frames.push_back(waits<R>(*gate, begun, ended));
  const auto frame = static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
  for (auto& f : frames) r.start(std::move(f));
  while (begun.load() != n) sleep_ns(1'000'000);
  sleep_ns(20'000'000);
  const auto each = static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
  for (std::uint64_t i = 0; i != n; ++i) r.release(*gate);
  while (ended.load() != n) sleep_ns(1'000'000);
  sleep_ns(20'000'000); // the last of them has counted, but may not have ended
  return {each, 0, n, {{"frame_bytes", frame}}};
}

} // namespace bench
