// Loops and reductions have the floating-point modes of the thread that calls them, on every thread that
// takes part, and leave each thread its own.
#include "rubato/detail/base/fp_modes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <ranges>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/thread_pool.hpp>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

using namespace rubato_test;
using rubato::detail::fp_modes;

/// One denormal number flushed to zero? The arithmetic itself tells, so that no flag has to be known.
bool flushes() {
  double volatile tiny = std::numeric_limits<double>::min();
  double volatile half = tiny / 2;
  return half == 0;
}

void flush_to_zero() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040U); // FTZ, DAZ
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | std::uint64_t{1} << 24U));
#endif
}

/// The modes of the calling thread until the end of the test.
class modes_kept {
  std::fenv_t before_{};

public:
  modes_kept() { std::fegetenv(&before_); }
  modes_kept(modes_kept const&) = delete;
  modes_kept& operator=(modes_kept const&) = delete;
  ~modes_kept() { std::fesetenv(&before_); }
};

/// Notes for each call on which thread it runs, and with which modes. The first call lasts until another
/// thread has made one, if there is another.
class noted_calls {
  bool const others_;
  bool const alone_;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
  unsigned wrong_ = 0;
  unsigned calls_ = 0;

public:
  explicit noted_calls(unsigned workers)
      : others_(workers > 1)
      , alone_(workers == 0) {}

  void note() {
    bool first = false;
    {
      std::lock_guard const lock(mutex_);
      first = calls_++ == 0;
      threads_.insert(std::this_thread::get_id());
      if (std::fegetround() != FE_UPWARD || !flushes()) ++wrong_;
    }
    if (!first || !others_) return;
    EXPECT_TRUE(rubato_test::eventually([this] { return threads() > 1; }));
  }
  std::size_t threads() {
    std::lock_guard const lock(mutex_);
    return threads_.size();
  }
  void expect_all_right() {
    std::lock_guard const lock(mutex_);
    EXPECT_GT(calls_, 0U);
    EXPECT_EQ(wrong_, 0U);
    // The caller may have the seat of an only worker, or run beside it.
    if (others_) {
      EXPECT_GT(threads_.size(), 1U);
    } else if (alone_) {
      EXPECT_EQ(threads_.size(), 1U);
    }
  }
};

class floating_point_modes : public on_workers {
protected:
  /// Calls f(note) with other modes than the workers'. Afterwards each thread has its own again.
  template<class F>
  void check(F f) {
    modes_kept const kept;
    pool.wait_idle();
    std::vector<bool> const usual = modes_of_workers();
    std::fesetround(FE_UPWARD);
    flush_to_zero();
    fp_modes const mine = fp_modes::of_this_thread();
    noted_calls calls(GetParam());
    f([&calls] { calls.note(); });
    EXPECT_TRUE(mine == fp_modes::of_this_thread());
    calls.expect_all_right();
    EXPECT_EQ(modes_of_workers(), usual);
  }

private:
  std::vector<bool> modes_of_workers() {
    if (GetParam() == 0) return {};
    std::vector<bool> all;
    for (bool const usual : pool.broadcast([] { return std::fegetround() == FE_TONEAREST && !flushes(); }))
      all.push_back(usual);
    return all;
  }
};
RUBATO_TEST_WITH_WORKERS(floating_point_modes, all_counts);

constexpr int items = 64;

TEST_P(floating_point_modes, regression_of_for_index) {
  check([this](auto note) { rubato::for_index(pool, 0, items, [&](int) { note(); }); });
}

TEST_P(floating_point_modes, regression_of_for_range) {
  check([this](auto note) { rubato::for_range(pool, 0, items, [&](int, int) { note(); }); });
}

TEST_P(floating_point_modes, regression_of_for_each) {
  std::vector<int> const values(items);
  check([&, this](auto note) { rubato::for_each(pool, values, [&](int) { note(); }); });
}

TEST_P(floating_point_modes, regression_of_a_forward_for_each) {
  auto const even = [](int i) { return i % 2 == 0; };
  auto range = std::views::iota(0, 2 * items) | std::views::filter(even);
  check([&, this](auto note) { rubato::for_each(pool, range, [&](int) { note(); }); });
}

TEST_P(floating_point_modes, regression_of_a_single_pass_for_each) {
  std::string text;
  for (int i = 0; i != items; ++i) text += "1 ";
  std::istringstream in(text);
  check([&, this](auto note) { rubato::for_each(pool, std::views::istream<int>(in), [&](int) { note(); }); });
}

TEST_P(floating_point_modes, regression_of_reduce) {
  std::vector<int> const values(items, 1);
  check([&, this](auto note) {
    EXPECT_EQ(rubato::reduce(pool, values, 0, std::plus<>(), [&](int v) { return note(), v; }), items);
  });
}

TEST_P(floating_point_modes, regression_of_deterministic_reduce) {
  std::vector<int> const values(items, 1);
  check([&, this](auto note) {
    auto const map = [&](int v) { return note(), v; };
    EXPECT_EQ(rubato::reduce(pool, rubato::deterministic, values, 0, std::plus<>(), map), items);
  });
}

TEST_P(floating_point_modes, regression_of_a_loop_within_a_loop) {
  check([this](auto note) {
    rubato::for_index(pool, 0, 8, [&](int) { rubato::for_index(0, 8, [&](int) { note(); }); });
  });
}

TEST_P(floating_point_modes, regression_are_restored_after_a_failure) {
  check([this](auto note) {
    auto const fail = [&](int i) {
      note();
      throw std::runtime_error("fails");
      return i;
    };
    EXPECT_THROW(rubato::for_index(pool, 0, items, fail), std::runtime_error);
    std::vector<int> const values(items, 1);
    EXPECT_THROW(rubato::reduce(pool, rubato::deterministic, values, 0, std::plus<>(), fail),
                 std::runtime_error);
  });
}

TEST_P(floating_point_modes, regression_deterministic_sums_are_equal) {
  modes_kept const kept;
  std::vector<double> const tenths(20'000, 0.1), tiny(20'000, 1e-309);
  auto const sum = [&](rubato::pool& p, std::vector<double> const& v) {
    auto const slowly = [](double x) { // long enough to be shared
      for (int i = 0; i != 100; ++i) asm volatile("" : : : "memory");
      return x;
    };
    return std::bit_cast<std::uint64_t>(
        rubato::reduce(p, rubato::deterministic, v, 0.0, std::plus<>(), slowly));
  };
  rubato::pool one(1);
  one.wait_idle();
  std::fesetround(FE_UPWARD);
  auto const upward = sum(one, tenths);
  for (int round = 0; round != 20; ++round) EXPECT_EQ(sum(pool, tenths), upward);
  std::fesetround(FE_TONEAREST);
  EXPECT_NE(sum(pool, tenths), upward);
  flush_to_zero();
  for (int round = 0; round != 20; ++round) EXPECT_EQ(sum(pool, tiny), 0U);
}

#if defined(__x86_64__) && defined(__GLIBC__)
TEST(fp_modes, do_not_trap_for_a_flag_that_was_raised_before) {
  modes_kept const kept;
  fp_modes const usual = fp_modes::of_this_thread();
  std::feclearexcept(FE_ALL_EXCEPT);
  ::feenableexcept(FE_DIVBYZERO);
  fp_modes const traps = fp_modes::of_this_thread();
  ::fedisableexcept(FE_DIVBYZERO);
  long double volatile zero = 0;
  long double volatile quotient = 1 / zero; // raises the flag
  EXPECT_GT(quotient, 1);
  {
    rubato::detail::fp_modes_in_force const now(traps);
    EXPECT_TRUE(fp_modes::of_this_thread() == traps);
    long double volatile one = 1;
    quotient = one + one;
  }
  EXPECT_TRUE(fp_modes::of_this_thread() == usual);
}
#endif

} // namespace
