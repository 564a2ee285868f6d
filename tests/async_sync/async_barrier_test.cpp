// async_barrier: no participant is in a phase that another has not begun.
#include "support/async_sync.hpp"

#include <stdexcept>
#include <thread>

namespace {

using namespace rubato_test;

class async_barrier : public on_workers {};
RUBATO_TEST_WITH_WORKERS(async_barrier, all_counts);

struct phases {
  rubato::async_barrier barrier;
  std::vector<std::size_t> reached; // one per participant, read by all of them between two phases
  std::atomic<int> wrong{0};
  explicit phases(std::size_t n)
      : barrier(n)
      , reached(n, 0) {}
};

rubato::task<> take_part(phases& p, std::size_t participant, std::size_t rounds) {
  for (std::size_t round = 1; round <= rounds; ++round) {
    p.reached[participant] = round;
    co_await p.barrier.arrive_and_wait();
    for (std::size_t const r : p.reached)
      if (r != round) ++p.wrong;
    co_await p.barrier.arrive_and_wait();
  }
}

TEST_P(async_barrier, keeps_its_participants_together) {
  for (std::size_t const n : {1U, 2U, 7U}) {
    phases p(n);
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn(take_part(p, i, scaled(500))));
    get_all(all);
    EXPECT_EQ(p.wrong, 0) << n;
  }
}

TEST_P(async_barrier, goes_on_without_participants_that_drop_out) {
  constexpr std::size_t participants = 6;
  rubato::async_barrier barrier(participants);
  std::vector<std::size_t> passed(participants, 0);
  auto leaves_after = [&](std::size_t participant) -> rubato::task<> {
    for (std::size_t round = 0; round != participant * 10; ++round) {
      co_await barrier.arrive_and_wait();
      ++passed[participant];
    }
    barrier.arrive_and_drop();
  };
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != participants; ++i) all.push_back(pool.spawn(leaves_after(i)));
  get_all(all);
  for (std::size_t i = 0; i != participants; ++i) EXPECT_EQ(passed[i], i * 10);
  EXPECT_THROW(barrier.arrive_and_drop(), std::logic_error);
  EXPECT_THROW(pool.block_on(barrier.arrive_and_wait()), std::logic_error);
}

TEST_P(async_barrier, is_opened_by_a_thread_that_drops_out) {
  rubato::async_barrier barrier(2);
  auto waits = [&]() -> rubato::task<> { co_await barrier.arrive_and_wait(); };
  auto f = pool.spawn(waits());
  let_all_wait(pool);
  EXPECT_FALSE(f.ready());
  barrier.arrive_and_drop();
  f.get();
  pool.block_on(waits()); // alone now
}

TEST(async_barrier_misuse, needs_participants) {
  EXPECT_THROW(rubato::async_barrier(0), std::invalid_argument);
}

} // namespace
