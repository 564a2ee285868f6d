// async_shared_mutex: readers together, writers alone, strictly in order of arrival.
#include "support/async_sync.hpp"
#include "support/with_workers.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <variant>

namespace {

using namespace rubato_test;
using rubato::async_shared_mutex;

class shared_mutex : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(shared_mutex, all_counts);

TEST(shared_mutex, try_forms_say_what_is_free) {
  async_shared_mutex m;
  {
    auto const a = m.try_scoped_shared_lock();
    auto const b = m.try_scoped_shared_lock();
    EXPECT_TRUE(a.owns_lock() && b.owns_lock());
    EXPECT_FALSE(m.try_scoped_lock().owns_lock());
  }
  {
    auto const alone = m.try_scoped_lock();
    EXPECT_TRUE(alone.owns_lock());
    EXPECT_FALSE(m.try_scoped_lock().owns_lock());
    EXPECT_FALSE(m.try_scoped_shared_lock().owns_lock());
  }
  EXPECT_TRUE(m.try_scoped_lock().owns_lock());
}

TEST(shared_mutex, locks_move) {
  async_shared_mutex m, n;
  auto a = m.try_scoped_lock();
  auto b = std::move(a);
  EXPECT_TRUE(b.owns_lock());
  b = n.try_scoped_lock(); // unlocks m
  EXPECT_TRUE(m.try_scoped_lock().owns_lock());
  b.unlock();
  EXPECT_FALSE(b.owns_lock());
  auto s = n.try_scoped_shared_lock();
  auto t = std::move(s);
  EXPECT_TRUE(t.owns_lock());
  t = m.try_scoped_shared_lock();
  EXPECT_TRUE(n.try_scoped_lock().owns_lock());
  EXPECT_FALSE(m.try_scoped_lock().owns_lock());
  t = {};
  EXPECT_TRUE(m.try_scoped_lock().owns_lock());
  // A lock of either mutex fits one variable.
  rubato::async_mutex plain;
  auto f = rubato::block_on(plain.scoped_lock());
  f = m.try_scoped_lock();
  EXPECT_TRUE(plain.try_acquire());
}

TEST(shared_mutex, unlocking_nothing_is_a_misuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(rubato::async_shared_lock().unlock(), "owns nothing");
  EXPECT_DEATH(rubato::async_lock().unlock(), "owns nothing");
}

TEST_P(shared_mutex, excludes_writers_from_all) {
  async_shared_mutex m;
  int written = 0;
  std::atomic<int> readers{0}, most{0}, writers{0};
  std::size_t const rounds = scaled(400);
  auto read = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      auto const lock = co_await m.scoped_shared_lock();
      int const now = ++readers;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      EXPECT_EQ(writers, 0);
      int const before = written;
      if (i % 4 == 0) co_await rubato::yield();
      EXPECT_EQ(written, before);
      --readers;
    }
  };
  auto write = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      auto const lock = co_await m.scoped_lock();
      EXPECT_EQ(++writers, 1);
      EXPECT_EQ(readers, 0);
      ++written;
      if (i % 8 == 0) co_await rubato::yield();
      --writers;
    }
  };
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 6; ++i) {
    // Those of the pool first: without workers it needs the thread that waits.
    all.push_back((i == 5 ? other : pool).spawn(read()));
    if (i > 2) all.push_back((i == 5 ? other : pool).spawn(write()));
  }
  get_all(all);
  EXPECT_EQ(written, static_cast<int>(3 * rounds));
  EXPECT_TRUE(m.try_scoped_lock().owns_lock());
}

/// What has got the lock, in order.
struct order_log {
  async_shared_mutex m;
  std::string order;
  std::vector<rubato::future<void>> all;

  rubato::task<void> read(char name) {
    auto const lock = co_await m.scoped_shared_lock();
    order += name;
    co_await rubato::yield();
  }
  rubato::task<void> write(char name) {
    auto const lock = co_await m.scoped_lock();
    order += name;
    co_await rubato::yield();
    EXPECT_EQ(order.back(), name);
  }
};

TEST(shared_mutex, serves_strictly_in_order_of_arrival) {
  rubato::pool pool(1);
  order_log log;
  auto held = log.m.try_scoped_lock();
  for (char const c : std::string("aWcXYdZ")) {
    log.all.push_back(pool.spawn(c < 'a' ? log.write(c) : log.read(c)));
    let_all_wait(pool);
  }
  held.unlock();
  get_all(log.all);
  EXPECT_EQ(log.order, "aWcXYdZ");
}

TEST_P(shared_mutex, a_waiting_writer_blocks_later_readers) {
  async_shared_mutex m;
  auto first = m.try_scoped_shared_lock();
  auto writer = pool.spawn([&]() -> rubato::task<void> { auto const lock = co_await m.scoped_lock(); });
  let_all_wait(pool);
  EXPECT_FALSE(m.try_scoped_shared_lock().owns_lock());
  auto reader =
      pool.spawn([&]() -> rubato::task<void> { auto const lock = co_await m.scoped_shared_lock(); });
  let_all_wait(pool);
  EXPECT_FALSE(writer.ready() || reader.ready());
  first.unlock();
  writer.get();
  reader.get();
}

TEST_P(shared_mutex, a_stopped_writer_lets_the_readers_go_on) {
  async_shared_mutex m;
  auto const first = m.try_scoped_shared_lock();
  auto writer = pool.spawn([&]() -> rubato::task<void> { auto const lock = co_await m.scoped_lock(); });
  let_all_wait(pool);
  std::vector<rubato::future<void>> readers;
  for (int i = 0; i != 3; ++i)
    readers.push_back(
        pool.spawn([&]() -> rubato::task<void> { auto const lock = co_await m.scoped_shared_lock(); }));
  let_all_wait(pool);
  writer.cancel();
  EXPECT_EQ(outcome_of_get(writer), outcome::cancelled);
  get_all(readers); // beside the first
}

TEST_P(shared_mutex, a_stopped_reader_leaves_the_others_their_turn) {
  async_shared_mutex m;
  auto held = m.try_scoped_lock();
  auto stopped = pool.spawn([&]() -> rubato::task<void> { auto const l = co_await m.scoped_shared_lock(); });
  let_all_wait(pool);
  auto writer = pool.spawn([&]() -> rubato::task<void> { auto const l = co_await m.scoped_lock(); });
  let_all_wait(pool);
  stopped.cancel();
  EXPECT_EQ(outcome_of_get(stopped), outcome::cancelled);
  held.unlock();
  writer.get();
  EXPECT_TRUE(m.try_scoped_lock().owns_lock());
}

TEST_P(shared_mutex, in_races_a_loser_has_had_no_effect) {
  async_shared_mutex m, n;
  int guarded[2] = {};
  std::atomic<int> readers[2] = {};
  std::size_t const rounds = scaled(400);
  auto either = [&](bool beside_a_task) -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      if (beside_a_task) {
        auto any =
            rubato::when_any(m.scoped_lock(), n.scoped_lock(), rubato::sleep_for(std::chrono::hours(1)));
        auto const r = co_await std::move(any);
        EXPECT_EQ(readers[r.index], 0);
        ++guarded[r.index];
      } else {
        auto any = rubato::when_any(m.scoped_lock(), n.scoped_shared_lock());
        auto const r = co_await std::move(any);
        if (r.index == 0)
          ++guarded[0];
        else
          ++readers[1];
        if (i % 3 == 0) co_await rubato::yield();
        if (r.index == 1) --readers[1];
      }
    }
  };
  auto reader = [&](async_shared_mutex& which, int index) -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      auto const lock = co_await which.scoped_shared_lock();
      ++readers[index];
      if (i % 3 == 0) co_await rubato::yield();
      --readers[index];
    }
  };
  std::vector<rubato::future<void>> all;
  all.push_back(pool.spawn(either(false)));
  all.push_back(pool.spawn(either(true)));
  all.push_back(pool.spawn(reader(m, 0))); // the pool's first: it may need this thread
  all.push_back(other.spawn(either(false)));
  all.push_back(other.spawn(reader(n, 1)));
  get_all(all);
  EXPECT_TRUE(m.try_scoped_lock().owns_lock());
  EXPECT_TRUE(n.try_scoped_lock().owns_lock());
}

TEST_P(shared_mutex, racing_stops_lose_no_lock) {
  async_shared_mutex m;
  jitter pauses(GetParam() + 1);
  for (std::size_t round = 0; round != scaled(300); ++round) {
    std::vector<rubato::future<void>> all;
    auto lock = [&](bool alone) -> rubato::task<void> {
      for (int i = 0; i != 10; ++i) {
        if (alone) {
          auto const l = co_await m.scoped_lock();
          if (i % 4 == 0) co_await rubato::yield();
        } else {
          auto const l = co_await m.scoped_shared_lock();
          if (i % 4 == 0) co_await rubato::yield();
        }
      }
    };
    for (int i = 0; i != 6; ++i) all.push_back((i == 5 ? other : pool).spawn(lock(i % 3 == 0)));
    for (std::size_t i = 0; i != 8; ++i) {
      all[pauses.below(6)].cancel();
      if (i % 3 == 0) std::this_thread::yield();
    }
    for (auto& f : all) ASSERT_NE(outcome_of_get(f), outcome::other);
    ASSERT_TRUE(m.try_scoped_lock().owns_lock()) << "in round " << round;
  }
}

TEST_P(shared_mutex, against_deadlines) {
  async_shared_mutex m;
  auto const held = m.try_scoped_shared_lock();
  auto f = pool.spawn([&]() -> rubato::task<bool> {
    auto limited = rubato::with_deadline(m.scoped_lock(), std::chrono::milliseconds(1));
    auto const lock = co_await std::move(limited);
    co_return lock.has_value();
  });
  EXPECT_FALSE(f.get());
  EXPECT_TRUE(m.try_scoped_shared_lock().owns_lock());
}

TEST_P(shared_mutex, in_a_pool_that_ends) {
  for (bool const drops : {false, true}) {
    async_shared_mutex m;
    auto held = m.try_scoped_shared_lock();
    std::atomic<int> frames{0};
    auto wait = [&](bool alone) -> rubato::task<void> {
      in_frame const here(frames);
      if (alone) {
        auto const l = co_await m.scoped_lock();
      } else {
        auto const l = co_await m.scoped_shared_lock();
      }
    };
    {
      rubato::pool ends(with_workers(GetParam()));
      for (int i = 0; i != 6; ++i) ends.spawn(wait(i % 2 == 0)).detach();
      let_all_wait(ends);
      if (drops)
        ends.shutdown(rubato::discard);
      else
        ends.shutdown();
    }
    EXPECT_EQ(frames, 0);
    held.unlock();
    EXPECT_TRUE(m.try_scoped_lock().owns_lock());
  }
}

} // namespace
