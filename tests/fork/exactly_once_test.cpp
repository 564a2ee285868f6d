// Everything runs once: nothing twice, nothing never, with far more workers than cores.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

class exactly_once : public on_workers {};
RUBATO_TEST_WITH_WORKERS(exactly_once, all_counts);

void join_tree(std::size_t low, std::size_t high, tally& ran) {
  if (high - low == 1) {
    if (low % 61 == 0) jitter::spin(std::chrono::microseconds(low % 7));
    ran.hit(low);
    return;
  }
  auto const middle = low + (high - low) / 2;
  rubato::join([&] { join_tree(low, middle, ran); }, [&] { join_tree(middle, high, ran); });
}

TEST_P(exactly_once, runs_every_leaf_of_a_tree_of_joins) {
  for (std::size_t round = 0; round != scaled(100); ++round) {
    tally ran(1'000 + round % 100);
    pool.run([&] { join_tree(0, 1'000 + round % 100, ran); });
    ran.expect_each_once();
  }
}

TEST_P(exactly_once, runs_every_half_of_a_long_row_of_joins) {
  // The take of a half races with the owner's own end of it, over and over, in frames that are used again at
  // once.
  std::size_t const length = scaled(300'000);
  tally ran(2 * length);
  pool.run([&] {
    rubato::join(
        [&] {
          for (std::size_t i = 0; i != length / 2; ++i) {
            rubato::join([&] { ran.hit(4 * i); }, [&] { ran.hit(4 * i + 1); });
          }
        },
        [&] {
          for (std::size_t i = 0; i != length / 2; ++i) {
            rubato::join([&] { ran.hit(4 * i + 2); }, [&] { ran.hit(4 * i + 3); });
          }
        });
  });
  EXPECT_EQ(ran.total(), length / 2 * 4);
  ran.expect_none_twice();
}

TEST_P(exactly_once, runs_every_half_while_thieves_come_and_go) {
  // Irregular pauses let searchers go to sleep and come back in the middle of the rows.
  std::size_t const length = scaled(20'000);
  tally ran(4 * length);
  pool.run([&] {
    rubato::for_index(std::size_t{0}, std::size_t{4}, [&](std::size_t row) {
      jitter pause(static_cast<std::uint32_t>(row + 1));
      for (std::size_t i = 0; i != length / 2; ++i) {
        rubato::join([&] { ran.hit(row * length + 2 * i); },
                     [&] {
                       if (i % 200 == 0) jitter::spin(std::chrono::microseconds(5));
                       ran.hit(row * length + 2 * i + 1);
                     });
        if (i % 500 == 0) pause.pause(std::chrono::microseconds(200));
      }
    });
  });
  EXPECT_EQ(ran.total(), 4 * (length / 2 * 2));
  ran.expect_none_twice();
}

TEST_P(exactly_once, runs_every_index_of_loops_of_many_lengths) {
  for (std::size_t round = 0; round != scaled(300); ++round) {
    std::size_t const length = round % 2 == 0 ? round % 50 : round * 37 % 5'000;
    tally ran(length);
    pool.run([&] {
      rubato::for_index(std::size_t{0}, length, [&](std::size_t i) {
        if (i % 509 == 0) jitter::spin(std::chrono::microseconds(3));
        ran.hit(i);
      });
    });
    ran.expect_each_once();
  }
}

TEST_P(exactly_once, runs_every_child_of_scopes_of_many_sizes) {
  for (std::size_t round = 0; round != scaled(200); ++round) {
    std::size_t const children = round % 2 == 0 ? round % 10 : round * 7 % 500;
    tally ran(2 * children);
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        for (std::size_t i = 0; i != children; ++i) {
          s.spawn([&, i] {
            ran.hit(2 * i);
            s.spawn([&, i] { ran.hit(2 * i + 1); });
          });
        }
      });
    });
    ran.expect_each_once();
  }
}

TEST_P(exactly_once, runs_everything_of_many_outside_threads_at_once) {
  constexpr std::size_t threads = 6;
  std::size_t const rounds = scaled(60);
  std::vector<std::thread> outside;
  tally ran(threads * rounds * 200);
  for (std::size_t t = 0; t != threads; ++t) {
    outside.emplace_back([&, t] {
      for (std::size_t round = 0; round != rounds; ++round) {
        std::size_t const base = (t * rounds + round) * 200;
        auto const hit = [&ran, base](std::size_t i) { ran.hit(base + i); };
        switch ((t + round) % 3) {
        case 0:
          rubato::for_index(pool, std::size_t{0}, std::size_t{200}, hit);
          break;
        case 1:
          rubato::with_scope(pool, [&](rubato::scope& s) {
            for (std::size_t i = 0; i != 200; ++i) s.spawn([&hit, i] { hit(i); });
          });
          break;
        default:
          rubato::join(
              pool,
              [&] {
                for (std::size_t i = 0; i != 100; ++i) rubato::join([&] { hit(i); }, [] {});
              },
              [&] { rubato::for_index(std::size_t{100}, std::size_t{200}, hit); });
        }
      }
    });
  }
  for (auto& thread : outside) thread.join();
  ran.expect_each_once();
}

TEST_P(exactly_once, runs_nothing_twice_though_bodies_throw) {
  for (std::size_t round = 0; round != scaled(200); ++round) {
    tally ran(500);
    std::size_t const bad = round * 31 % 500;
    EXPECT_THROW(pool.run([&] {
      rubato::for_index(std::size_t{0}, std::size_t{500}, [&](std::size_t i) {
        ran.hit(i);
        if (i == bad) throw std::runtime_error("bad");
      });
    }),
                 std::runtime_error);
    ran.expect_none_twice();
  }
}

TEST_P(exactly_once, runs_everything_while_the_pool_is_resized) {
  if (GetParam() == 0) return; // covered by the others: they come by here with every number
  std::atomic<bool> over{false};
  std::thread resizer([&] {
    jitter random(5);
    while (!over.load()) {
      pool.resize(random.below(9));
      random.pause(std::chrono::microseconds(300));
    }
    pool.resize(GetParam());
  });
  for (std::size_t round = 0; round != scaled(100); ++round) {
    tally ran(2'000);
    pool.run([&] {
      rubato::join([&] { join_tree(0, 1'000, ran); },
                   [&] { rubato::for_index(1'000, 2'000, [&](int i) { ran.hit(i); }); });
    });
    ran.expect_each_once();
  }
  over = true;
  resizer.join();
}

} // namespace
