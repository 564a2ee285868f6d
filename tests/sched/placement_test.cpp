// The names of the threads, and the CPUs that they may use.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/threads.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

/// What each of the workers of `pool` says of itself, all of them at once, so that none is asked twice.
template<class F>
auto ask_all(rubato::pool& pool, F question) {
  rendezvous all(pool.size());
  return pool.broadcast([&] {
    EXPECT_TRUE(all.meet());
    return question();
  });
}

TEST(thread_names, are_the_name_of_the_pool_and_a_number) {
  rubato::pool pool(rubato::pool_options().workers(4).name("kitchen"));
  auto names = ask_all(pool, name_of_this_thread);
  std::ranges::sort(names);
  EXPECT_TRUE(std::ranges::adjacent_find(names) == names.end()) << "two threads have one name";
  for (auto const& name : names) {
    ASSERT_TRUE(name.starts_with("kitchen/")) << name;
    unsigned number = 0;
    auto const [end, error] = std::from_chars(name.data() + 8, name.data() + name.size(), number);
    EXPECT_TRUE(error == std::errc() && end == name.data() + name.size()) << name;
    EXPECT_LT(number, pool.slots());
  }
}

TEST(thread_names, that_are_too_long_for_the_kernel_are_no_error) {
  std::string const name(200, 'n');
  rubato::pool pool(rubato::pool_options().workers(2).name(name));
  for (auto const& got : ask_all(pool, name_of_this_thread)) {
    EXPECT_TRUE(got.starts_with("nnnn")) << got;
  }
}

TEST(thread_names, regression_that_are_too_long_keep_the_number) {
  rubato::pool pool(rubato::pool_options().workers(12).name("engine-worker-pool"));
  auto names = ask_all(pool, [] { return std::pair(*rubato::current_worker(), name_of_this_thread()); });
  for (auto const& [number, name] : names)
    EXPECT_EQ(name, (number < 10 ? "engine-worke~/" : "engine-work~/") + std::to_string(number));
  // One that just fits is not shortened.
  rubato::pool fits(rubato::pool_options().workers(1).name("thirteen-char"));
  EXPECT_EQ(ask_all(fits, name_of_this_thread).front(), "thirteen-char/0");
}

TEST(thread_names, of_callers_are_left_alone) {
  std::string const mine = name_of_this_thread();
  rubato::pool pool(rubato::pool_options().workers(2).name("kitchen"));
  EXPECT_EQ(pool.run(name_of_this_thread), mine);
  EXPECT_EQ(name_of_this_thread(), mine);
}

TEST(cpus, restrict_the_workers_to_those_given) {
  auto const usable = cpus_of_this_thread();
  for (int const cpu : {*usable.begin(), *usable.rbegin()}) {
    SCOPED_TRACE(cpu);
    rubato::pool pool(rubato::pool_options().workers(3).cpus({cpu}));
    for (auto const& mask : ask_all(pool, cpus_of_this_thread)) EXPECT_EQ(mask, std::set<int>{cpu});
  }
}

TEST(cpus, give_a_worker_each_unless_a_number_is_asked_for) {
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(rubato::pool_options().cpus(std::vector<int>(usable.begin(), usable.end())));
  EXPECT_EQ(pool.size(), usable.size());
  for (auto const& mask : ask_all(pool, cpus_of_this_thread)) {
    EXPECT_FALSE(mask.empty());
    EXPECT_TRUE(std::ranges::includes(usable, mask));
  }
}

TEST(cpus, hold_for_workers_that_come_later_and_for_spares) {
  int const cpu = *cpus_of_this_thread().begin();
  rubato::pool pool(rubato::pool_options().workers(1).cpus({cpu}));
  pool.resize(3);
  for (auto const& mask : ask_all(pool, cpus_of_this_thread)) EXPECT_EQ(mask, std::set<int>{cpu});
  rendezvous all(8);
  std::atomic<int> astray = 0;
  for (int i = 0; i < 8; ++i) {
    pool.enqueue([&] {
      astray += cpus_of_this_thread() != std::set<int>{cpu};
      rubato::blocking([&] { EXPECT_TRUE(all.meet()); });
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(astray, 0);
}

TEST(place, on_cores_or_nodes_pins_each_worker_to_its_own_cpu) {
  auto const usable = cpus_of_this_thread();
  for (auto const placement : {rubato::placement::cores, rubato::placement::numa}) {
    SCOPED_TRACE(placement == rubato::placement::cores ? "cores" : "numa");
    rubato::pool pool(rubato::pool_options().workers(static_cast<unsigned>(usable.size())).place(placement));
    std::set<int> taken;
    for (auto const& mask : ask_all(pool, cpus_of_this_thread)) {
      ASSERT_EQ(mask.size(), 1u) << "not pinned";
      EXPECT_TRUE(usable.contains(*mask.begin()));
      EXPECT_TRUE(taken.insert(*mask.begin()).second) << "CPU " << *mask.begin() << " was given twice";
    }
  }
}

TEST(place, of_more_workers_than_cpus_gives_each_one_a_usable_cpu) {
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(rubato::pool_options()
                        .workers(static_cast<unsigned>(2 * usable.size() + 1))
                        .place(rubato::placement::cores));
  for (auto const& mask : ask_all(pool, cpus_of_this_thread)) {
    ASSERT_EQ(mask.size(), 1u);
    EXPECT_TRUE(usable.contains(*mask.begin()));
  }
}

TEST(place, free_leaves_the_workers_all_that_the_process_may_use) {
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(rubato::pool_options().workers(3).place(rubato::placement::free));
  for (auto const& mask : ask_all(pool, cpus_of_this_thread)) EXPECT_EQ(mask, usable);
}

TEST(place, does_not_move_callers) {
  auto const usable = cpus_of_this_thread();
  rubato::pool pool(rubato::pool_options().workers(1).place(rubato::placement::cores));
  pool.run([] {});
  {
    [[maybe_unused]] auto const member = pool.join_as_member();
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(cpus_of_this_thread(), usable);
}

} // namespace
