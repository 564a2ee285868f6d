// The storage of a result: a second co_return, and states that a pool's end meets while they change.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/rendezvous.hpp"
#include "support/scale.hpp"

namespace {

using rubato_test::scaled;

struct throws_at_its_end {
  throws_at_its_end() = default;
  throws_at_its_end(throws_at_its_end const&) = delete;
  throws_at_its_end& operator=(throws_at_its_end const&) = delete;
  ~throws_at_its_end() noexcept(false) { throw std::runtime_error("end"); }
};

TEST(results, regression_a_second_co_return_destroys_the_first) {
  rubato::pool pool(1);
  auto const first = std::make_shared<int>(1);
  auto twice = [&]() -> rubato::task<std::shared_ptr<int>> {
    try {
      throws_at_its_end const here;
      co_return first;
    } catch (std::runtime_error const&) { // and it returns again
    }
    co_return std::make_shared<int>(2);
  };
  EXPECT_EQ(*pool.spawn(twice).get(), 2);
  EXPECT_EQ(first.use_count(), 1);
}

class made_of_int {
  std::shared_ptr<int> value_;

public:
  explicit made_of_int(int v)
      : value_(std::make_shared<int>(v)) {
    if (v < 0) throw std::invalid_argument("negative");
  }
};
struct becomes_one {
  int v;
  operator made_of_int() const { return made_of_int(v); }
};

TEST(results, regression_a_second_co_return_that_throws_counts) {
  rubato::pool pool(1);
  auto twice = [&]() -> rubato::task<made_of_int> {
    try {
      throws_at_its_end const here;
      co_return becomes_one{1};
    } catch (std::runtime_error const&) { // and it returns again
    }
    co_return becomes_one{-1};
  };
  EXPECT_THROW(static_cast<void>(pool.spawn(twice).get()), std::invalid_argument);
}

// Between being queued and leaving the pool where it was to run a continuation may have moved and wait
// elsewhere.
TEST(results, regression_a_pool_that_ends_leaves_what_has_moved) {
  rubato::pool other(1);
  for (std::size_t i = 0; i != scaled(1000); ++i) {
    std::optional<rubato::pool> ends(std::in_place, 1);
    rubato::promise<int> source, later;
    rubato_test::milestone has_moved;
    rubato::future<int> inner = later.get_future();
    auto moves = [&](int x) -> rubato::task<int> {
      co_await rubato::resume_on(other);
      rubato::future<int> awaited = std::move(inner);
      has_moved.reach();
      int const y = co_await std::move(awaited);
      co_return x + y;
    };
    rubato::future<int> moved = source.get_future().then(*ends, moves);
    std::thread setter([&] { source.set_value(1); });
    EXPECT_TRUE(has_moved.wait());
    other.wait_idle();
    ends.reset();
    setter.join();
    later.set_value(41);
    ASSERT_EQ(moved.get(), 42);
  }
}

// A data race: the state that is asked to end is looked at without the lock under which it leaves.
TEST(results, regression_a_pool_asks_those_to_end_that_are_ending) {
  for (std::size_t i = 0; i != scaled(50); ++i) {
    rubato::pool pool(2);
    rubato::async_semaphore turns(0);
    std::vector<rubato::future<void>> all;
    auto waits = [&]() -> rubato::task<> { co_await turns.acquire(); };
    for (int n = 0; n != 100; ++n) all.push_back(pool.spawn(waits()));
    std::thread releases([&] {
      for (int n = 0; n != 100; ++n) turns.release();
    });
    pool.request_shutdown(rubato::drain);
    releases.join();
    for (rubato::future<void>& f : all)
      f.wait(); // some are broken off: no thread of the pool could have released them
  }
}

TEST(results, regression_may_be_rvalue_references) {
  rubato::pool pool(1);
  std::string text = "text";
  rubato::future<std::string&&> f = pool.spawn([&]() -> std::string&& { return std::move(text); });
  std::string const moved = f.get();
  EXPECT_EQ(moved, "text");
  EXPECT_EQ(text, "");
}

} // namespace
