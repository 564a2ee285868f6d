// What asio_executor promises to Asio: properties, equality, where and when a function runs.
#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/asio.hpp>
#include <rubato/rubato.hpp>

#include <asio.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

namespace execution = asio::execution;

static_assert(execution::is_executor<rubato::asio_executor>::value);
static_assert(std::is_convertible_v<rubato::asio_executor, asio::any_io_executor>);
static_assert(asio::can_require<rubato::asio_executor, execution::blocking_t::never_t>::value);
static_assert(!asio::can_require<rubato::asio_executor, execution::blocking_t::always_t>::value);
static_assert(asio::can_require<rubato::asio_executor, execution::allocator_t<std::allocator<int>>>::value);
static_assert(std::is_nothrow_copy_constructible_v<rubato::asio_executor>);
static_assert(sizeof(rubato::asio_executor) <= 2 * sizeof(void*), "any_io_executor keeps it without memory");

struct asio_executor : on_workers {
  rubato::asio_context context{pool};
  rubato::asio_executor const executor = context.get_executor();
};

TEST_P(asio_executor, says_its_properties) {
  EXPECT_EQ(&asio::query(executor, execution::context), &static_cast<asio::execution_context&>(context));
  EXPECT_EQ(asio::query(executor, execution::mapping), execution::mapping.thread);
  EXPECT_EQ(asio::query(executor, execution::blocking), execution::blocking.possibly);
  EXPECT_EQ(asio::query(executor, execution::relationship), execution::relationship.fork);
  EXPECT_EQ(asio::query(executor, execution::outstanding_work), execution::outstanding_work.untracked);

  auto const never = asio::require(executor, execution::blocking.never);
  EXPECT_EQ(asio::query(never, execution::blocking), execution::blocking.never);
  EXPECT_NE(never, executor);
  EXPECT_EQ(asio::require(never, execution::blocking.possibly), executor);
  auto const next = asio::require(executor, execution::relationship.continuation);
  EXPECT_EQ(asio::query(next, execution::relationship), execution::relationship.continuation);
  EXPECT_EQ(asio::require(next, execution::relationship.fork), executor);
  auto const tracked = asio::prefer(executor, execution::outstanding_work.tracked);
  EXPECT_EQ(asio::query(tracked, execution::outstanding_work), execution::outstanding_work.tracked);
  EXPECT_EQ(asio::require(tracked, execution::outstanding_work.untracked), executor);
}

TEST_P(asio_executor, is_equal_to_those_of_its_context) {
  rubato::asio_context other(pool);
  EXPECT_EQ(executor, context.get_executor());
  EXPECT_NE(executor, other.get_executor());
  EXPECT_EQ(asio::any_io_executor(executor), asio::any_io_executor(context.get_executor()));
}

TEST_P(asio_executor, runs_each_function_once_on_the_pool) {
  std::atomic<int> ran{0};
  auto const body = [&] {
    EXPECT_EQ(rubato::current_pool(), &pool);
    ++ran;
  };
  std::size_t const n = scaled(2'000);
  for (std::size_t i = 0; i != n; ++i) {
    asio::post(executor, body);
    asio::defer(executor, body);
    asio::dispatch(executor, body);
    executor.execute(body);
  }
  context.join();
  EXPECT_EQ(ran, 4 * int(n));
}

TEST_P(asio_executor, dispatches_in_the_caller_inside_the_pool) {
  bool ran = false, posted = false;
  asio::post(executor, [&] {
    asio::dispatch(executor, [&] { ran = true; });
    EXPECT_TRUE(ran);
    asio::post(executor, [&] { posted = true; });
  });
  pool.enqueue([&] { // a task of the pool is inside too
    bool here = false;
    asio::dispatch(executor, [&] { here = true; });
    EXPECT_TRUE(here);
  });
  pool.wait_idle();
  context.join();
  EXPECT_TRUE(posted);
  bool outside = false;
  std::thread::id const caller = std::this_thread::get_id();
  asio::dispatch(executor, [&] {
    outside = true;
    EXPECT_TRUE(pool.size() == 0 || std::this_thread::get_id() != caller);
  });
  context.join();
  EXPECT_TRUE(outside);
}

TEST_P(asio_executor, posts_never_run_in_the_caller) {
  static thread_local int depth;
  depth = 0;
  std::atomic<int> ran{0};
  auto const leaf = [&] {
    EXPECT_EQ(depth, 0);
    ++ran;
  };
  asio::post(executor, [&] {
    depth = 1;
    asio::post(executor, leaf);
    asio::defer(executor, leaf);
    asio::require(executor, execution::blocking.never).execute(leaf);
    depth = 0;
  });
  context.join();
  EXPECT_EQ(ran, 3);
}

TEST_P(asio_executor, works_in_any_io_executor_and_bind_executor) {
  asio::any_io_executor const any = executor;
  std::atomic<int> ran{0};
  auto const body = [&] {
    EXPECT_EQ(rubato::current_pool(), &pool);
    ++ran;
  };
  asio::post(any, body);
  asio::post(asio::bind_executor(any, body));
  asio::dispatch(asio::bind_executor(executor, body));
  context.join();
  EXPECT_EQ(ran, 3);
}

TEST_P(asio_executor, strand_runs_one_at_a_time_and_in_order) {
  auto const strand = asio::make_strand(context);
  std::vector<std::size_t> order; // no lock: the strand is one
  std::size_t const n = scaled(3'000);
  for (std::size_t i = 0; i != n; ++i) asio::post(strand, [&, i] { order.push_back(i); });
  context.join();
  ASSERT_EQ(order.size(), n);
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(order[i], i);
}

TEST_P(asio_executor, strands_of_several_producers_do_not_overlap) {
  auto const strand = asio::make_strand(executor);
  std::size_t sum = 0;
  std::size_t const n = scaled(1'000);
  {
    std::vector<std::jthread> producers;
    for (int p = 0; p != 3; ++p)
      producers.emplace_back([&] {
        for (std::size_t i = 0; i != n; ++i)
          asio::post(executor, asio::bind_executor(strand, [&] { asio::dispatch(strand, [&] { ++sum; }); }));
      });
  }
  context.join();
  EXPECT_EQ(sum, 3 * n);
}

/// Counts its blocks, as a handler's own allocator.
template<class T>
struct counted_memory {
  using value_type = T;
  std::atomic<int>* blocks;
  std::atomic<int>* made;
  counted_memory(std::atomic<int>& b, std::atomic<int>& m)
      : blocks(&b)
      , made(&m) {}
  template<class U>
  counted_memory(counted_memory<U> const& other)
      : blocks(other.blocks)
      , made(other.made) {}
  T* allocate(std::size_t n) {
    ++*blocks, ++*made;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) {
    --*blocks;
    std::allocator<T>().deallocate(memory, n);
  }
  friend bool operator==(counted_memory const& a, counted_memory const& b) { return a.blocks == b.blocks; }
};

TEST_P(asio_executor, memory_of_an_allocator_is_free_at_the_call) {
  std::atomic<int> blocks{0}, made{0};
  counted_memory<void> const memory(blocks, made);
  auto const with_memory = asio::require(executor, execution::allocator(memory));
  with_memory.execute([&] { EXPECT_EQ(blocks, 0); });
  context.join();
  asio::require(with_memory, execution::outstanding_work.tracked, execution::blocking.never).execute([&] {
    EXPECT_EQ(blocks, 0);
  });
  context.join();
  EXPECT_EQ(made, 2);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(asio::query(with_memory, execution::allocator), counted_memory<void>(blocks, made));
}

RUBATO_TEST_WITH_WORKERS(asio_executor, all_counts);

TEST(asio_exceptions, go_to_on_unhandled) {
  std::atomic<int> reported{0};
  rubato::pool pool(rubato::pool_options().workers(2).on_unhandled([&](std::exception_ptr) { ++reported; }));
  rubato::asio_context context(pool);
  asio::post(context, [] { throw std::runtime_error("posted"); });
  asio::post(context, [&] {
    asio::dispatch(context, [] { throw std::runtime_error("dispatched"); });
    ++reported; // goes on
  });
  context.join();
  EXPECT_EQ(reported, 3);
}

} // namespace
} // namespace rubato_test
