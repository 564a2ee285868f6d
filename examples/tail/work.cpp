#include "work.hpp"

#include <rubato/race.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <thread>

namespace tail {
namespace {

using std::chrono::nanoseconds;
using clock = std::chrono::steady_clock;

/// A chain of dependent steps, which no compiler shortens.
std::uint64_t run_steps(std::uint64_t from, std::uint64_t steps) {
  for (std::uint64_t i = 0; i != steps; ++i) {
    from ^= from << 13U;
    from ^= from >> 7U;
    from ^= from << 17U;
  }
  return from;
}

/// Results go here, so that the steps are not left out.
std::atomic<std::uint64_t> sink{0};

/// Numbers that look drawn. Source: S. Vigna's splitmix64.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// A call's copies number themselves as they begin. Copyable, since hedge() owns its function.
class one_call {
  work* work_;
  std::uint64_t number_;
  std::shared_ptr<std::atomic<unsigned>> begun_ = std::make_shared<std::atomic<unsigned>>(0);

public:
  one_call(work& f, std::uint64_t number)
      : work_(&f)
      , number_(number) {}
  std::uint64_t operator()(const std::stop_token& token) const {
    return work_->run(number_, begun_->fetch_add(1, std::memory_order_relaxed), token);
  }
};

double fraction(std::uint64_t drawn) { return static_cast<double>(drawn >> 11U) * 0x1p-53; }

} // namespace

work::work(const workload& load)
    : load_(load) {
  constexpr std::uint64_t steps = 200'000;
  for (int attempt = 0; attempt != 20; ++attempt) { // the fastest: others were interrupted
    const auto start = clock::now();
    sink.store(run_steps(static_cast<std::uint64_t>(attempt) + 1, steps), std::memory_order_relaxed);
    const auto took = std::chrono::duration<double, std::nano>(clock::now() - start);
    steps_per_nanosecond_ = std::max(steps_per_nanosecond_, static_cast<double>(steps) / took.count());
  }
}

/// False: it was asked to stop. Looks at the token every 10 microseconds of work.
bool work::compute(nanoseconds time, const std::stop_token& token) const {
  constexpr nanoseconds slice = std::chrono::microseconds(10);
  std::uint64_t state = 1;
  for (; time > nanoseconds::zero(); time -= slice) {
    if (token.stop_requested()) return false;
    const auto part = static_cast<double>(std::min(slice, time).count());
    state = run_steps(state, static_cast<std::uint64_t>(part * steps_per_nanosecond_));
  }
  sink.store(state, std::memory_order_relaxed);
  return true;
}

void work::stall(nanoseconds time, const std::stop_token& token) const {
  constexpr nanoseconds slice = std::chrono::microseconds(100);
  const auto end = clock::now() + time;
  if (!load_.stalls_poll) {
    std::this_thread::sleep_until(end);
    return;
  }
  while (!token.stop_requested() && clock::now() < end) std::this_thread::sleep_for(slice);
}

std::uint64_t work::run(std::uint64_t call, unsigned copy, const std::stop_token& token) {
  active_.fetch_add(1, std::memory_order_relaxed);
  copies_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t drawn = scramble(load_.seed + scramble(call * 64 + copy));
  const bool stalls = fraction(drawn) < load_.stall_chance;
  if (compute(load_.compute / 2, token)) {
    if (stalls) {
      const nanoseconds range = load_.longest_stall - load_.shortest_stall;
      const double share = fraction(scramble(drawn)) * static_cast<double>(range.count());
      stall(load_.shortest_stall + nanoseconds(static_cast<nanoseconds::rep>(share)), token);
    }
    compute(load_.compute - load_.compute / 2, token);
  }
  // release: pairs with wait(), because the caller destroys this object next.
  if (active_.fetch_sub(1, std::memory_order_release) == 1) active_.notify_all();
  return answer(call);
}

std::uint64_t work::answer(std::uint64_t call) { return scramble(call); }

void work::call(rubato::pool& pool, const strategy& how, std::uint64_t number) {
  std::uint64_t result = 0;
  switch (how.how) {
  case strategy::kind::single:
    result = run(number, 0, {});
    break;
  case strategy::kind::race:
    result = rubato::race(pool, how.options(), one_call(*this, number));
    break;
  case strategy::kind::hedge:
    result = rubato::hedge(pool, how.options(), one_call(*this, number));
    break;
  }
  if (result != answer(number)) throw std::logic_error(how.name + " has returned the result of another call");
}

void work::wait() {
  for (unsigned now = active_.load(std::memory_order_acquire); now != 0;
       now = active_.load(std::memory_order_acquire))
    active_.wait(now, std::memory_order_acquire);
}

} // namespace tail
