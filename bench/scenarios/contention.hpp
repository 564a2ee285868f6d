// Coroutines that want the same thing: a mutex, a semaphore, a channel; ns per lock, per permit, per value.
#pragma once

#include "../harness/measure.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bench {

constexpr std::uint64_t rivals = 8; ///< coroutines at one mutex or semaphore

template<class R>
typename R::template task<void> lock_often(typename R::mutex& m, std::uint64_t& counter,
                                           std::uint64_t times) {
  for (std::uint64_t i = 0; i != times; ++i) {
    auto held = co_await R::lock(m);
    ++counter; // the mutex guards it
  }
}

template<class R>
measurement mutex_contention(R& r, std::uint64_t locks) {
  std::uint64_t counter = 0;
  auto all = [&](std::uint64_t n) {
    auto m = r.make_mutex();
    std::vector<typename R::template task<void>> tasks;
    for (std::uint64_t i = 0; i != rivals; ++i) tasks.push_back(lock_often<R>(*m, counter, n / rivals));
    r.run_all(std::move(tasks));
    return std::exchange(counter, 0);
  };
  all(1000);
  return timed(static_cast<double>(locks), [&] { return all(locks); });
}

template<class R>
typename R::template task<void> acquire_often(R& r, typename R::semaphore& s, std::uint64_t times) {
  for (std::uint64_t i = 0; i != times; ++i) {
    co_await R::acquire(s);
    if constexpr (requires { R::async_release(s); })
      co_await R::async_release(s);
    else
      r.release(s);
  }
}

/// A permit for every fourth of them.
template<class R>
measurement semaphore_contention(R& r, std::uint64_t permits) {
  auto all = [&](std::uint64_t n) {
    auto s = r.make_semaphore(rivals / 4);
    std::vector<typename R::template task<void>> tasks;
    for (std::uint64_t i = 0; i != rivals; ++i) tasks.push_back(acquire_often<R>(r, *s, n / rivals));
    r.run_all(std::move(tasks));
    return n;
  };
  all(1000);
  return timed(static_cast<double>(permits), [&] { return all(permits); });
}

/// What one coroutine sends to or receives from, where that is not the channel itself.
template<class R, class Channel>
decltype(auto) end_of(Channel& c) {
  if constexpr (requires { R::end(c); })
    return R::end(c);
  else
    return static_cast<Channel&>(c);
}

template<class R, class Channel>
typename R::template task<void> send_all(Channel& c, std::uint64_t values) {
  auto&& end = end_of<R>(c);
  for (std::uint64_t i = 0; i != values; ++i) co_await R::send(end, i);
}
template<class R, class Channel>
typename R::template task<void> receive_all(Channel& c, std::uint64_t values, std::uint64_t& sum) {
  auto&& end = end_of<R>(c);
  for (std::uint64_t i = 0; i != values; ++i) {
    auto v = co_await R::receive(end);
    sum += R::value(v);
  }
}

/// `Ends` coroutines send what as many receive, through a buffer of `Capacity`.
template<std::uint64_t Ends, std::size_t Capacity, class R>
measurement channel_traffic(R& r, std::uint64_t values) {
  auto all = [&](std::uint64_t n) {
    auto c = r.template make_channel<Capacity>();
    std::vector<std::uint64_t> sums(16 * Ends); // a cache line each
    std::vector<typename R::template task<void>> tasks;
    for (std::uint64_t i = 0; i != Ends; ++i) {
      tasks.push_back(receive_all<R>(*c, n / Ends, sums[16 * i]));
      tasks.push_back(send_all<R>(*c, n / Ends));
    }
    r.run_all(std::move(tasks));
    std::uint64_t sum = 0;
    for (const std::uint64_t s : sums) sum += s;
    return sum;
  };
  all(1000);
  return timed(static_cast<double>(values), [&] { return all(values); });
}

} // namespace bench
