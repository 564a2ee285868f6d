// pool_options: every setting that is not about places, names or hooks.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

#include "pool/process.hpp"
#include "pool/threads.hpp"
#include "pool/waiting.hpp"

namespace {

using namespace pool_test;

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

TEST(pool_options, without_a_number_of_workers_there_is_one_per_usable_cpu) {
  rubato::pool pool{rubato::pool_options()};
  EXPECT_TRUE(runs_a_task(pool));
  EXPECT_EQ(pool.size(), rubato::usable_cpus());
}

TEST(pool_options, zero_workers_may_be_asked_for) {
  rubato::pool pool(rubato::pool_options().workers(0));
  EXPECT_EQ(pool.size(), 0u);
  EXPECT_TRUE(runs_a_task(pool));
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

TEST(usable_cpus, is_at_least_one_and_no_more_than_the_affinity_mask_allows) {
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

} // namespace
