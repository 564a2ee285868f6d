// What a wait for requests yields, and what goes on meanwhile.
#include "own_request.hpp"

#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/mpi.hpp>
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

using rubato::mpi::done;
using rubato::mpi::first_done;

struct mpi_done : on_workers {};

rubato::task<int> tag_of(MPI_Request& r) {
  MPI_Status const s = co_await done(r);
  co_return s.MPI_TAG;
}

TEST_P(mpi_done, yields_status_and_clears_handle) {
  own_request r(17);
  r.end();
  EXPECT_EQ(pool.block_on(tag_of(r.handle)), 17); // ended before
  EXPECT_EQ(r.handle, MPI_REQUEST_NULL);

  own_request late(18);
  std::thread ender([&] {
    std::this_thread::sleep_for(until_others_sleep);
    late.end();
  });
  EXPECT_EQ(pool.block_on(tag_of(late.handle)), 18);
  EXPECT_EQ(late.handle, MPI_REQUEST_NULL);
  ender.join();
}

TEST_P(mpi_done, null_and_inactive_handles_have_ended) {
  MPI_Request null = MPI_REQUEST_NULL;
  EXPECT_EQ(pool.block_on(tag_of(null)), MPI_ANY_TAG);
  int x = 0;
  MPI_Request inactive = MPI_REQUEST_NULL;
  MPI_Recv_init(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &inactive);
  EXPECT_EQ(pool.block_on(tag_of(inactive)), MPI_ANY_TAG);
  EXPECT_NE(inactive, MPI_REQUEST_NULL);
  MPI_Request_free(&inactive);
}

rubato::task<int> receive_three_times(MPI_Request& r, int& into) {
  int sum = 0;
  for (int i = 0; i != 3; ++i) {
    MPI_Start(&r);
    static_cast<void>(co_await done(r));
    sum += into;
  }
  co_return sum;
}

TEST_P(mpi_done, persistent_request_is_started_again) {
  int got = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Recv_init(&got, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &r);
  std::thread sender([] {
    for (int i = 1; i != 4; ++i) {
      std::this_thread::sleep_for(until_others_sleep / 5);
      MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    }
  });
  EXPECT_EQ(pool.block_on(receive_three_times(r, got)), 6);
  sender.join();
  EXPECT_NE(r, MPI_REQUEST_NULL);
  MPI_Request_free(&r);
}

rubato::task<std::vector<MPI_Status>> all_of(std::span<MPI_Request> r) { co_return co_await done(r); }

TEST_P(mpi_done, all_of_several_in_order) {
  EXPECT_TRUE(pool.block_on(all_of({})).empty());
  std::vector<own_request> requests;
  std::vector<MPI_Request> handles;
  for (int i = 0; i != 200; ++i) handles.push_back(requests.emplace_back(i).handle);
  for (int const i : {3, 50, 199}) requests[static_cast<std::size_t>(i)].end(); // ended before
  handles.push_back(MPI_REQUEST_NULL);
  std::thread ender([&] {
    for (int i = 198; i >= 0; --i)
      if (i != 3 && i != 50) requests[static_cast<std::size_t>(i)].end();
  });
  std::vector<MPI_Status> const s = pool.block_on(all_of(handles));
  ender.join();
  ASSERT_EQ(s.size(), 201U);
  for (int i = 0; i != 200; ++i) EXPECT_EQ(s[static_cast<std::size_t>(i)].MPI_TAG, i);
  EXPECT_EQ(s[200].MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(std::ranges::count(handles, MPI_REQUEST_NULL), 201);
}

rubato::task<std::vector<rubato::mpi::ended_request>> first_of(std::span<MPI_Request> r) {
  co_return co_await first_done(r);
}

TEST_P(mpi_done, first_of_several_leaves_the_others) {
  std::vector<own_request> requests;
  std::vector<MPI_Request> handles;
  for (int i = 0; i != 20; ++i) handles.push_back(requests.emplace_back(i).handle);
  std::vector<int> order{7, 0, 19, 3};
  for (int i = 0; i != 20; ++i)
    if (std::ranges::find(order, i) == order.end()) order.push_back(i);
  std::atomic<std::size_t> ended = 0;
  std::thread ender([&] {
    for (std::size_t k = 0; k != order.size(); ++k) {
      ASSERT_TRUE(eventually([&] { return ended == k; }));
      if (k % 2 == 0) std::this_thread::sleep_for(1ms);
      requests[static_cast<std::size_t>(order[k])].end();
    }
  });
  for (int const expected : order) {
    auto const found = pool.block_on(first_of(handles));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].index, static_cast<std::size_t>(expected));
    EXPECT_EQ(found[0].status.MPI_TAG, expected);
    EXPECT_EQ(handles[found[0].index], MPI_REQUEST_NULL);
    ++ended;
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(handles, MPI_REQUEST_NULL)), ended.load());
  }
  ender.join();
  EXPECT_TRUE(pool.block_on(first_of(handles)).empty()); // none is active
}

rubato::task<std::size_t> all_by_the_first(std::span<MPI_Request> r) {
  std::size_t sum = 0;
  for (auto found = co_await first_done(r); !found.empty(); found = co_await first_done(r))
    for (auto const& f : found) sum += 1000 + static_cast<std::size_t>(f.status.MPI_TAG);
  co_return sum;
}

TEST_P(mpi_done, first_of_several_yields_each_once) {
  std::vector<own_request> requests;
  std::vector<MPI_Request> handles;
  for (int i = 0; i != 300; ++i) handles.push_back(requests.emplace_back(i).handle);
  std::thread ender([&] {
    for (own_request& r : requests) r.end();
  });
  EXPECT_EQ(pool.block_on(all_by_the_first(handles)), 300'000U + 299 * 150);
  ender.join();
}

rubato::task<int> code_of(MPI_Request& r) {
  try {
    static_cast<void>(co_await done(r));
  } catch (rubato::mpi::error const& e) {
    co_return e.code();
  }
  co_return MPI_SUCCESS;
}

rubato::task<int> code_of_all(std::span<MPI_Request> r) {
  try {
    static_cast<void>(co_await done(r));
  } catch (rubato::mpi::error const& e) {
    co_return e.code();
  }
  co_return MPI_SUCCESS;
}

TEST_P(mpi_done, failed_request_throws_its_code) {
  for (bool const ends_before : {true, false}) {
    own_request r(1, MPI_ERR_OTHER);
    std::thread ender([&] {
      if (!ends_before) std::this_thread::sleep_for(until_others_sleep);
      r.end();
    });
    if (ends_before) ender.join();
    EXPECT_EQ(pool.block_on(code_of(r.handle)), MPI_ERR_OTHER);
    EXPECT_EQ(r.handle, MPI_REQUEST_NULL);
    if (ender.joinable()) ender.join();
  }
}

TEST_P(mpi_done, failure_is_thrown_when_all_have_ended) {
  own_request good(1), bad(2, MPI_ERR_IO), worse(3, MPI_ERR_OTHER), last(4);
  std::array r{good.handle, bad.handle, worse.handle, last.handle};
  std::atomic<bool> is_last = false;
  std::thread ender([&] {
    worse.end();
    std::this_thread::sleep_for(1ms);
    good.end();
    bad.end();
    std::this_thread::sleep_for(until_others_sleep);
    is_last = true;
    last.end();
  });
  EXPECT_EQ(pool.block_on(code_of_all(r)), MPI_ERR_IO); // of the first in order
  EXPECT_TRUE(is_last);
  EXPECT_EQ(std::ranges::count(r, MPI_REQUEST_NULL), 4);
  ender.join();
}

TEST_P(mpi_done, first_of_several_yields_a_failure) {
  own_request other(1), bad(2, MPI_ERR_OTHER);
  std::array r{other.handle, bad.handle};
  std::thread ender([&] { bad.end(); });
  auto const found = pool.block_on(first_of(r));
  ender.join();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].index, 1U);
  EXPECT_EQ(found[0].status.MPI_ERROR, MPI_ERR_OTHER);
  other.end();
  EXPECT_EQ(pool.block_on(tag_of(r[0])), 1);
}

TEST_P(mpi_done, regression_failure_that_mpi_does_not_report) {
  own_request unreported(1, MPI_ERR_OTHER), bad(2, MPI_ERR_IO);
  std::array r{unreported.handle, bad.handle};
  fails_unreported = &unreported;
  long const before = looks;
  std::thread ender([&] {
    EXPECT_TRUE(eventually([&] { return looks != before; })); // both are pending
    bad.end();
  });
  EXPECT_EQ(pool.block_on(code_of_all(r)), MPI_ERR_UNKNOWN);
  EXPECT_EQ(std::ranges::count(r, MPI_REQUEST_NULL), 2);
  ender.join();
}

rubato::task<void> end_after(own_request& r, int turns) {
  for (int i = 0; i != turns; ++i) co_await rubato::yield();
  r.end();
}

// On one worker, or on none, the wait would last for ever if it kept the thread.
TEST_P(mpi_done, other_tasks_run_meanwhile) {
  own_request first(1), second(2);
  auto const both = [](own_request& a, own_request& b) -> rubato::task<int> {
    auto const [x, y, none] =
        co_await rubato::when_all(tag_of(a.handle), tag_of(b.handle), end_after(a, 1000));
    static_cast<void>(none);
    co_return 10 * x + y;
  };
  pool.enqueue(end_after(second, 500));
  EXPECT_EQ(pool.block_on(both(first, second)), 12);
}

TEST_P(mpi_done, awaitables_are_passed_to_when_all) {
  own_request a(3), b(4);
  std::thread ender([&] {
    b.end();
    a.end();
  });
  auto const both = [](own_request& x, own_request& y) -> rubato::task<int> {
    auto const [s, t] = co_await rubato::when_all(done(x.handle), done(y.handle));
    co_return 10 * s.MPI_TAG + t.MPI_TAG;
  };
  EXPECT_EQ(pool.block_on(both(a, b)), 34);
  ender.join();
}

TEST_P(mpi_done, nothing_polls_without_a_request) {
  own_request r(5);
  long const before = looks;
  std::thread ender([&] {
    EXPECT_TRUE(eventually([&] { return looks > before + 2; }));
    r.end();
  });
  EXPECT_EQ(pool.block_on(tag_of(r.handle)), 5);
  ender.join();
  pool.wait_idle();
  long const at_end = looks;
  EXPECT_GT(at_end, before + 2);
  std::this_thread::sleep_for(until_others_sleep);
  EXPECT_EQ(looks, at_end);
}

TEST_P(mpi_done, regression_poller_sleeps_while_a_message_moves) {
  moving_message m{.request = own_request(8), .looks = 500}; // 5 ms; after one without any it sleeps
  auto const before = pool.stats().timers;
  moves = &m;
  EXPECT_EQ(pool.block_on(tag_of(m.request.handle)), 8);
  moves = nullptr;
  // It would be one for every two looks, without the first millisecond. Some, if its thread is preempted in
  // the first look.
  EXPECT_LT(pool.stats().timers - before, 50);
}

// A turn of the poller is one look then, and one part takes less time than what counts in an idle pool.
TEST_P(mpi_done, regression_sleeps_beside_tasks_as_parts_move) {
  moving_message m{.request = own_request(8), .looks = 2000, .longer = 3us};
  std::atomic<bool> is_over = false;
  auto const turns = [](std::atomic<bool>& over) -> rubato::task<void> {
    while (!over) co_await rubato::yield();
  };
  auto busy = pool.spawn(turns(is_over));
  auto const before = pool.stats().timers;
  moves = &m;
  EXPECT_EQ(pool.block_on(tag_of(m.request.handle)), 8);
  moves = nullptr;
  is_over = true;
  busy.get();
  EXPECT_LT(pool.stats().timers - before, 200); // mostly less than 10; it was one for most looks
}

TEST_P(mpi_done, wait_idle_waits_for_requests) {
  own_request r(6);
  std::atomic<int> tag = 0;
  auto const keep = [](MPI_Request& h, std::atomic<int>& to) -> rubato::task<void> {
    to = co_await tag_of(h);
  };
  pool.enqueue(keep(r.handle, tag));
  std::thread ender([&] {
    std::this_thread::sleep_for(until_others_sleep);
    r.end();
  });
  pool.wait_idle();
  EXPECT_EQ(tag, 6);
  ender.join();
}

TEST_P(mpi_done, resumes_on_its_own_pool) {
  own_request r(7);
  auto const where = [](MPI_Request& h) -> rubato::task<rubato::pool*> {
    static_cast<void>(co_await done(h));
    co_return rubato::current_pool();
  };
  rubato::pool other(1);
  std::thread ender([&] {
    std::this_thread::sleep_for(until_others_sleep / 5);
    r.end();
  });
  EXPECT_EQ(pool.block_on(where(r.handle)), &pool);
  ender.join();
}

RUBATO_TEST_WITH_WORKERS(mpi_done, all_counts);

} // namespace
} // namespace rubato_test
