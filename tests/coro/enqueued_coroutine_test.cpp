// Coroutines without a future: an enqueued one is a small entry until it begins, and the state of one that
// has ended serves the next.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "support/counting.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;
using rubato::priority;
using task = rubato::task<>;

class enqueued_coroutine : public testing::TestWithParam<unsigned> {
protected:
  std::atomic<unsigned> failures = 0;
  [[nodiscard]] rubato::pool_options options() {
    return with_workers(GetParam()).on_unhandled([this](std::exception_ptr const&) { ++failures; });
  }
};
INSTANTIATE_TEST_SUITE_P(workers, enqueued_coroutine, testing::Values(0U, 1U, 2U, 7U),
                         testing::PrintToStringParamName());

task hits(tally& t, std::size_t i, census::member /*alive*/) {
  t.hit(i);
  co_return;
}
rubato::task<std::string> gives_text(tally& t, std::size_t i, census::member /*alive*/) {
  t.hit(i);
  co_return std::string(100, 'x');
}
task hits_later(tally& t, std::size_t i, census::member /*alive*/) {
  for (std::size_t k = 0; k != i % 3; ++k) co_await rubato::yield();
  t.hit(i);
}

TEST_P(enqueued_coroutine, runs_once_and_is_destroyed_once) {
  std::size_t const n = scaled(3'000);
  tally each(5 * n);
  census all;
  {
    rubato::pool pool(options());
    for (std::size_t i = 0; i != 5 * n; i += 5) {
      pool.enqueue(hits(each, i, all.enrol()));
      pool.enqueue(gives_text(each, i + 1, all.enrol()));
      pool.enqueue(hits_later(each, i + 2, all.enrol()));
      pool.enqueue([&each, i, m = all.enrol()] { return hits(each, i + 3, m); });
      EXPECT_TRUE(pool.try_enqueue([&each, i, m = all.enrol()]() -> task {
        co_await rubato::yield();
        each.hit(i + 4); // the callable lives until the coroutine ends
      }));
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(all.alive(), 0);
  }
  each.expect_each_once();
  EXPECT_EQ(failures, 0U);
}

TEST(enqueued_coroutines, end_with_the_pool_if_unbegun) {
  for (bool const discards : {false, true}) {
    tally none(1);
    census all;
    {
      rubato::pool pool(rubato::no_workers);
      for (int i = 0; i != 100; ++i) {
        pool.enqueue(hits(none, 0, all.enrol()));
        pool.enqueue(priority::low, gives_text(none, 0, all.enrol()));
        pool.enqueue([&none, m = all.enrol()] { return hits(none, 0, m); });
      }
      EXPECT_EQ(all.alive(), 300);
      if (discards) {
        pool.shutdown(rubato::discard);
        EXPECT_EQ(all.alive(), 0);
      }
    }
    EXPECT_EQ(all.alive(), 0);
    EXPECT_EQ(none.total(), 0U);
  }
}

TEST_P(enqueued_coroutine, that_is_suspended_at_the_end_is_destroyed) {
  census all;
  std::atomic<int> waiting = 0;
  {
    rubato::channel<int> empty(1);
    rubato::pool pool(options());
    auto const waits = [&](census::member /*alive*/) -> task {
      ++waiting;
      static_cast<void>(co_await empty.receive());
    };
    for (int i = 0; i != 50; ++i) {
      pool.enqueue(waits(all.enrol()));
      pool.enqueue([&waits, m = all.enrol()] { return waits(m); });
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(waiting, 100);
  }
  EXPECT_EQ(all.alive(), 0);
  EXPECT_EQ(failures, 0U);
}

TEST_P(enqueued_coroutine, is_reported_alone_if_it_fails) {
  std::size_t const n = scaled(300);
  tally each(n);
  census all;
  {
    rubato::pool pool(options());
    auto const fails = [](census::member /*alive*/, bool later) -> task {
      if (later) co_await rubato::yield();
      throw std::runtime_error("as it should");
    };
    for (std::size_t i = 0; i != n; ++i) {
      pool.enqueue(fails(all.enrol(), false));
      pool.enqueue(fails(all.enrol(), true));
      pool.enqueue([&fails, m = all.enrol()] { return fails(m, false); });
      pool.enqueue([m = all.enrol()]() -> task { throw std::runtime_error("no coroutine"); });
      pool.enqueue(task()); // there is no coroutine in it
      pool.enqueue(hits(each, i, all.enrol()));
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(all.alive(), 0);
  }
  EXPECT_EQ(failures, 5 * n);
  each.expect_each_once();
}

TEST_P(enqueued_coroutine, may_wait_in_body_and_destructor) {
  std::size_t const n = scaled(300);
  std::atomic<std::size_t> waited = 0;
  rubato::pool pool(options());
  struct waits_when_it_goes {
    rubato::pool* where = nullptr;
    std::atomic<std::size_t>* waited = nullptr;
    waits_when_it_goes(rubato::pool& p, std::atomic<std::size_t>& w)
        : where(&p)
        , waited(&w) {}
    waits_when_it_goes(waits_when_it_goes&& other) noexcept
        : where(std::exchange(other.where, nullptr))
        , waited(other.waited) {}
    waits_when_it_goes& operator=(waits_when_it_goes&&) = delete;
    ~waits_when_it_goes() {
      if (where == nullptr) return;
      where->enqueue([w = waited]() -> task {
        ++*w;
        co_return;
      });
      *waited += where->spawn([] { return std::size_t{1}; }).get();
    }
  };
  for (std::size_t i = 0; i != n; ++i) {
    pool.enqueue([&pool, &waited, last = waits_when_it_goes(pool, waited)]() -> task {
      waited += pool.spawn([]() -> rubato::task<std::size_t> { co_return 1; }).get();
      co_return;
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(waited, 3 * n);
}

TEST_P(enqueued_coroutine, forks_and_its_members_may_be_stolen) {
  std::size_t const n = scaled(500);
  std::atomic<std::size_t> sum = 0;
  rubato::pool pool(options());
  auto const leaf = [](std::size_t i) -> rubato::task<std::size_t> {
    for (unsigned spin = 0; spin != 50 * (i % 7); ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
    co_return i;
  };
  for (std::size_t i = 0; i != n; ++i) {
    pool.enqueue([&sum, &leaf, i]() -> task {
      auto const [a, b, c] = co_await rubato::when_all(leaf(i), leaf(i + 1), leaf(i + 2));
      sum += a + b + c;
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(sum, 3 * (n * (n - 1) / 2 + n));
}

TEST_P(enqueued_coroutine, may_move_to_another_pool_and_back) {
  std::size_t const n = scaled(300);
  tally each(n);
  rubato::pool other(2), pool(options());
  for (std::size_t i = 0; i != n; ++i) {
    pool.enqueue([&, i]() -> task {
      co_await rubato::resume_on(other);
      EXPECT_EQ(rubato::current_pool(), &other);
      if (i % 2 == 0) co_await rubato::resume_on(pool);
      each.hit(i);
    });
    pool.enqueue([]() -> task { co_return; });
  }
  while (each.total() != n) EXPECT_TRUE(pool.wait_idle() && other.wait_idle());
  each.expect_each_once();
}

/// Another thread resumes it before await_suspend() has returned.
struct resumed_at_once {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  static void await_suspend(std::coroutine_handle<> h) {
    std::thread([h] { h.resume(); }).join();
  }
  static void await_resume() noexcept {}
};

TEST_P(enqueued_coroutine, may_be_resumed_elsewhere_at_once) {
  std::size_t const n = scaled(100);
  tally each(2 * n);
  rubato::pool pool(options());
  for (std::size_t i = 0; i != n; ++i) {
    pool.enqueue([&, i]() -> task {
      co_await resumed_at_once();
      each.hit(2 * i);
    });
    pool.enqueue([&, i]() -> task {
      each.hit(2 * i + 1);
      co_return;
    });
  }
  while (each.total() != 2 * n) EXPECT_TRUE(pool.wait_idle());
  each.expect_each_once();
}

TEST(enqueued_coroutines, keep_their_priority) {
  rubato::pool pool(rubato::no_workers);
  std::string order;
  auto const twice = [&order](char name) -> task {
    order += name;
    co_await rubato::yield();
    order += static_cast<char>(name - 'a' + 'A');
  };
  pool.enqueue(priority::low, twice('l'));
  pool.enqueue(priority::normal, twice('n'));
  pool.enqueue(priority::high, twice('h'));
  pool.enqueue(priority::low, [&twice] { return twice('m'); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(order, "hHnNlmLM");
  order.clear(); // the states of those serve these
  pool.enqueue(twice('n'));
  pool.enqueue(twice('o'));
  pool.enqueue(priority::high, twice('h'));
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(order, "hHnoNO");
}

TEST_P(enqueued_coroutine, has_a_stop_token_of_its_own) {
  rubato::pool pool(options());
  for (int round = 0; round != 3; ++round) {
    std::atomic<int> clear = 0;
    for (int i = 0; i != 20; ++i) {
      pool.enqueue([&clear](std::stop_token t) -> task {
        if (!t.stop_requested()) ++clear;
        co_return;
      });
      pool.enqueue([&clear]() -> task {
        if (!rubato::this_task_stop_token().stop_requested()) ++clear;
        co_return;
      });
    }
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(clear, 40);
    pool.shutdown(rubato::drain);
    if (GetParam() == 0) break;
    pool.resize(GetParam());
  }
}

} // namespace
