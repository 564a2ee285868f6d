// pool_options: every setting that is not about places, names or hooks.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <malloc.h>
#include <rubato/scope.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <utility>

#include "support/hang_guard.hpp"
#include "support/process.hpp"
#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

static_assert(!std::is_aggregate_v<rubato::pool_options>);
static_assert(std::is_move_constructible_v<rubato::pool_options>);
static_assert(std::is_move_assignable_v<rubato::pool_options>);
static_assert(!std::is_convertible_v<rubato::pool_options, rubato::pool>);

bool runs_a_task(rubato::pool& pool) {
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  return pool.wait_idle() && ran;
}

TEST(pool_options, can_be_chained_on_a_temporary_all_of_them) {
  rubato::pool pool(rubato::pool_options()
                        .workers(2)
                        .name("chained")
                        .place(rubato::placement::free)
                        .spares(3)
                        .stack_size(1 << 20)
                        .search_time(std::chrono::microseconds(10))
                        .max_queued(100)
                        .on_unhandled([](std::exception_ptr) {})
                        .on_start([](unsigned) {})
                        .on_exit([](unsigned) {})
                        .on_stall([](rubato::stall_report const&) {}));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_TRUE(runs_a_task(pool));
}

TEST(pool_options, can_be_chained_on_a_named_object_and_moved) {
  rubato::pool_options options;
  options.workers(3).spares(1);
  options.name("named");
  rubato::pool_options moved = std::move(options);
  moved.workers(2);
  rubato::pool pool(std::move(moved));
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_TRUE(runs_a_task(pool));
}

TEST(pool_options, without_a_number_give_one_worker_per_usable_cpu) {
  rubato::pool pool{rubato::pool_options()};
  EXPECT_TRUE(runs_a_task(pool));
  EXPECT_EQ(pool.size(), rubato::usable_cpus());
}

TEST(pool_options, no_workers_may_be_asked_for) {
  std::atomic<unsigned> told = 0;
  rubato::pool pool(
      rubato::pool_options().workers(rubato::no_workers).name("nobody").on_unhandled([&](std::exception_ptr) {
        ++told;
      }));
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_TRUE(runs_a_task(pool));
  pool.enqueue([] { throw 1; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(told, 1u) << "the other options hold";
  EXPECT_EQ(pool.resize(2), 0u);
  EXPECT_TRUE(runs_a_task(pool));
  EXPECT_EQ(pool.resize(0), 2u) << "resize() takes any number";
  EXPECT_TRUE(runs_a_task(pool));
}

/// A computed number of workers, such as cores / 4.
TEST(pool_options, regression_refuse_0_workers_and_name_the_tag) {
  auto const names_the_tag = [](auto f) {
    try {
      f();
    } catch (std::invalid_argument const& e) {
      return std::string(e.what()).find("no_workers") != std::string::npos;
    }
    return false;
  };
  unsigned const computed = 3 / 4;
  EXPECT_TRUE(names_the_tag([&] { rubato::pool pool(computed); }));
  EXPECT_TRUE(names_the_tag([&] { static_cast<void>(rubato::pool_options().workers(computed)); }));
  rubato::pool_options options;
  options.workers(3);
  EXPECT_TRUE(names_the_tag([&] { options.workers(computed); }));
  rubato::pool pool(options);
  EXPECT_EQ(pool.size(), 3u) << "the refused number has changed nothing";
}

TEST(pool_options, workers_have_the_stack_that_was_asked_for) {
  // 12 MiB do not fit into the 8 MiB that a thread gets otherwise: this crashes if the option is ignored.
  rubato::pool pool(rubato::pool_options().workers(1).stack_size(std::size_t{16} << 20));
  std::atomic<unsigned> read = 0;
  pool.enqueue([&] {
    char large[std::size_t{12} << 20];
    std::memset(large, 7, sizeof large);
    char volatile* const seen = large;
    read = static_cast<unsigned>(seen[0] + seen[sizeof large - 1]);
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(read, 14u);
}

TEST(pool_options, any_search_time_will_do) {
  for (auto time : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(1),
                    std::chrono::nanoseconds(50'000'000), std::chrono::nanoseconds::max()}) {
    SCOPED_TRACE(time.count());
    rubato::pool pool(rubato::pool_options().workers(2).search_time(time));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(runs_a_task(pool));
  }
}

void expect_refused(int cpu) {
  SCOPED_TRACE(cpu);
  try {
    rubato::pool pool(rubato::pool_options().cpus({cpu}));
    FAIL() << "accepted an unknown CPU";
  } catch (std::invalid_argument const& error) {
    std::string const message = error.what();
    EXPECT_NE(message.find(std::to_string(cpu)), std::string::npos) << "which CPU? " << message;
    EXPECT_TRUE(message.find("CPU") != std::string::npos || message.find("cpu") != std::string::npos)
        << message;
    EXPECT_GT(message.size(), 20u) << "not much of an explanation: " << message;
  }
}

TEST(pool_options, an_unknown_cpu_is_refused_and_named) {
  expect_refused(987'654);
  expect_refused(-1);
}

TEST(pool_options, one_unknown_cpu_among_known_ones_is_refused) {
  int const known = *cpus_of_this_thread().begin();
  EXPECT_THROW(rubato::pool(rubato::pool_options().workers(1).cpus({known, 987'654})), std::invalid_argument);
}

TEST(pool_options, a_refused_pool_starts_no_thread) {
  auto const before = thread_ids();
  EXPECT_THROW(rubato::pool(rubato::pool_options().workers(4).cpus({987'654})), std::invalid_argument);
  for (int id : thread_ids()) EXPECT_TRUE(before.contains(id));
}

TEST(usable_cpus, are_at_least_one_and_within_the_affinity_mask) {
  EXPECT_GE(rubato::usable_cpus(), 1u);
  EXPECT_LE(rubato::usable_cpus(), cpus_of_this_thread().size());
}

[[noreturn]] void count_cpus_of_a_restricted_process() {
  kill_this_process_if_it_hangs();
  restrict_this_thread_to(*cpus_of_this_thread().begin());
  rubato::pool pool;
  bool const ran = runs_a_task(pool);
  leave(ran && rubato::usable_cpus() == 1 && pool.size() == 1, "one usable CPU, one worker");
}

using usable_cpus_of_a_fresh_process = fresh_process;

TEST_F(usable_cpus_of_a_fresh_process, follows_the_affinity_mask) {
  EXPECT_EXIT(count_cpus_of_a_restricted_process(), testing::ExitedWithCode(0), "one usable CPU, one worker");
}

TEST(pool_options, a_refused_pool_gives_its_memory_back) {
  auto const pages = [] {
    std::size_t n = 0;
    std::ifstream("/proc/self/statm") >> n;
    return n;
  };
  ::mallopt(M_PERTURB, 85); // what was never written is not zero
  auto const refused = [] {
    EXPECT_THROW(rubato::pool(rubato::pool_options().workers(1).cpus({987'654})), std::invalid_argument);
  };
  refused();
  std::size_t const before = pages();
  for (int i = 0; i != 100; ++i) refused();
  EXPECT_LT(pages() - before, 1000u);
  ::mallopt(M_PERTURB, 0);
}

/// Makes a pool wherever it is copied or destroyed, but not within that.
struct pool_making_callback {
  bool whole = true;
  pool_making_callback() = default;
  pool_making_callback(pool_making_callback&& other) noexcept
      : whole(std::exchange(other.whole, false)) {}
  pool_making_callback(pool_making_callback const&) { make_pool(); }
  ~pool_making_callback() {
    if (whole) make_pool();
  }
  void operator()(unsigned) const {}

private:
  static void make_pool() {
    static bool within = false;
    if (std::exchange(within, true)) return;
    rubato::pool(1);
    within = false;
  }
};

TEST(pool_options, callbacks_are_copied_and_destroyed_unlocked) {
  EXPECT_EXIT(
      {
        ::alarm(10);
        {
          rubato::pool pool(rubato::pool_options().workers(1).on_start(pool_making_callback()));
        }
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(pool_options, regression_endless_searches_end_with_the_pool) {
  rubato_test::hang_guard const guard;
  for (bool const used : {false, true}) {
    std::atomic<int> ran = 0;
    {
      rubato::pool pool(rubato::pool_options().workers(2).search_time(std::chrono::nanoseconds::max()));
      if (used) {
        rubato::task_group group(pool);
        for (int i = 0; i < 10; ++i) {
          pool.enqueue([&] { ++ran; });
          group.spawn([&] { ++ran; });
        }
      }
    }
    EXPECT_EQ(ran, used ? 20 : 0);
  }
}

} // namespace
