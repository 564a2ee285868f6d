// The wheel of timers alone: what is due comes out, once, not early, in the order of its ticks, and none
// stays behind, however far in the future or the past it is due.
#include "timer/timer_wheel.hpp"

#include <gtest/gtest.h>

#ifdef RUBATO_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace {

using rubato::detail::clock_ns;
using rubato::detail::never_ns;
using rubato::detail::timer_batch;
using rubato::detail::timer_wheel;
using rubato::detail::to_ns;

constexpr clock_ns tick = clock_ns{1} << 16;
constexpr clock_ns turn = tick << 42; // of the whole wheel: nine years
constexpr clock_ns least_ns = std::numeric_limits<clock_ns>::min();

struct stub final : rubato::detail::timer {
  void fire() noexcept override {}
};

/// Beside the wheel a reference: the deadlines, sorted.
class checked_wheel {
  std::unique_ptr<timer_wheel> wheel_ = std::make_unique<timer_wheel>();
  std::deque<stub> timers_; // stay in place
  std::multiset<clock_ns> armed_;
  std::vector<stub*> linked_;

public:
  clock_ns now = 0;
  std::size_t calls = 0;

  stub& arm(clock_ns due) {
    stub& t = timers_.emplace_back();
    t.due = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due));
    wheel_->insert(t);
    armed_.insert(due);
    linked_.push_back(&t);
    check();
    return t;
  }
  void cancel(std::size_t i) {
    if (linked_.empty()) return;
    std::swap(linked_[i % linked_.size()], linked_.back());
    stub& t = *linked_.back();
    linked_.pop_back();
    EXPECT_TRUE(timer_wheel::is_linked(t));
    wheel_->erase(t);
    armed_.erase(armed_.find(to_ns(t.due)));
    check();
  }
  /// Returns what came out, in its order.
  std::vector<clock_ns> advance(clock_ns to) {
    now = to;
    std::vector<clock_ns> out;
    for (bool more = true; more;) {
      timer_batch b;
      wheel_->take_due(now, b);
      ++calls;
      for (std::size_t i = 0; i != b.size; ++i) {
        stub& t = static_cast<stub&>(*b.timers[i]);
        EXPECT_FALSE(timer_wheel::is_linked(t));
        clock_ns const due = to_ns(t.due);
        EXPECT_LE(due, now);
        auto const it = armed_.find(due);
        EXPECT_NE(it, armed_.end());
        if (it != armed_.end()) armed_.erase(it);
        linked_.erase(std::find(linked_.begin(), linked_.end(), &t));
        out.push_back(due);
      }
      more = b.more;
      check();
    }
    EXPECT_GT(armed_.empty() ? never_ns : *armed_.begin(), now);
    EXPECT_GT(wheel_->earliest(), now);
    return out;
  }
  void check() const {
    EXPECT_LE(wheel_->earliest(), armed_.empty() ? never_ns : *armed_.begin());
    EXPECT_TRUE(!armed_.empty() || linked_.empty());
  }
  [[nodiscard]] clock_ns earliest() const { return wheel_->earliest(); }
  void clear() {
    wheel_->clear();
    for (stub const* t : linked_) EXPECT_FALSE(timer_wheel::is_linked(*t));
    linked_.clear();
    armed_.clear();
    EXPECT_EQ(wheel_->earliest(), never_ns);
  }
};

/// Do the ticks ascend, seen from the moment at which the wheel stood?
bool in_order_of_ticks(std::vector<clock_ns> const& out, clock_ns from) {
  return std::is_sorted(out.begin(), out.end(), [from](clock_ns a, clock_ns b) {
    return std::max(a, from) / tick < std::max(b, from) / tick;
  });
}

TEST(timer_wheel, is_empty_at_first) {
  checked_wheel w;
  EXPECT_EQ(w.earliest(), never_ns);
  EXPECT_TRUE(w.advance(0).empty());
  EXPECT_TRUE(w.advance(turn * 3).empty());
}

TEST(timer_wheel, knows_the_nearest_deadline_on_every_level) {
  for (clock_ns const due : {clock_ns{1}, tick - 1, tick, tick * 63 + 5, tick * 64, tick * 4'095 + 1,
                             tick * 4'096, turn - 1, turn, turn + 1, 3 * turn + 7, never_ns - 1}) {
    checked_wheel w;
    w.arm(due);
    EXPECT_EQ(w.earliest(), due);
    EXPECT_TRUE(w.advance(due - 1).empty());
    EXPECT_EQ(w.earliest(), due); // no wake to move it between levels
    EXPECT_EQ(w.advance(due).size(), 1U);
  }
}

TEST(timer_wheel, gives_out_the_past_at_once) {
  checked_wheel w;
  w.advance(tick * 1'000);
  for (clock_ns const due : {least_ns, clock_ns{-1}, clock_ns{0}, tick, tick * 1'000}) w.arm(due);
  EXPECT_EQ(w.earliest(), least_ns);
  EXPECT_EQ(w.advance(tick * 1'000).size(), 5U);
}

TEST(timer_wheel, never_gives_out_never) {
  checked_wheel w;
  w.arm(never_ns);
  w.arm(never_ns - 1);
  EXPECT_TRUE(w.advance(never_ns - 2).empty());
  EXPECT_EQ(w.advance(never_ns - 1).size(), 1U);
  EXPECT_EQ(w.earliest(), never_ns);
  w.cancel(0);
}

TEST(timer_wheel, goes_round_at_the_top) {
  checked_wheel w;
  w.advance(turn - tick);
  w.arm(turn + tick);
  w.arm(turn - 1);
  w.arm(2 * turn + 1);
  w.arm(turn);
  EXPECT_EQ(w.advance(turn - 1), (std::vector{turn - 1}));
  EXPECT_EQ(w.advance(turn + tick), (std::vector{turn, turn + tick}));
  EXPECT_TRUE(w.advance(2 * turn).empty());
  EXPECT_EQ(w.advance(5 * turn), (std::vector{2 * turn + 1}));
}

TEST(timer_wheel, keeps_what_one_tick_holds_apart) {
  checked_wheel w;
  for (clock_ns i = 0; i != 100; ++i) w.arm(tick + i * 10);
  EXPECT_EQ(w.advance(tick + 495).size(), 50U);
  EXPECT_EQ(w.earliest(), tick + 500);
  EXPECT_EQ(w.advance(2 * tick).size(), 50U);
}

TEST(timer_wheel, handles_a_limited_number_at_once) {
  for (clock_ns const distance : {clock_ns{1}, tick * 64, tick * 4'096, tick * 4'096 * 64}) {
    checked_wheel w;
    for (int i = 0; i != 2'000; ++i) w.arm(distance + i % 7 * tick / 8);
    std::vector<clock_ns> const out = w.advance(distance + tick);
    EXPECT_EQ(out.size(), 2'000U);
    EXPECT_TRUE(in_order_of_ticks(out, 0));
    EXPECT_GE(w.calls, 2'000 / timer_batch::most);
  }
}

TEST(timer_wheel, puts_what_is_armed_meanwhile_behind_the_rest) {
  checked_wheel w;
  clock_ns const due = tick * 5'000 + 3;
  for (int i = 0; i != 300; ++i) w.arm(due);
  timer_wheel alone;
  std::deque<stub> timers;
  auto const arm = [&] {
    timers.emplace_back().due = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due));
    alone.insert(timers.back());
  };
  for (int i = 0; i != 300; ++i) arm();
  std::vector<rubato::detail::timer*> order;
  for (bool more = true; more;) {
    timer_batch b;
    alone.take_due(due, b);
    order.insert(order.end(), b.timers.begin(), b.timers.begin() + static_cast<std::ptrdiff_t>(b.size));
    more = b.more;
    if (more && timers.size() < 400) arm();
  }
  for (std::size_t i = 0; i != order.size(); ++i) EXPECT_EQ(order[i], &timers[i]);
  EXPECT_EQ(order.size(), timers.size());
  EXPECT_EQ(w.advance(due).size(), 300U);
}

TEST(timer_wheel, forgets_all) {
  checked_wheel w;
  for (clock_ns const due : {clock_ns{1}, tick * 70, tick * 5'000, turn * 2, never_ns}) w.arm(due);
  w.clear();
  w.arm(3);
  EXPECT_EQ(w.advance(3).size(), 1U);
}

#ifdef RUBATO_HAS_RAPIDCHECK

/// A distance of any magnitude.
clock_ns distance() {
  auto const bits = *rc::gen::inRange(0, 63);
  return static_cast<clock_ns>(*rc::gen::arbitrary<std::uint64_t>() & ((std::uint64_t{1} << bits) - 1));
}
clock_ns later(clock_ns now, clock_ns by) { return never_ns - now > by ? now + by : never_ns; }

RC_GTEST_PROP(timer_wheel, agrees_with_a_sorted_list, ()) {
  checked_wheel w;
  auto const steps = *rc::gen::inRange(1, 200);
  for (int i = 0; i != steps; ++i) {
    clock_ns const from = w.now;
    switch (*rc::gen::inRange(0, 8)) {
    case 0:
      w.arm(later(from, 0) - std::min(distance(), never_ns));
      break;
    case 1:
      w.arm(never_ns);
      break;
    case 2:
      w.cancel(*rc::gen::inRange<std::size_t>(0, 1'000));
      break;
    case 3: // exactly then
      if (w.earliest() != never_ns && w.earliest() > from) w.advance(w.earliest());
      break;
    case 4: {
      clock_ns const by = distance() >> 4;
      if (never_ns - from > by) RC_ASSERT(in_order_of_ticks(w.advance(from + by), from));
      break;
    }
    case 5: { // many at once, so that a call does not do all
      clock_ns const due = later(from, distance());
      for (int n = *rc::gen::inRange(0, 600); n > 0; --n) w.arm(due);
      break;
    }
    default:
      w.arm(later(from, distance()));
    }
  }
  if (w.now < never_ns - 1) w.advance(never_ns - 1);
  RC_ASSERT(!::testing::Test::HasFailure());
}

#endif

} // namespace
