// async_mutex: excludes, hands over in order, and can be used from anywhere.
#include "support/async_sync.hpp"
#include "support/with_workers.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class async_mutex : public on_workers {};
RUBATO_TEST_WITH_WORKERS(async_mutex, all_counts);

struct guarded {
  rubato::async_mutex mutex;
  long count = 0; // not atomic: the mutex is what protects it
  occupancy inside;
};

rubato::task<> count_up(guarded& g, std::size_t rounds, bool yields) {
  for (std::size_t i = 0; i != rounds; ++i) {
    co_await g.mutex.acquire();
    g.inside.enter();
    long const before = g.count;
    if (yields && i % 8 == 0) co_await rubato::yield();
    g.count = before + 1;
    g.inside.leave();
    g.mutex.release();
  }
}

TEST_P(async_mutex, excludes_coroutines_from_each_other) {
  std::size_t const rounds = scaled(2'000);
  for (bool const yields : {false, true}) {
    guarded g;
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 8; ++i) all.push_back(pool.spawn(count_up(g, rounds, yields)));
    get_all(all);
    EXPECT_EQ(g.count, static_cast<long>(8 * rounds));
    EXPECT_EQ(g.inside.most(), 1);
    EXPECT_TRUE(g.mutex.try_acquire());
    g.mutex.release();
  }
}

TEST_P(async_mutex, excludes_threads_that_only_try) {
  std::size_t const rounds = scaled(2'000);
  guarded g;
  std::atomic<long> by_threads{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t != 2; ++t)
    threads.emplace_back([&] {
      while (!over) {
        if (!g.mutex.try_acquire()) continue;
        ++g.count;
        by_threads.fetch_add(1);
        g.mutex.release();
      }
    });
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 4; ++i) all.push_back(pool.spawn(count_up(g, rounds, false)));
  get_all(all);
  over = true;
  threads.clear();
  EXPECT_EQ(g.count, static_cast<long>(4 * rounds) + by_threads);
}

rubato::task<> lock_and_note(rubato::async_mutex& m, std::vector<int>& order, int name) {
  co_await m.acquire();
  order.push_back(name);
  m.release();
}

TEST_P(async_mutex, is_handed_over_in_order) {
  rubato::async_mutex m;
  ASSERT_TRUE(m.try_acquire());
  std::vector<int> order;
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 50; ++i) {
    all.push_back(pool.spawn(lock_and_note(m, order, i)));
    let_all_wait(pool);
  }
  EXPECT_TRUE(order.empty());
  m.release();
  get_all(all);
  for (int i = 0; i != 50; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
}

/// Keeps every worker of a pool without spares from running anything else.
class busy_pool {
  rubato_test::gate go_;
  std::vector<rubato::future<void>> all_;

public:
  explicit busy_pool(rubato::pool& pool) {
    std::atomic<unsigned> begun{0};
    for (unsigned i = 0; i != pool.size(); ++i)
      all_.push_back(pool.spawn([this, &begun] {
        ++begun;
        EXPECT_TRUE(go_.wait());
      }));
    EXPECT_TRUE(eventually([&] { return begun == pool.size(); }));
  }
  busy_pool(busy_pool const&) = delete;
  busy_pool& operator=(busy_pool const&) = delete;
  ~busy_pool() {
    go_.open();
    get_all(all_);
  }
};

TEST_P(async_mutex, is_handed_to_an_overtaken_waiter) {
  rubato::pool held(rubato_test::with_workers(GetParam()).spares(0)); // no thread relieves its workers
  rubato::async_mutex m;
  ASSERT_TRUE(m.try_acquire());
  std::vector<int> order;
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 3; ++i) {
    all.push_back(held.spawn(lock_and_note(m, order, i)));
    let_all_wait(held);
  }
  {
    busy_pool const busy(held);
    m.release();
    for (int i = 0; i != 3; ++i) { // the first is called, and cannot run
      ASSERT_TRUE(m.try_acquire());
      if (i != 2) m.release();
    }
  }
  let_all_wait(held);
  EXPECT_TRUE(order.empty());
  {
    busy_pool const busy(held);
    m.release();
    EXPECT_FALSE(m.try_acquire()) << "overtaken twice";
  }
  get_all(all);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(m.try_acquire());
  m.release();
}

/// Destroyed between the call and its coming back: the next has its turn.
TEST_P(async_mutex, called_ones_that_never_come_leave_it_to_the_next) {
  std::size_t const rounds = scaled(200);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::async_mutex m;
    ASSERT_TRUE(m.try_acquire());
    auto other = std::make_unique<rubato::pool>(1U);
    auto waits = [](rubato::async_mutex& on) -> rubato::task<> {
      auto const lock = co_await on.scoped_lock();
      co_await rubato::yield();
    };
    auto first = other->spawn(waits(m));
    let_all_wait(*other);
    auto second = pool.spawn(waits(m));
    let_all_wait(pool);
    std::jthread const ends([&] { other->shutdown(rubato::discard); });
    m.release();
    second.get();
  }
}

rubato::task<> hold_while(rubato::async_mutex& m, std::atomic<bool>& held, bool throws) {
  auto const lock = co_await m.scoped_lock();
  EXPECT_TRUE(lock.owns_lock());
  held = true;
  co_await rubato::yield();
  if (throws) throw std::runtime_error("thrown under the lock");
}

TEST_P(async_mutex, is_unlocked_by_its_guard) {
  rubato::async_mutex m;
  for (bool const throws : {false, true}) {
    std::atomic<bool> held{false};
    auto f = pool.spawn(hold_while(m, held, throws));
    EXPECT_EQ(outcome_of_get(f), throws ? outcome::other : outcome::value);
    EXPECT_TRUE(held);
    EXPECT_TRUE(m.try_acquire());
    m.release();
  }
}

TEST_P(async_mutex, guards_can_be_moved) {
  rubato::async_mutex m;
  rubato::async_lock none;
  EXPECT_FALSE(none.owns_lock());
  {
    rubato::async_lock first = pool.block_on(m.scoped_lock());
    EXPECT_TRUE(first.owns_lock());
    rubato::async_lock second = std::move(first);
    EXPECT_FALSE(first.owns_lock()); // NOLINT(bugprone-use-after-move)
    EXPECT_FALSE(m.try_acquire());
    none = std::move(second);
    EXPECT_FALSE(second.owns_lock()); // NOLINT(bugprone-use-after-move)
    auto& self = none;
    none = std::move(self);
    EXPECT_TRUE(none.owns_lock());
  }
  EXPECT_FALSE(m.try_acquire());
  rubato::async_mutex other;
  rubato::async_lock another = pool.block_on(other.scoped_lock());
  std::swap(none, another);
  none = {};
  EXPECT_TRUE(other.try_acquire());
  EXPECT_FALSE(m.try_acquire());
  another.unlock();
  EXPECT_FALSE(another.owns_lock());
  EXPECT_TRUE(m.try_acquire());
}

TEST_P(async_mutex, can_be_locked_and_unlocked_by_different_threads) {
  rubato::async_mutex m;
  pool.block_on(m.acquire());
  auto f = pool.spawn([&m]() -> rubato::task<> { co_await m.acquire(); });
  let_all_wait(pool);
  std::jthread([&m] { m.release(); }).join();
  f.get();
  EXPECT_FALSE(m.try_acquire());
}

rubato::task<> ping(rubato::async_mutex& m, rubato::pool& home, std::atomic<int>& strayed,
                    std::size_t rounds) {
  for (std::size_t i = 0; i != rounds; ++i) {
    auto const lock = co_await m.scoped_lock();
    if (rubato::current_pool() != &home) ++strayed;
    co_await rubato::yield();
    if (rubato::current_pool() != &home) ++strayed;
  }
}

TEST_P(async_mutex, lets_everybody_go_on_on_its_own_pool) {
  rubato::pool other(2);
  rubato::async_mutex m;
  std::atomic<int> strayed{0};
  std::vector<rubato::future<void>> here, there;
  std::size_t const rounds = scaled(500);
  for (int i = 0; i != 3; ++i) {
    there.push_back(other.spawn(ping(m, other, strayed, rounds)));
    here.push_back(pool.spawn(ping(m, pool, strayed, rounds)));
  }
  get_all(here); // first: a thread that waits for a pool without workers drives it
  get_all(there);
  EXPECT_EQ(strayed, 0);
}

/// The next owner destroys it: the former one must be out of it.
TEST_P(async_mutex, may_be_destroyed_by_its_next_owner) {
  std::size_t const rounds = scaled(5'000);
  jitter pauses(1);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto m = std::make_unique<rubato::async_mutex>();
    ASSERT_TRUE(m->try_acquire());
    rubato::async_mutex& shared = *m;
    auto ends = [](std::unique_ptr<rubato::async_mutex> mine) -> rubato::task<> {
      co_await mine->acquire();
      mine.reset();
    };
    auto f = pool.spawn(ends(std::move(m)));
    if (i % 2 == 0) let_all_wait(pool);
    for (std::uint32_t spin = pauses.below(200); spin != 0; --spin)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    shared.release();
    f.get();
  }
}

// std::lock_guard, std::unique_lock, std::scoped_lock and std::lock would drop an awaitable, and lock
// nothing.
template<class L>
concept locked_by_std = requires(L& l) { l.lock(); } || requires(L& l) { l.try_lock(); };
template<class L>
concept shared_by_std = requires(L& l) { l.lock_shared(); } || requires(L& l) { l.try_lock_shared(); };
template<class L>
concept timed_by_std =
    requires(L& l) { l.try_lock_for(1s); } || requires(L& l) { l.try_lock_until(rubato::never); };
template<class... Ls>
constexpr bool none_is_a_lock_of_std = !((locked_by_std<Ls> || shared_by_std<Ls> || timed_by_std<Ls>) || ...);

TEST(async_mutex_static, regression_no_std_lock_takes_awaited_ones) {
  static_assert(locked_by_std<std::mutex>);
  static_assert(
      none_is_a_lock_of_std<rubato::async_mutex, rubato::async_lock, rubato::async_semaphore,
                            rubato::async_permits, rubato::async_latch, rubato::async_barrier, rubato::event,
                            rubato::channel<int>, rubato::interval, rubato::strand, rubato::pool,
                            rubato::scope, rubato::task_group, rubato::routine, rubato::signal_set,
                            rubato::tcp_socket, rubato::tcp_listener, rubato::udp_socket, rubato::task<int>,
                            rubato::future<int>, rubato::shared_future<int>, rubato::async_generator<int>>);
}

constinit rubato::async_mutex of_the_program;

TEST(async_mutex_static, needs_no_initialisation_at_run_time) {
  EXPECT_TRUE(of_the_program.try_acquire());
  EXPECT_FALSE(of_the_program.try_acquire());
  of_the_program.release();
}

} // namespace
