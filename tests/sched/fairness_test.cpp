// Guarantee F: a task that queues itself without end does not starve the other tasks, and no source of work
// that never runs empty starves another.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "sched/core/pool_core.hpp"
#include "support/hang_guard.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

// No spares in these tests: no relief thread serves a task that was passed over.
rubato::pool_options alone(unsigned workers) {
  rubato::pool_options options;
  options.workers(workers).spares(0);
  return options;
}

/// Tasks that enqueue themselves again until they are told to end.
class perpetual {
  rubato::pool& pool_;
  std::atomic<bool> end_ = false;
  std::atomic<std::uint64_t> turns_ = 0;

  void turn() {
    turns_.fetch_add(1, std::memory_order_relaxed);
    if (!end_.load(std::memory_order_relaxed)) pool_.enqueue([this] { turn(); });
  }

public:
  perpetual(rubato::pool& pool, unsigned tasks)
      : pool_(pool) {
    for (unsigned i = 0; i < tasks; ++i) pool.enqueue([this] { turn(); });
    EXPECT_TRUE(eventually([this] { return turns() > 1'000; }));
  }
  ~perpetual() {
    end_ = true;
    EXPECT_TRUE(pool_.wait_idle());
  }
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
};

class fairness : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, fairness, testing::Values(1u, 2u, 4u), testing::PrintToStringParamName());

TEST_P(fairness, endless_local_work_does_not_starve_an_outside_task) {
  for (unsigned tasks : {1u, 2u, 100u}) {
    SCOPED_TRACE(tasks);
    rubato::pool pool(alone(GetParam()));
    perpetual const local(pool, tasks);
    for (int round = 0; round < 20; ++round) {
      std::atomic<bool> ran = false;
      pool.enqueue([&] { ran = true; });
      ASSERT_TRUE(eventually([&] { return ran.load(); })) << "round " << round;
    }
  }
}

TEST(fairness_of_two, shares_them_with_a_long_queue_from_outside) {
  constexpr std::uint64_t from_outside = 3'000;
  rubato::pool pool(alone(2));
  auto const work = [] { // so long that local tasks have their time slice soon
    for (auto const until = std::chrono::steady_clock::now() + 2us;
         std::chrono::steady_clock::now() < until;) {
    }
  };
  std::atomic<bool> end = false;
  std::atomic<std::uint64_t> turns = 0, ran = 0;
  std::function<void()> const turn = [&] {
    work();
    turns.fetch_add(1, std::memory_order_relaxed);
    if (!end.load(std::memory_order_relaxed)) pool.enqueue([&] { turn(); });
  };
  for (unsigned i = 0; i != 600; ++i) pool.enqueue([&] { turn(); }); // more than both run queues hold
  ASSERT_TRUE(eventually([&] { return turns > 1'000; }));
  std::uint64_t const before = turns;
  for (std::uint64_t i = 0; i != from_outside; ++i) pool.enqueue([&] { work(), ++ran; });
  ASSERT_TRUE(eventually([&] { return ran == from_outside; }));
  std::uint64_t const beside = turns - before;
  end = true;
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_LE(beside, from_outside * 61 / 4) << "one task of 61 from outside would be 180,000 local ones";
}

TEST(fairness_alone, lets_an_outside_task_in_after_few_local_ones) {
  rubato::pool pool(alone(1));
  perpetual const local(pool, 100);
  std::uint64_t most = 0;
  for (int round = 0; round < 100; ++round) {
    std::atomic<std::uint64_t> at_start = 0;
    pool.enqueue([&] { at_start = local.turns(); });
    std::uint64_t const enqueued = local.turns();
    ASSERT_TRUE(eventually([&] { return at_start != 0; }));
    if (at_start > enqueued) most = std::max(most, at_start - enqueued);
  }
  EXPECT_LE(most, 61u * 50) << "promised: every 61st task comes from outside if there is one";
}

TEST_P(fairness, joins_without_end_do_not_starve_an_outside_task) {
  rubato::pool pool(alone(GetParam()));
  std::atomic<bool> end = false;
  struct forking {
    static void turn(rubato::pool& p, std::atomic<bool>& e) {
      forked_sum(0, 64);
      if (!e) p.enqueue([&] { turn(p, e); });
    }
  };
  for (unsigned i = 0; i < 2 * GetParam(); ++i) pool.enqueue([&] { forking::turn(pool, end); });
  for (int round = 0; round < 20; ++round) {
    std::atomic<bool> ran = false;
    pool.enqueue([&] { ran = true; });
    EXPECT_TRUE(eventually([&] { return ran.load(); })) << "round " << round;
  }
  end = true;
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(fairness, endless_outside_work_does_not_starve_a_local_task) {
  std::atomic<bool> ran = false;
  std::atomic<int> outstanding = 0;
  rubato::pool pool(alone(GetParam()));
  std::vector<std::jthread> floods;
  for (int t = 0; t < 2; ++t) {
    floods.emplace_back([&] {
      auto const end = std::chrono::steady_clock::now() + bound;
      while (!ran && std::chrono::steady_clock::now() < end) {
        if (outstanding < 2'000) {
          ++outstanding;
          pool.enqueue([&] { --outstanding; });
        }
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return outstanding > 100; }));
  pool.enqueue([&] { pool.enqueue([&] { ran = true; }); });
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  floods.clear();
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(fairness, one_endless_task_does_not_starve_other_local_ones) {
  rubato::pool pool(alone(GetParam()));
  perpetual const local(pool, 1);
  std::atomic<int> done = 0;
  pool.enqueue([&] {
    for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++done; });
  });
  EXPECT_TRUE(eventually([&] { return done == 100; }));
}

TEST_P(fairness, a_perpetual_pool_can_be_broadcast_to_and_resized) {
  rubato::pool pool(alone(GetParam()));
  perpetual const local(pool, 2 * GetParam());
  std::atomic<unsigned> calls = 0;
  pool.broadcast([&] { ++calls; });
  EXPECT_EQ(calls, GetParam());
  pool.resize(GetParam() + 1);
  std::uint64_t const before = local.turns();
  EXPECT_TRUE(eventually([&] { return local.turns() > before + 100; }));
  pool.resize(1);
  std::uint64_t const after = local.turns();
  EXPECT_TRUE(eventually([&] { return local.turns() > after + 100; }));
}

// Guarantee F for every source of work: none starves while another one, or all others, never run empty.

namespace detail = rubato::detail;

enum class source : unsigned char { slot, queue, inbox, injector, events, high, low, children };
constexpr std::array sources{source::slot,   source::queue, source::inbox, source::injector,
                             source::events, source::high,  source::low,   source::children};

std::string name_of(source s) {
  constexpr std::array names{"slot", "queue", "inbox", "injector", "events", "high", "low", "children"};
  return names[static_cast<std::size_t>(s)];
}

/// Queues f where what an event has made ready waits.
template<class F>
void enqueue_event(rubato::pool& pool, F f) {
  struct event_task final : detail::task {
    F call;
    explicit event_task(F c)
        : task([](detail::task& self, detail::thread_context* runner) noexcept {
          std::unique_ptr<event_task> const me(&static_cast<event_task&>(self));
          if (runner != nullptr) me->call();
        })
        , call(std::move(c)) {}
  };
  detail::core_of(pool)->enqueue_event(new event_task(std::move(f)));
}

/// Called by a task: f is what runs next there.
template<class F>
void put_into_slot(F f) {
  rubato::promise<void> p;
  p.get_future().then(std::move(f)).detach();
  p.set_value();
}

/// One source that never runs empty, on any seat, until this is destroyed.
class flood {
  rubato::pool& pool_;
  source const from_;
  std::chrono::microseconds const length_;
  std::atomic<bool> end_ = false;
  std::atomic<int> alive_ = 0;
  rubato::task_group group_;
  std::thread outside_;

  /// A turn of a task that queues itself again. False: it has ended.
  [[nodiscard]] bool turn() {
    auto const until = std::chrono::steady_clock::now() + length_;
    while (length_.count() != 0 && std::chrono::steady_clock::now() < until) {
    }
    if (!end_.load(std::memory_order_relaxed)) return true;
    --alive_;
    return false;
  }
  void again() {
    if (!turn()) return;
    switch (from_) {
    case source::slot:
      put_into_slot([this] { again(); });
      break;
    case source::queue:
      pool_.enqueue([this] { again(); });
      break;
    case source::events:
      enqueue_event(pool_, [this] { again(); });
      break;
    case source::high:
      pool_.enqueue(rubato::priority::high, [this] { again(); });
      break;
    case source::low:
      pool_.enqueue(rubato::priority::low, [this] { again(); });
      break;
    case source::children:
      group_.spawn([this] { again(); });
      break;
    default:
      break;
    }
  }
  rubato::task<void> yield_without_end() {
    while (turn()) co_await rubato::yield();
  }
  void fill_injector(int most) {
    std::atomic<int> queued = 0;
    while (!end_) {
      if (queued >= most) continue;
      ++queued;
      pool_.enqueue([&] {
        static_cast<void>(length_.count() != 0 && turn());
        --queued;
      });
    }
    while (queued != 0) std::this_thread::yield();
  }

public:
  flood(rubato::pool& pool, source from, std::chrono::microseconds length = {})
      : pool_(pool)
      , from_(from)
      , length_(length)
      , group_(pool) {
    int const seats = static_cast<int>(std::max(1U, pool.size()));
    if (from == source::injector) {
      outside_ = std::thread([this, seats] { fill_injector(64 * seats); });
      return;
    }
    int const tasks = 2 * seats;
    alive_ = tasks;
    for (int i = 0; i != tasks; ++i)
      if (from == source::inbox && pool.size() != 0)
        pool.spawn_on(static_cast<unsigned>(i % seats), yield_without_end()).detach();
      else if (from == source::inbox)
        pool.spawn(yield_without_end()).detach();
      else
        pool.enqueue([this] { again(); });
  }
  flood(flood const&) = delete;
  ~flood() {
    end_ = true;
    if (outside_.joinable()) outside_.join();
    EXPECT_TRUE(from_ == source::injector || eventually([this] { return alive_ == 0; }));
  }
};

/// Queues one task there.
void queue_one(rubato::pool& pool, rubato::task_group& group, source to, std::atomic<bool>& ran) {
  auto const run = [&ran] { ran = true; };
  switch (to) {
  case source::slot:
    pool.enqueue([run] { put_into_slot(run); });
    break;
  case source::queue:
    pool.enqueue([&pool, run] { pool.enqueue(run); });
    break;
  case source::inbox:
    if (pool.size() != 0)
      pool.spawn_on(0, run).detach();
    else
      pool.enqueue(run);
    break;
  case source::injector:
    pool.enqueue(run);
    break;
  case source::events:
    static_cast<void>(pool.enqueue_after(1us, run));
    break;
  case source::high:
  case source::low:
    pool.enqueue(to == source::high ? rubato::priority::high : rubato::priority::low, run);
    break;
  case source::children:
    group.spawn(run);
    break;
  }
}

/// No spares: no thread relieves a worker. A pool without workers is driven by a thread that waits.
class flooded_pool {
  rubato::pool pool_;
  std::optional<std::jthread> driver_;

public:
  explicit flooded_pool(unsigned workers)
      : pool_(rubato_test::with_workers(workers).spares(0)) {}
  rubato::pool& pool() { return pool_; }
  /// After the first task was queued.
  void drive() {
    if (pool_.size() != 0) return;
    driver_.emplace([this](std::stop_token const& end) {
      while (!end.stop_requested()) static_cast<void>(pool_.wait_idle()); // it is idle now and then
    });
  }
};

class regression_fairness : public testing::TestWithParam<std::tuple<unsigned, source>> {
protected:
  hang_guard guard;
  unsigned const workers = std::get<0>(GetParam());
  source const victim = std::get<1>(GetParam());

  void expect_to_begin_beside(std::vector<source> const& floods, std::chrono::microseconds length = {}) {
    flooded_pool flooded(workers);
    rubato::pool& pool = flooded.pool();
    rubato::task_group group(pool);
    std::vector<std::unique_ptr<flood>> all;
    std::string names;
    for (source const s : floods) {
      all.push_back(std::make_unique<flood>(pool, s, length));
      names += " " + name_of(s);
    }
    flooded.drive();
    for (int round = 0; round != 3; ++round) {
      std::atomic<bool> ran = false;
      queue_one(pool, group, victim, ran);
      EXPECT_TRUE(eventually([&] { return ran.load(); })) << name_of(victim) << " beside" << names;
    }
    all.clear();
    EXPECT_TRUE(pool.wait_idle());
  }
};

TEST_P(regression_fairness, of_any_source_beside_any_other) {
  for (source const s : sources)
    if (s != victim) expect_to_begin_beside({s});
}

class regression_fairness_beside_several : public regression_fairness {};

TEST_P(regression_fairness_beside_several, sources_of_any_other) {
  std::vector<source> others;
  for (source const s : sources)
    if (s != victim) others.push_back(s);
  expect_to_begin_beside(others);
}

// An event, or a task of the injector, is due 200 us after the last one: each boundary, if tasks last longer.
TEST_P(regression_fairness_beside_several, long_tasks_of_two_sources) {
  if (victim == source::events || victim == source::injector) return;
  expect_to_begin_beside({source::events, source::injector}, 250us);
}

std::string name_of_case(testing::TestParamInfo<std::tuple<unsigned, source>> const& of) {
  return std::to_string(std::get<0>(of.param)) + "_" + name_of(std::get<1>(of.param));
}
INSTANTIATE_TEST_SUITE_P(workers, regression_fairness,
                         testing::Combine(testing::Values(0U, 1U, 2U, 33U), testing::ValuesIn(sources)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(workers, regression_fairness_beside_several,
                         testing::Combine(testing::Values(0U, 1U, 2U), testing::ValuesIn(sources)),
                         name_of_case);

} // namespace
