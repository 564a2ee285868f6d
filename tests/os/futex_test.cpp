#include "os/futex.hpp"

#include "os/memory.hpp"

#include <array>
#include <climits>
#include <gtest/gtest.h>
#include <new>
#include <thread>
#include <vector>

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

TEST(futex, wait_returns_at_once_if_the_word_differs) {
  std::atomic<std::uint32_t> word{1};
  os::wait(word, 0);
  EXPECT_TRUE(os::wait_until(word, 0, steady_clock::now() + 1h));
}

TEST(futex, aword_that_differs_is_not_atimeout) {
  std::atomic<std::uint32_t> word{1};
  EXPECT_TRUE(os::wait_until(word, 0, steady_clock::now() - 1s));
}

TEST(futex, wait_until_times_out_never_early) {
  std::atomic<std::uint32_t> word{0};
  for (auto const delay : {0us, 1us, 100us, 2'000us}) {
    auto const deadline = steady_clock::now() + delay;
    while (os::wait_until(word, 0, deadline)) {
    } // may return for no reason
    EXPECT_GE(steady_clock::now(), deadline);
  }
}

TEST(futex, deadlines_before_the_beginning_of_time) {
  std::atomic<std::uint32_t> word{0};
  EXPECT_FALSE(os::wait_until(word, 0, steady_clock::time_point{}));
  EXPECT_FALSE(os::wait_until(word, 0, steady_clock::time_point{-5s}));
  EXPECT_FALSE(os::wait_until(word, 0, steady_clock::time_point::min()));
}

TEST(futex, wake_ends_asleep_without_end) {
  for (bool const timed : {false, true}) {
    std::atomic<std::uint32_t> word{0};
    std::thread sleeper([&] {
      while (word.load() == 0) {
        if (timed)
          EXPECT_TRUE(os::wait_until(word, 0, steady_clock::time_point::max()));
        else
          os::wait(word, 0);
      }
    });
    std::this_thread::sleep_for(2ms);
    word.store(1);
    os::wake(word, 1);
    sleeper.join();
  }
}

TEST(futex, wakes_at_most_as_many_as_asked) {
  std::atomic<std::uint32_t> word{0};
  EXPECT_EQ(os::wake(word, 1), 0U);
  std::vector<std::thread> sleepers;
  std::atomic<int> awake{0};
  for (int i = 0; i < 4; ++i)
    sleepers.emplace_back([&] {
      os::wait(word, 0); // once: a thread that returns was woken, or returned for no reason
      ++awake;
    });
  // All sleep as soon as as many can be woken; a wake of none counts nothing, so look at the clock instead.
  std::this_thread::sleep_for(50ms);
  if (awake.load() == 0) {
    EXPECT_EQ(os::wake(word, 0), 0U);
    EXPECT_LE(os::wake(word, 1), 1U);
    EXPECT_LE(os::wake(word, 2), 2U);
  }
  word.store(1);
  os::wake(word, UINT_MAX);
  for (auto& s : sleepers) s.join();
  EXPECT_EQ(awake.load(), 4);
}

TEST(futex, wake_of_aword_that_is_gone) {
  auto* const page = os::reserve(4'096);
  auto const& word = *new (page) std::atomic<std::uint32_t>(0);
  os::release(page, 4'096);
  EXPECT_EQ(os::wake(word, 1), 0U);
}

TEST(futex, hands_abaton_back_and_forth) {
  std::atomic<std::uint32_t> turn{0};
  constexpr std::uint32_t rounds = 2'000;
  auto const player = [&](std::uint32_t parity) {
    for (std::uint32_t i = parity; i < rounds; i += 2) {
      for (auto t = turn.load(); t != i; t = turn.load()) os::wait(turn, t);
      turn.store(i + 1);
      os::wake(turn, 1);
    }
  };
  std::thread other(player, 1U);
  player(0U);
  other.join();
  EXPECT_EQ(turn.load(), rounds);
}

} // namespace
