// The example life: its generations beside a plain computation, and what the program prints. No test looks at
// a time.
#include "examples/child.hpp"
#include "life/generation.hpp"
#include "support/with_workers.hpp"

#include <rubato/pool.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;

constexpr life::way ways[] = {life::way::serial, life::way::parallel, life::way::bridged};

/// Cell by cell, by the rules as they are told.
life::board plain_step(const life::board& now) {
  life::board next(now.rows(), now.columns());
  const auto wrapped = [](std::size_t i, int by, std::size_t size) {
    return (i + size + static_cast<std::size_t>(by + 1) - 1) % size;
  };
  for (std::size_t r = 0; r != now.rows(); ++r)
    for (std::size_t c = 0; c != now.columns(); ++c) {
      int neighbours = 0;
      for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
          if (x != 0 || y != 0)
            neighbours += now.alive(wrapped(r, y, now.rows()), wrapped(c, x, now.columns()));
      next.set(r, c, neighbours == 3 || (neighbours == 2 && now.alive(r, c)));
    }
  return next;
}

class life_on : public testing::TestWithParam<unsigned> {
protected:
  rubato::pool pool_{with_workers(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(workers, life_on, testing::Values(0U, 1U, 2U, 7U, 33U),
                         testing::PrintToStringParamName());

TEST_P(life_on, each_way_makes_the_generations_that_the_rules_say) {
  for (const auto& [rows, columns] :
       {std::pair(1U, 1U), {1U, 5U}, {2U, 2U}, {3U, 70U}, {70U, 3U}, {60U, 65U}, {300U, 300U}})
    for (const life::way how : ways) {
      life::board now = life::random_board(rows, columns, 0.4, rows), next(rows, columns);
      for (int generation = 0; generation != 12; ++generation) {
        const life::board expected = plain_step(now);
        pool_.run([&] { life::step(now, next, how); });
        ASSERT_EQ(next, expected) << rows << " x " << columns << ", " << generation;
        std::swap(now, next);
      }
    }
}

TEST_P(life_on, a_board_that_dies_out_stays_empty) {
  for (const life::way how : ways) {
    life::board now(50, 50), next(50, 50);
    for (const std::size_t c : {10U, 11U, 30U}) now.set(20, c, true);
    pool_.run([&] {
      for (int generation = 0; generation != 5; ++generation) {
        life::step(now, next, how);
        std::swap(now, next);
      }
    });
    EXPECT_EQ(now.living(), 0U);
    EXPECT_EQ(now, next);
  }
}

TEST_P(life_on, a_glider_comes_back_after_four_generations_a_row) {
  for (const life::way how : ways) {
    life::board now(12, 12), next(12, 12);
    for (const auto& [r, c] : {std::pair(0U, 1U), {1U, 2U}, {2U, 0U}, {2U, 1U}, {2U, 2U}})
      now.set(r, c, true);
    const life::board begin = now;
    pool_.run([&] {
      for (int generation = 0; generation != 4 * 12; ++generation) {
        life::step(now, next, how);
        std::swap(now, next);
        ASSERT_EQ(now.living(), 5U);
      }
    });
    EXPECT_EQ(now, begin);
  }
}

TEST_P(life_on, large_boards_are_the_same_each_way) {
  life::board now = life::random_board(900, 600, 0.3, 5), serial(900, 600), parallel(900, 600),
              bridged(900, 600);
  pool_.run([&] {
    life::step(now, serial, life::way::serial);
    life::step(now, parallel, life::way::parallel);
    life::step(now, bridged, life::way::bridged);
  });
  EXPECT_EQ(parallel, serial);
  EXPECT_EQ(bridged, serial);
}

TEST(life, board_without_a_cell_is_refused) {
  EXPECT_THROW(life::board(0, 5), std::invalid_argument);
  EXPECT_THROW(life::board(5, 0), std::invalid_argument);
}

outcome played(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LIFE_PROGRAM);
  return run(std::move(arguments));
}

TEST(life, program_prints_the_same_frames_each_way) {
  const std::vector<std::string> board{"--rows", "6", "--columns", "30", "--frames", "20", "--rate", "0"};
  std::string expected;
  for (const char* how : {"serial", "parallel", "bridged"})
    for (const char* workers : {"0", "1", "2", "33"}) {
      auto arguments = board;
      arguments.insert(arguments.end(), {"--how", how, "--workers", workers});
      const outcome end = played(arguments);
      EXPECT_EQ(end.status, 0) << end.err;
      EXPECT_EQ(end.out.size(), 20U * (6 * 31 + 1)); // plain lines, and an empty one after each frame
      if (expected.empty()) expected = end.out;
      EXPECT_EQ(end.out, expected);
      EXPECT_THAT(end.err, HasSubstr("20 frames")) << end.err;
      EXPECT_THAT(end.err, HasSubstr("CPU"));
    }
}

TEST(life, program_is_quiet_when_asked) {
  const outcome end = played({"--quiet", "--frames", "3", "--rate", "1000"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.out, "");
  EXPECT_THAT(end.err, HasSubstr("3 frames"));
}

TEST(life, program_says_that_it_cannot_write) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  const outcome end = run({LIFE_PROGRAM, "--frames", "3"}, {.out = full});
  ::close(full);
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("cannot write"));
}

TEST(life, program_refuses_wrong_arguments) {
  EXPECT_EQ(played({"--rows", "0"}).status, 2);
  EXPECT_EQ(played({"--how", "magic"}).status, 2);
  EXPECT_EQ(played({"--density", "2"}).status, 2);
  EXPECT_EQ(played({"--rate", "-1"}).status, 2);
  EXPECT_EQ(played({"--help"}).status, 0);
}

} // namespace
