// What can be enqueued, and what becomes of it: moved in, called once, destroyed.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include "support/counting.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

class callables : public testing::TestWithParam<unsigned> {
protected:
  rubato::pool pool_{rubato_test::with_workers(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(workers, callables, testing::Values(0u, 1u, 3u), testing::PrintToStringParamName());

std::atomic<int> function_calls = 0;
void free_function() { ++function_calls; }
int function_with_a_result() { return ++function_calls; }

TEST_P(callables, may_be_functions_and_results_are_dropped) {
  function_calls = 0;
  pool_.enqueue(free_function);
  pool_.enqueue(&function_with_a_result);
  std::function<void()> const wrapped = free_function;
  pool_.enqueue(wrapped);
  pool_.enqueue([] { return std::make_unique<int>(++function_calls); });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(function_calls, 4);
}

TEST_P(callables, may_be_move_only) {
  std::atomic<int> sum = 0;
  pool_.enqueue([&sum, p = std::make_unique<int>(1)] { sum += *p; });
  auto named = [&sum, p = std::make_unique<int>(10)] { sum += *p; };
  pool_.enqueue(std::move(named));
  EXPECT_TRUE(pool_.try_enqueue([&sum, p = std::make_unique<int>(100)] { sum += *p; }));
  pool_.enqueue_bulk(3, [&sum, p = std::make_unique<int>(1'000)](std::size_t) { sum += *p; });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(sum, 3'111);
}

TEST_P(callables, are_copied_from_lvalues) {
  std::atomic<int> sum = 0;
  std::string text(100, 'x');
  auto const task = [&sum, text] { sum += static_cast<int>(text.size()); };
  pool_.enqueue(task);
  pool_.enqueue(task);
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(sum, 200);
}

TEST_P(callables, may_be_mutable) {
  std::atomic<int> seen = 0;
  pool_.enqueue([&seen, count = 0]() mutable { seen = ++count; });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(seen, 1);
}

template<std::size_t Bytes>
struct large_task {
  std::array<unsigned char, Bytes> bytes;
  std::atomic<int>* right;

  explicit large_task(std::atomic<int>& r)
      : bytes()
      , right(&r) {
    for (std::size_t i = 0; i < Bytes; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + Bytes);
  }
  void operator()() const {
    for (std::size_t i = 0; i < Bytes; ++i) {
      if (bytes[i] != static_cast<unsigned char>(i * 7 + Bytes)) return;
    }
    ++*right;
  }
};

TEST_P(callables, arrive_intact_whatever_their_size) {
  std::atomic<int> right = 0;
  for (int i = 0; i < 100; ++i) {
    pool_.enqueue(large_task<1>(right));
    pool_.enqueue(large_task<17>(right));
    pool_.enqueue(large_task<40>(right));
    pool_.enqueue(large_task<56>(right));
    pool_.enqueue(large_task<64>(right));
    pool_.enqueue(large_task<65>(right));
    pool_.enqueue(large_task<200>(right));
    pool_.enqueue(large_task<4'096>(right));
    pool_.enqueue(large_task<100'000>(right));
  }
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(right, 900);
}

template<std::size_t Alignment>
struct alignas(Alignment) aligned_task {
  std::atomic<int>* right;
  void operator()() const { *right += reinterpret_cast<std::uintptr_t>(this) % Alignment == 0; }
};

TEST_P(callables, are_aligned_as_their_type_wants) {
  std::atomic<int> right = 0;
  for (int i = 0; i < 20; ++i) {
    pool_.enqueue(aligned_task<16>{&right});
    pool_.enqueue(aligned_task<32>{&right});
    pool_.enqueue(aligned_task<64>{&right});
  }
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(right, 60);
}

TEST_P(callables, get_a_stop_token_if_they_can_take_one) {
  std::atomic<int> right = 0;
  pool_.enqueue([&](std::stop_token token) { right += !token.stop_requested(); });
  pool_.enqueue([&](std::stop_token const& token) { right += token.stop_possible(); });
  pool_.enqueue([&](auto... got) { right += sizeof...(got) == 1; });
  EXPECT_TRUE(pool_.try_enqueue([&](std::stop_token) { ++right; }));
  pool_.enqueue_bulk(
      2, [&](std::stop_token token, std::size_t i) { right += !token.stop_requested() && i < 2; });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(right, 6);
}

TEST_P(callables, are_destroyed_when_they_have_run) {
  census members;
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) pool_.enqueue([&ran, m = members.enrol()] { ++ran; });
  pool_.enqueue_bulk(100, [&ran, m = members.enrol()](std::size_t) { ++ran; });
  pool_.enqueue_bulk(0, [&ran, m = members.enrol()](std::size_t) { ++ran; });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(members.alive(), 0) << "idle, and yet something holds a callable";
}

TEST_P(callables, called_in_the_pool_are_destroyed_on_that_thread) {
  struct witness {
    std::atomic<int>* outside;
    rubato::pool* home;
    bool active = true;
    witness(std::atomic<int>& o, rubato::pool& h)
        : outside(&o)
        , home(&h) {}
    witness(witness&& w) noexcept
        : outside(w.outside)
        , home(w.home)
        , active(std::exchange(w.active, false)) {}
    ~witness() {
      if (active) *outside += rubato::current_pool() != home;
    }
  };
  std::atomic<int> outside = 0;
  for (int i = 0; i < 100; ++i) pool_.enqueue([w = witness(outside, pool_)] {});
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(outside, 0);
}

struct throws_when_copied {
  std::atomic<int>* ran;
  explicit throws_when_copied(std::atomic<int>& r)
      : ran(&r) {}
  throws_when_copied(throws_when_copied const&)
      : ran(nullptr) {
    throw std::length_error("no copy");
  }
  void operator()() const { ++*ran; }
};

TEST_P(callables, whose_copy_throws_are_not_enqueued_and_spoil_none) {
  std::atomic<int> ran = 0;
  throws_when_copied const task(ran);
  for (int i = 0; i < 10; ++i) {
    EXPECT_THROW(pool_.enqueue(task), std::length_error);
    EXPECT_THROW(static_cast<void>(pool_.try_enqueue(task)), std::length_error);
  }
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(ran, 0);
  std::atomic<bool> after = false;
  pool_.enqueue([&] { after = true; });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_TRUE(after);
}

TEST_P(callables, that_are_shared_by_a_bulk_live_until_its_last_call) {
  census members;
  std::atomic<int> dead = 0;
  pool_.enqueue_bulk(1'000,
                     [&members, &dead, m = members.enrol()](std::size_t) { dead += members.alive() < 1; });
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(dead, 0);
  EXPECT_EQ(members.alive(), 0);
}

TEST_P(callables, may_enqueue_from_their_destructor) {
  struct parting {
    rubato::pool* pool;
    std::atomic<int>* ran;
    parting(rubato::pool& p, std::atomic<int>& r)
        : pool(&p)
        , ran(&r) {}
    parting(parting&& other) noexcept
        : pool(std::exchange(other.pool, nullptr))
        , ran(other.ran) {}
    ~parting() {
      if (pool != nullptr) pool->enqueue([counter = ran] { ++*counter; });
    }
  };
  std::atomic<int> ran = 0;
  for (int i = 0; i < 50; ++i) pool_.enqueue([p = parting(pool_, ran)] {});
  EXPECT_TRUE(pool_.wait_idle());
  EXPECT_EQ(ran, 50);
}

} // namespace
