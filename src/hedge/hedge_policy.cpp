#include "rubato/hedge_policy.hpp"

#include "base/thread_number.hpp"
#include "hedge/hedge_budget.hpp"
#include "hedge/latency_sketch.hpp"
#include "os/cpus/cpus.hpp"
#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>

namespace rubato {
namespace {

using detail::latency_buckets;

/// Durations that are not in the sketch yet.
struct alignas(64) sample_buffer { // over-aligned, and so never in a coroutine frame
  static constexpr unsigned capacity = 32;

  detail::mutex lock; // tried, never waited for
  unsigned filled RUBATO_GUARDED_BY(lock) = 0;
  unsigned oldest RUBATO_GUARDED_BY(lock) = 0; // the next to be overwritten, once it is full
  std::atomic<std::uint64_t> calls{0};         // written under the lock
  std::array<std::uint16_t, capacity> samples RUBATO_GUARDED_BY(lock){};
};

double half_life_for(double quantile) {
  if (!(quantile > 0 && quantile < 1))
    throw std::invalid_argument("rubato::hedge_policy: the quantile must lie between 0 and 1, both excluded; "
                                "pass 0.95 to hedge the slowest twentieth of the calls");
  constexpr double least = 256;
  return std::max(least, 64 / (1 - quantile));
}

double checked_budget(double budget) {
  if (!(budget >= 0 && budget <= 1))
    throw std::invalid_argument(
        "rubato::hedge_policy: the budget must lie between 0 and 1; pass 0.05 to permit one "
        "copy in 20 calls, or use race_options::hedge_after() to hedge without a budget");
  return budget;
}

} // namespace

struct hedge_policy::parts {
  double quantile;
  double budget;
  unsigned buffer_count;
  std::unique_ptr<sample_buffer[]> buffers;
  detail::hedge_budget tokens;
  std::atomic<std::uint64_t> hedges{0};
  std::atomic<std::uint64_t> refused{0};

  alignas(64) detail::mutex lock;         // tried, never waited for
  double missing RUBATO_GUARDED_BY(lock); // samples, until there is a threshold
  detail::latency_sketch sketch RUBATO_GUARDED_BY(lock);

  parts(double q, double share, unsigned burst)
      : quantile(q)
      , budget(checked_budget(share))
      , buffer_count(std::clamp(os::usable_cpus(), least_buffers, most_buffers))
      , buffers(std::make_unique<sample_buffer[]>(buffer_count))
      , tokens(burst)
      , missing(half_life_for(q) / 16)
      , sketch(half_life_for(q)) {}

  static constexpr unsigned least_buffers = 4, most_buffers = 64;

  /// Under the buffer's lock. If another thread is at the sketch, the samples stay for the next time, and the
  /// oldest of them may be lost. Returns the threshold, or none.
  [[nodiscard]] std::int64_t merge(sample_buffer& from) noexcept RUBATO_REQUIRES(from.lock) {
    if (!lock.try_lock()) return none;
    detail::lock_guard const guard(lock, std::adopt_lock);
    for (std::uint16_t const bucket : from.samples) sketch.add(bucket);
    from.filled = 0;
    from.oldest = 0;
    missing -= sample_buffer::capacity;
    return missing > 0 ? none : sketch.quantile(quantile);
  }

  [[nodiscard]] std::uint64_t calls() const noexcept {
    std::uint64_t sum = 0;
    // relaxed: counts stand for themselves. One that is read too early earns less.
    for (unsigned k = 0; k != buffer_count; ++k) sum += buffers[k].calls.load(std::memory_order_relaxed);
    return sum;
  }
};

hedge_policy::hedge_policy(double quantile, double budget, unsigned burst)
    : parts_(std::make_unique<parts>(quantile, budget, burst)) {}

hedge_policy::~hedge_policy() = default;

void hedge_policy::record(std::chrono::nanoseconds duration) noexcept {
  constexpr unsigned capacity = sample_buffer::capacity;
  std::uint16_t const bucket = latency_buckets::of(duration.count());
  unsigned const own = detail::thread_number(); // of the first buffer that the thread tries
  for (unsigned k = 0; k != parts_->buffer_count; ++k) {
    sample_buffer& buffer = parts_->buffers[(own + k) % parts_->buffer_count];
    if (!buffer.lock.try_lock()) continue; // a thread of the same number, or one that was preempted there
    detail::lock_guard const guard(buffer.lock, std::adopt_lock);
    buffer.calls.store(buffer.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (buffer.filled != capacity) {
      buffer.samples[buffer.filled++] = bucket;
    } else {
      buffer.samples[buffer.oldest] = bucket;
      buffer.oldest = (buffer.oldest + 1) % capacity;
    }
    if (buffer.filled != capacity) return;
    std::int64_t const now = parts_->merge(buffer);
    // relaxed, both: as in threshold(). Readers keep the line unless the number changes.
    if (now != none && now != threshold_.load(std::memory_order_relaxed))
      threshold_.store(now, std::memory_order_relaxed);
    return;
  }
}

bool hedge_policy::try_hedge() noexcept {
  double const earned = static_cast<double>(parts_->calls()) * parts_->budget;
  bool const taken = parts_->tokens.try_take(
      static_cast<std::uint64_t>(earned * static_cast<double>(detail::hedge_budget::token)));
  // relaxed: a count for reports.
  (taken ? parts_->hedges : parts_->refused).fetch_add(1, std::memory_order_relaxed);
  return taken;
}

void hedge_policy::withdraw_hedge() noexcept {
  // relaxed: as in try_hedge().
  [[maybe_unused]] std::uint64_t const hedges = parts_->hedges.fetch_sub(1, std::memory_order_relaxed);
  RUBATO_ASSERT(hedges != 0, "rubato::hedge_policy: a hedge was withdrawn that was not permitted before",
                hedges);
  parts_->tokens.give_back();
}

hedge_policy_stats hedge_policy::stats() const noexcept {
  // relaxed: counts stand for themselves.
  return {parts_->calls(), parts_->hedges.load(std::memory_order_relaxed),
          parts_->refused.load(std::memory_order_relaxed)};
}

} // namespace rubato
