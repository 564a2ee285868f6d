// Many requests that begin and end at the same time on many threads.
#include "own_request.hpp"

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/mpi.hpp>
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

using rubato::mpi::done;

/// Ends requests on threads of its own, as soon as they come, in any order.
class enders {
  std::mutex mutex_;
  std::vector<own_request*> to_end_;
  std::atomic<bool> over_{false};
  std::vector<std::jthread> threads_;

  void run(bool naps) {
    for (unsigned turn = 0; !over_; ++turn) {
      std::vector<own_request*> now;
      {
        std::lock_guard const lock(mutex_);
        now.swap(to_end_);
      }
      for (std::size_t i = now.size(); i != 0; --i) now[i - 1]->end();
      if (now.empty() || (naps && turn % 64 == 0)) std::this_thread::yield();
    }
  }

public:
  enders() {
    for (bool const naps : {false, true}) threads_.emplace_back([this, naps] { run(naps); });
  }
  ~enders() { over_ = true; }
  void add(own_request& r) {
    std::lock_guard const lock(mutex_);
    to_end_.push_back(&r);
  }
};

struct mpi_races : on_workers {};

rubato::task<int> one_after_another(enders& by, int n, int first) {
  int wrong = 0;
  for (int i = 0; i != n; ++i) {
    own_request r(first + i);
    by.add(r);
    MPI_Status const s = co_await done(r.handle);
    wrong += s.MPI_TAG != first + i;
  }
  co_return wrong;
}

rubato::task<int> several_at_once(enders& by, int n, int number, bool first) {
  int wrong = 0;
  for (int i = 0; i != n; ++i) {
    std::vector<own_request> r;
    std::vector<MPI_Request> handles;
    for (int k = 0; k != number; ++k) handles.push_back(r.emplace_back(k).handle);
    for (own_request& each : r) by.add(each);
    if (first) {
      int found = 0;
      for (auto some = co_await rubato::mpi::first_done(handles); !some.empty();
           some = co_await rubato::mpi::first_done(handles))
        for (auto const& e : some) {
          wrong += e.status.MPI_TAG != static_cast<int>(e.index);
          ++found;
        }
      wrong += found != number;
    } else {
      std::vector<MPI_Status> const s = co_await done(handles);
      for (int k = 0; k != number; ++k) wrong += s[static_cast<std::size_t>(k)].MPI_TAG != k;
    }
  }
  co_return wrong;
}

TEST_P(mpi_races, requests_begin_as_others_end) {
  enders by;
  std::vector<rubato::future<int>> all;
  auto const n = static_cast<int>(scaled(200));
  for (int i = 0; i != 8; ++i) all.push_back(pool.spawn(one_after_another(by, n, 1000 * i)));
  all.push_back(pool.spawn(several_at_once(by, n / 10 + 1, 20, false)));
  all.push_back(pool.spawn(several_at_once(by, n / 10 + 1, 20, true)));
  for (auto& f : all) EXPECT_EQ(f.get(), 0);
}

// Each wait is the only one: its request is the last one that ends, and the next wait finds no poller, or one
// that is about to go.
TEST_P(mpi_races, last_request_ends_as_the_next_begins) {
  enders by;
  std::vector<rubato::future<int>> all;
  auto const n = static_cast<int>(scaled(800));
  for (int i = 0; i != 2; ++i) all.push_back(pool.spawn(one_after_another(by, n, 10'000 * i)));
  for (auto& f : all) EXPECT_EQ(f.get(), 0);
}

RUBATO_TEST_WITH_WORKERS(mpi_races, all_counts);

} // namespace
} // namespace rubato_test
