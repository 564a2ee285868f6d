// What a task costs in allocations: one block from the slabs, which come from the system by the thousand.
// Under AddressSanitizer there are no slabs, and each block is a call of operator new that can be counted.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include "memory/failing.hpp"
#include "memory/peak.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <utility>

namespace {

auto& calls = rubato_test::allocations_made;

void* counted(std::size_t bytes, std::size_t alignment) {
  if (rubato_test::fails_now()) throw std::bad_alloc();
  std::size_t const whole = (bytes + alignment - 1) / alignment * alignment;
  if (void* const p = std::aligned_alloc(alignment, whole != 0 ? whole : alignment)) {
    rubato_test::note_allocated(p);
    return p;
  }
  throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void* operator new(std::size_t bytes, std::nothrow_t const& /*tag*/) noexcept {
  try {
    return counted(bytes, alignof(std::max_align_t));
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept {
  rubato_test::note_freed(p);
  std::free(p);
}
void operator delete(void* p, std::size_t /*bytes*/) noexcept { operator delete(p); }
void operator delete(void* p, std::align_val_t /*a*/) noexcept { operator delete(p); }
void operator delete(void* p, std::size_t /*bytes*/, std::align_val_t /*a*/) noexcept { operator delete(p); }

namespace {

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool slabs = false;
#else
constexpr bool slabs = true;
#endif

constexpr std::size_t rounds = 10'000;

/// As large as a callable or result may be without costing an allocation of its own.
struct large {
  std::array<std::uint64_t, 8> words{};
};
static_assert(sizeof(large) == 64);

/// How many blocks a round takes, if they can be counted; and that no round asks the system for memory when
/// those before it have given theirs back.
void expect_blocks(std::size_t per_round, std::function<void()> const& round) {
  for (std::size_t i = 0; i != rounds; ++i) round();
  std::size_t const before = calls;
  for (std::size_t i = 0; i != rounds; ++i) round();
  EXPECT_EQ(calls - before, slabs ? 0 : rounds * per_round);
}

class allocations : public testing::Test {
protected:
  rubato::pool pool{rubato::no_workers}; // the waiter runs the work: all on one thread
};

TEST_F(allocations, of_an_enqueued_task_are_one) {
  expect_blocks(1, [&] {
    pool.enqueue([] {});
    pool.wait_idle();
  });
}

// Each chunk of a larger one that leaves indices to other workers queues a task of its own.
TEST_F(allocations, regression_of_a_bulk_are_one) {
  expect_blocks(1, [&] {
    pool.enqueue_bulk(1, [](std::size_t) {});
    pool.wait_idle();
  });
}

TEST_F(allocations, of_a_spawned_task_are_one) {
  expect_blocks(1, [&] { EXPECT_EQ(pool.spawn([] { return 1; }).get(), 1); });
}

TEST_F(allocations, of_a_spawned_task_are_one_up_to_64_bytes) {
  expect_blocks(1, [&] { EXPECT_EQ(pool.spawn([l = large{{7}}] { return l; }).get().words[0], 7u); });
}

TEST_F(allocations, of_a_continuation_are_one) {
  expect_blocks(2,
                [&] { EXPECT_EQ(pool.spawn([] { return 1; }).then([](int i) { return i + 1; }).get(), 2); });
}

TEST_F(allocations, of_a_promise_are_one) {
  expect_blocks(1, [&] {
    rubato::promise<int> p;
    auto f = p.get_future();
    p.set_value(1);
    EXPECT_EQ(f.get(), 1);
  });
}

TEST_F(allocations, of_a_coroutine_are_its_frame_and_its_state) {
  expect_blocks(2, [&] {
    auto const body = []() -> rubato::task<int> {
      co_await rubato::yield();
      co_return 1;
    };
    EXPECT_EQ(pool.spawn(body()).get(), 1);
  });
}

TEST_F(allocations, of_a_run_of_a_graph_are_none) {
  rubato::task_graph inner, graph;
  int runs = 0;
  auto a = inner.add([&] { ++runs; });
  inner.add([&] { ++runs; }).after(a);
  auto choice = graph.add([&] { return runs % 2; });
  auto nested = graph.add("inner", inner);
  choice.on(0, nested);
  graph.add([&] { ++runs; }).after(choice);
  graph.run(pool); // looks for cycles
  expect_blocks(0, [&] { graph.run(pool); });
}

TEST_F(allocations, of_a_node_that_is_a_coroutine_are_two) {
  rubato::task_graph graph;
  graph.add([]() -> rubato::task<> { co_await rubato::yield(); });
  graph.run(pool);
  expect_blocks(2, [&] { graph.run(pool); });
}

/// However many items there are: one thread needs one place.
TEST_F(allocations, of_a_pipeline_are_the_places_of_its_items) {
  expect_blocks(1, [&] {
    int next = 0, sum = 0;
    rubato::pipeline(
        pool, 8,
        rubato::stage(rubato::serial, [&] { return next != 10 ? std::optional(next++) : std::nullopt; }),
        rubato::stage(rubato::parallel, [](int n) { return n + 1; }),
        rubato::stage(rubato::serial_in_order, [&](int n) { sum += n; }));
    EXPECT_EQ(sum, 55);
  });
}

TEST_F(allocations, of_forks_are_none) {
  pool.run([&] {
    expect_blocks(0, [&] {
      int a = 0, b = 0;
      rubato::join([&] { a = 1; }, [&] { b = 1; });
      EXPECT_EQ(a + b, 2);
    });
  });
}

TEST_F(allocations, of_a_routine_are_none) {
  rubato::routine r([](rubato::routine&) {});
  expect_blocks(0, [&] {
    r.post(pool);
    pool.wait_idle();
    r.post_wait(pool);
    r.wake();
    pool.wait_idle();
    r.post_after(pool, std::chrono::hours(1));
    r.signal();
    pool.wait_idle();
    EXPECT_TRUE(r.receive_signal());
  });
}

TEST_F(allocations, regression_of_a_cancelled_timed_task_are_one) {
  expect_blocks(1, [&] { EXPECT_TRUE(pool.enqueue_after(std::chrono::hours(1), [] {}).cancel()); });
}

/// Memory that another thread gives back is used again, too.
TEST(allocations_of_workers, are_given_back) {
  rubato::pool pool(2);
  auto const some = [&] {
    for (std::size_t i = 0; i != rounds; ++i) EXPECT_EQ(pool.spawn([] { return 1; }).get(), 1);
  };
  some();
  std::size_t const before = calls;
  some();
  std::size_t const now = calls - before;
  if (slabs)
    EXPECT_LE(now, rounds / 100);
  else
    EXPECT_EQ(now, rounds);
}

} // namespace
