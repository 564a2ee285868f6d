// Waits that are stopped: they end early, and leave everything as if they had never begun.
#include "support/async_sync.hpp"
#include "support/tally.hpp"

#include <optional>
#include <thread>

namespace {

using namespace rubato_test;

class cancellation : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cancellation, all_counts);

rubato::task<> lock(rubato::async_mutex& m) {
  auto const held = co_await m.scoped_lock();
  co_await rubato::yield();
}
rubato::task<> acquire(rubato::async_semaphore& s) {
  co_await s.acquire();
  s.release();
}
rubato::task<> wait_for(rubato::async_latch& l) { co_await l.wait(); }
rubato::task<> arrive(rubato::async_barrier& b) { co_await b.arrive_and_wait(); }
rubato::task<bool> send(rubato::channel<int>& c, int value) { co_return co_await c.send(value); }
rubato::task<std::optional<int>> receive(rubato::channel<int>& c) { co_return co_await c.receive(); }

TEST_P(cancellation, ends_every_wait) {
  rubato::async_mutex m;
  rubato::async_semaphore s(0);
  rubato::async_latch l(1);
  rubato::async_barrier b(2);
  ASSERT_TRUE(m.try_acquire());
  std::vector<rubato::future<void>> all;
  all.push_back(pool.spawn(lock(m)));
  all.push_back(pool.spawn(acquire(s)));
  all.push_back(pool.spawn(wait_for(l)));
  all.push_back(pool.spawn(arrive(b)));
  rubato::channel<int> full(1), empty(1);
  ASSERT_TRUE(full.try_send(1));
  auto sender = pool.spawn(send(full, 2));
  auto receiver = pool.spawn(receive(empty));
  let_all_wait(pool);
  for (auto& f : all) {
    EXPECT_FALSE(f.ready());
    f.cancel();
  }
  sender.cancel();
  receiver.cancel();
  for (auto& f : all) EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_FALSE(sender.get());
  EXPECT_EQ(receiver.get(), std::nullopt);

  m.release();
  EXPECT_TRUE(m.try_acquire());
  s.release();
  EXPECT_TRUE(s.try_acquire());
  l.count_down();
  EXPECT_EQ(full.try_receive(), std::optional<int>(1));
  EXPECT_EQ(full.try_receive(), std::nullopt) << "the value of a sender that was stopped";
  EXPECT_TRUE(empty.try_send(1)) << "swallowed by a receiver that was stopped";
  EXPECT_FALSE(empty.try_send(2));
}

/// Stopped already: what need not wait does not, what must wait ends at once.
TEST_P(cancellation, that_came_first_ends_only_what_must_wait) {
  rubato::async_mutex m;
  rubato::async_semaphore s(1);
  rubato::async_latch l(1);
  rubato::async_barrier b(2);
  rubato::channel<int> c(1);
  rubato_test::gate begun, go;
  auto all = [&]() -> rubato::task<int> {
    begun.open();
    go.wait();
    int ended = 0;
    co_await m.acquire();
    co_await s.acquire();
    bool const accepted = co_await c.send(1);
    EXPECT_TRUE(accepted);
    bool const refused = co_await c.send(2);
    EXPECT_FALSE(refused);
    std::optional<int> const got = co_await c.receive();
    EXPECT_EQ(got, std::optional<int>(1));
    std::optional<int> const none = co_await c.receive();
    EXPECT_EQ(none, std::nullopt);
    try {
      co_await m.acquire();
    } catch (rubato::cancelled const&) {
      ++ended;
    }
    try {
      co_await s.acquire();
    } catch (rubato::cancelled const&) {
      ++ended;
    }
    try {
      co_await l.wait();
    } catch (rubato::cancelled const&) {
      ++ended;
    }
    try {
      co_await b.arrive_and_wait();
    } catch (rubato::cancelled const&) {
      ++ended;
    }
    m.release();
    s.release();
    co_return ended;
  };
  auto f = pool.spawn(all());
  std::jthread const stops([&] {
    ASSERT_TRUE(begun.wait());
    f.cancel();
    go.open();
  });
  EXPECT_EQ(f.get(), 4);
}

TEST_P(cancellation, of_one_lets_the_next_have_its_turn) {
  rubato::async_semaphore s(0);
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 5; ++i) {
    all.push_back(pool.spawn([&s]() -> rubato::task<> { co_await s.acquire(); }));
    let_all_wait(pool);
  }
  for (std::size_t const i : {0U, 2U, 4U}) {
    all[i].cancel();
    EXPECT_EQ(outcome_of_get(all[i]), outcome::cancelled);
  }
  s.release();
  all[1].get();
  EXPECT_FALSE(all[3].ready());
  s.release();
  all[3].get();
}

/// A participant that is stopped has not arrived: the others wait for it, until it comes again or drops out.
TEST_P(cancellation, takes_an_arrival_at_a_barrier_back) {
  rubato::async_barrier b(3);
  auto stopped = pool.spawn(arrive(b));
  let_all_wait(pool);
  stopped.cancel();
  EXPECT_EQ(outcome_of_get(stopped), outcome::cancelled);
  auto first = pool.spawn(arrive(b));
  auto second = pool.spawn(arrive(b));
  let_all_wait(pool);
  EXPECT_FALSE(first.ready());
  b.arrive_and_drop();
  first.get();
  second.get();
}

/// Asks a random one to stop, again and again, while the others go on.
class canceller {
  std::atomic<bool> over_{false};
  std::jthread thread_;

public:
  template<class T>
  canceller(std::vector<rubato::future<T>>& all, std::uint32_t seed)
      : thread_([this, &all, seed] {
        jitter random(seed);
        while (!over_) {
          all[random.below(static_cast<std::uint32_t>(all.size()))].cancel();
          for (std::uint32_t n = random.below(2'000); n != 0; --n)
            std::atomic_signal_fence(std::memory_order_seq_cst);
          if (random.below(8) == 0) std::this_thread::yield();
        }
      }) {}
  canceller(canceller const&) = delete;
  canceller& operator=(canceller const&) = delete;
  ~canceller() { over_ = true; }
};

/// Rounds of a few coroutines each, since one that was stopped waits for nothing any more.
template<class Round>
void rounds_of(std::size_t n, Round round) {
  for (std::size_t i = 0; i != scaled(n); ++i) {
    round(i);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Six coroutines, of which some are stopped.
template<class MakeTask>
void run_six_and_cancel(rubato::pool& pool, MakeTask& make, std::size_t round) {
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 6; ++i) all.push_back(pool.spawn(make()));
  {
    canceller const stops(all, static_cast<std::uint32_t>(round) + 1);
    let_all_wait(pool);
  }
  for (auto& f : all) ASSERT_NE(outcome_of_get(f), outcome::other);
}

TEST_P(cancellation, racing_the_hand_over_of_a_lock) {
  rubato::async_mutex m;
  long count = 0;
  std::atomic<long> entered{0};
  auto enter = [&]() -> rubato::task<> {
    for (int i = 0; i != 20; ++i) {
      auto const held = co_await m.scoped_lock();
      ++count;
      entered.fetch_add(1, std::memory_order_relaxed);
      if (i % 4 == 0) co_await rubato::yield();
    }
  };
  rounds_of(300, [&](std::size_t round) {
    run_six_and_cancel(pool, enter, round);
    ASSERT_TRUE(m.try_acquire()) << "the lock was lost with a stopped waiter";
    m.release();
  });
  EXPECT_EQ(count, entered);
}

TEST_P(cancellation, racing_the_hand_over_of_permits) {
  constexpr std::size_t permits = 2;
  rubato::async_semaphore s(permits);
  occupancy inside;
  auto enter = [&]() -> rubato::task<> {
    for (int i = 0; i != 20; ++i) {
      co_await s.acquire();
      inside.enter();
      if (i % 4 == 0) co_await rubato::yield();
      inside.leave();
      s.release();
    }
  };
  rounds_of(300, [&](std::size_t round) {
    run_six_and_cancel(pool, enter, round);
    for (std::size_t i = 0; i != permits; ++i) ASSERT_TRUE(s.try_acquire());
    ASSERT_FALSE(s.try_acquire());
    s.release(permits);
  });
  EXPECT_LE(inside.most(), static_cast<int>(permits));
}

TEST_P(cancellation, racing_values_in_a_channel) {
  rounds_of(400, [&](std::size_t round) {
    constexpr std::size_t senders = 3, each = 20;
    rubato::channel<std::size_t> c(round % 3);
    tally sent(senders * each), got(senders * each);
    auto produce = [&](std::size_t first) -> rubato::task<> {
      for (std::size_t i = first; i != first + each; ++i) {
        bool const accepted = co_await c.send(i);
        if (accepted) sent.hit(i);
        if (!accepted) co_return;
      }
    };
    auto consume = [&]() -> rubato::task<> {
      for (;;) {
        std::optional<std::size_t> const v = co_await c.receive();
        if (!v) co_return;
        got.hit(*v);
      }
    };
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != senders; ++i) {
      all.push_back(pool.spawn(produce(i * each)));
      all.push_back(pool.spawn(consume()));
    }
    {
      canceller const stops(all, static_cast<std::uint32_t>(round) + 1);
      let_all_wait(pool);
    }
    c.close();
    for (auto& f : all) ASSERT_NE(outcome_of_get(f), outcome::other);
    while (auto const v = c.try_receive()) got.hit(*v);
    sent.expect_none_twice();
    got.expect_none_twice();
    ASSERT_EQ(sent.total(), got.total()) << "round " << round;
  });
}

TEST_P(cancellation, racing_the_opening_of_a_latch) {
  rounds_of(500, [&](std::size_t round) {
    rubato::async_latch l(1);
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 6; ++i) all.push_back(pool.spawn(wait_for(l)));
    {
      canceller const stops(all, static_cast<std::uint32_t>(round) + 1);
      if (round % 2 == 0) let_all_wait(pool);
      l.count_down();
    }
    for (auto& f : all) ASSERT_NE(outcome_of_get(f), outcome::other);
  });
}

/// Participants that are stopped drop out; the others must not be held up.
TEST_P(cancellation, racing_the_end_of_a_phase) {
  rounds_of(300, [&](std::size_t round) {
    constexpr std::size_t participants = 5;
    rubato::async_barrier b(participants);
    std::atomic<int> through{0};
    rubato::async_latch go(1); // a participant that is stopped before it has begun does not drop out
    auto take_part = [&]() -> rubato::task<> {
      bool stopped = false;
      try {
        co_await go.wait();
      } catch (rubato::cancelled const&) {
        stopped = true;
      }
      for (int phase = 0; phase != 8 && !stopped; ++phase) {
        try {
          co_await b.arrive_and_wait();
        } catch (rubato::cancelled const&) {
          stopped = true;
        }
      }
      b.arrive_and_drop();
      if (!stopped) ++through;
    };
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != participants; ++i) all.push_back(pool.spawn(take_part()));
    {
      // one is left alone, so that one goes through
      std::vector<rubato::future<void>> some;
      for (std::size_t i = 1; i != participants; ++i) some.push_back(std::move(all[i]));
      let_all_wait(pool);
      go.count_down();
      canceller const stops(some, static_cast<std::uint32_t>(round) + 1);
      let_all_wait(pool);
      all[0].get();
      for (auto& f : some) f.cancel();
      let_all_wait(pool);
    }
    ASSERT_GE(through, 1);
  });
}

} // namespace
