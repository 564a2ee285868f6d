// broadcast_channel: each value for each receiver, without waiting for those that are late.
#include "support/async_sync.hpp"
#include "support/with_workers.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace {

using namespace rubato_test;

class broadcasts : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(broadcasts, all_counts);

using channel = rubato::broadcast_channel<int>;

TEST(broadcasts, send_tells_the_number_of_receivers) {
  channel c(2);
  EXPECT_EQ(c.capacity(), 2U);
  EXPECT_EQ(c.send(1), 0U);
  {
    auto a = c.subscribe();
    EXPECT_EQ(c.send(2), 1U);
    auto b = c.subscribe();
    EXPECT_EQ(c.send(3), 2U);
    EXPECT_EQ(a.try_receive(), 2);
    EXPECT_EQ(a.try_receive(), 3);
    EXPECT_EQ(a.try_receive(), std::nullopt);
    EXPECT_EQ(b.try_receive(), 3) << "what was sent before it came is not for it";
    EXPECT_EQ(b.try_receive(), std::nullopt);
    c.close();
    EXPECT_EQ(c.send(4), 0U);
    EXPECT_TRUE(c.is_closed() && a.is_closed());
  }
  EXPECT_THROW(channel(0), std::invalid_argument);
}

TEST(broadcasts, the_oldest_is_dropped_and_counted) {
  channel c(3);
  auto a = c.subscribe(), b = c.subscribe();
  for (int i = 0; i != 5; ++i) c.send(i);
  EXPECT_EQ(a.lagged(), 2U);
  EXPECT_EQ(a.lagged(), 0U);
  EXPECT_EQ(a.try_receive(), 2);
  c.send(5);
  c.send(6);
  EXPECT_EQ(a.try_receive(), 4);
  EXPECT_EQ(a.lagged(), 1U);
  EXPECT_EQ(b.try_receive(), 4);
  EXPECT_EQ(b.lagged(), 4U);
  for (int i = 5; i != 7; ++i) EXPECT_EQ(b.try_receive(), i);
  EXPECT_EQ(b.lagged(), 0U);
}

TEST(broadcasts, that_are_closed_pass_on_what_they_hold) {
  rubato::pool pool(1);
  auto c = std::make_unique<channel>(4);
  auto a = c->subscribe();
  c->send(1);
  c->send(2);
  auto b = c->subscribe();
  c.reset();
  EXPECT_EQ(pool.block_on(a.receive()), 1);
  auto moved = std::move(a);
  EXPECT_EQ(pool.block_on(moved.receive()), 2);
  EXPECT_EQ(pool.block_on(moved.receive()), std::nullopt);
  EXPECT_EQ(pool.block_on(b.receive()), std::nullopt);
  b = std::move(moved);
  EXPECT_EQ(pool.block_on(b.receive()), std::nullopt);
}

TEST(broadcasts, values_go_when_their_last_receiver_has_them) {
  leak_check const leaks;
  int const before = counted::live();
  rubato::broadcast_channel<counted> c(4);
  auto a = c.subscribe();
  std::optional<rubato::broadcast_channel<counted>::receiver> b = c.subscribe();
  for (int i = 0; i != 3; ++i) c.send(counted(i));
  EXPECT_EQ(counted::live(), before + 3);
  EXPECT_EQ(a.try_receive()->value, 0);
  EXPECT_EQ(counted::live(), before + 3);
  EXPECT_EQ(b->try_receive()->value, 0);
  EXPECT_EQ(counted::live(), before + 2);
  EXPECT_EQ(a.try_receive()->value, 1);
  b.reset(); // overlooks what it has not received
  EXPECT_EQ(counted::live(), before + 1);
  EXPECT_EQ(a.try_receive()->value, 2);
  EXPECT_EQ(counted::live(), before);
  c.send(counted(3));
  auto d = c.subscribe();
  d = c.subscribe();
  EXPECT_EQ(c.send(counted(4)), 2U);
  for (int i = 0; i != 9; ++i) c.send(counted(i));
  EXPECT_EQ(counted::live(), before + 4);
}

/// Throws in the copies that it is told to, and uses the channel in its destructor.
struct touchy {
  static inline int copies_left = 1'000;
  static inline rubato::broadcast_channel<touchy>* used = nullptr;
  int value;
  explicit touchy(int v)
      : value(v) {}
  touchy(touchy const& t)
      : value(t.value) {
    if (copies_left-- == 0) throw failure(value);
  }
  touchy& operator=(touchy const&) = delete;
  ~touchy() {
    if (used != nullptr) static_cast<void>(used->is_closed());
  }
};

TEST(broadcasts, copies_that_throw) {
  rubato::broadcast_channel<touchy> c(2);
  auto a = c.subscribe(), b = c.subscribe();
  touchy::used = &c;
  touchy const one(1), two(2);
  touchy::copies_left = 0;
  EXPECT_EQ(failure_of([&] { c.send(one); }), 1);
  touchy::copies_left = 1'000;
  EXPECT_FALSE(a.try_receive()) << "a send that throws has sent nothing";
  c.send(one);
  c.send(two);
  touchy::copies_left = 0;
  EXPECT_EQ(failure_of([&] { return a.try_receive(); }), 1);
  touchy::copies_left = 1'000;
  EXPECT_EQ(a.try_receive()->value, 2); // the first is lost for a alone
  EXPECT_EQ(b.try_receive()->value, 1);
  EXPECT_EQ(b.try_receive()->value, 2);
  EXPECT_EQ(a.lagged(), 0U);
  touchy::used = nullptr;
}

struct over_aligned_value : over_aligned {
  explicit over_aligned_value(int v) { value = v; }
};
TEST(broadcasts, over_aligned_values) {
  rubato::broadcast_channel<over_aligned_value> c(2);
  auto a = c.subscribe();
  c.send(over_aligned_value(3));
  auto const v = a.try_receive();
  ASSERT_TRUE(v);
  EXPECT_TRUE(is_aligned(*v));
  EXPECT_EQ(v->value, 3);
  rubato::watch<over_aligned_value> w(over_aligned_value(4));
  EXPECT_EQ(w.get().value, 4);
}

TEST_P(broadcasts, all_receivers_get_all_in_the_same_order) {
  std::size_t const n = scaled(1'000);
  rubato::broadcast_channel<std::size_t> c(2 * n); // none is lost
  auto receive =
      [](rubato::broadcast_channel<std::size_t>::receiver r) -> rubato::task<std::vector<std::size_t>> {
    std::vector<std::size_t> got;
    for (auto v = co_await r.receive(); v; v = co_await r.receive()) got.push_back(*v);
    EXPECT_EQ(r.lagged(), 0U);
    co_return got;
  };
  std::vector<rubato::future<std::vector<std::size_t>>> all;
  for (int i = 0; i != 5; ++i) all.push_back((i == 0 ? other : pool).spawn(receive(c.subscribe())));
  auto send = [&](std::size_t first) -> rubato::task<void> {
    for (std::size_t i = first; i != first + n; ++i) {
      c.send(i);
      if (i % 16 == 0) co_await rubato::yield();
    }
  };
  auto s = pool.spawn(send(0)), t = other.spawn(send(n));
  s.get();
  t.get();
  c.close();
  auto const first = all[0].get();
  EXPECT_EQ(first.size(), 2 * n);
  std::size_t next[2] = {0, n};
  for (std::size_t const v : first) EXPECT_EQ(v, next[v < n ? 0 : 1]++);
  for (std::size_t i = 1; i != all.size(); ++i) EXPECT_EQ(all[i].get(), first);
}

TEST_P(broadcasts, late_receivers_account_for_every_value) {
  leak_check const leaks;
  std::size_t const n = scaled(3'000);
  rubato::broadcast_channel<counted> c(4);
  auto receive = [](rubato::broadcast_channel<counted>::receiver r, int pause) -> rubato::task<std::size_t> {
    std::size_t accounted = 0;
    int last = -1;
    for (int i = 0;; ++i) {
      auto const v = co_await r.receive();
      accounted += r.lagged();
      if (!v) co_return accounted;
      EXPECT_GT(v->value, last);
      last = v->value;
      ++accounted;
      if (pause != 0 && i % pause == 0) co_await rubato::yield();
    }
  };
  std::vector<rubato::future<std::size_t>> all;
  for (int i = 0; i != 5; ++i) all.push_back((i == 0 ? other : pool).spawn(receive(c.subscribe(), i)));
  auto send = other.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != n; ++i) {
      c.send(counted(static_cast<int>(i)));
      if (i % 32 == 0) co_await rubato::yield();
    }
    c.close();
  });
  // Receivers come and go meanwhile.
  for (int i = 0; i != 50; ++i) {
    auto passing = c.subscribe();
    static_cast<void>(passing.try_receive());
  }
  for (auto& f : all) EXPECT_EQ(f.get(), n);
  send.get();
}

TEST_P(broadcasts, stops_end_waits_by_value_and_lose_none) {
  channel c(4);
  auto r = c.subscribe();
  auto f = pool.spawn([&]() -> rubato::task<std::optional<int>> { co_return co_await r.receive(); });
  let_all_wait(pool);
  f.cancel();
  EXPECT_EQ(f.get(), std::nullopt);
  c.send(1);
  EXPECT_EQ(r.try_receive(), 1);
}

TEST_P(broadcasts, in_races_a_loser_takes_nothing) {
  std::size_t const n = scaled(500);
  rubato::broadcast_channel<std::size_t> c(n + 1), d(n + 1);
  auto r = c.subscribe(), s = d.subscribe();
  auto receive = [&](bool beside_a_task) -> rubato::task<std::size_t> {
    std::size_t next[2] = {0, 0};
    bool open[2] = {true, true};
    while (open[0] && open[1]) {
      std::size_t index = 0;
      std::optional<std::size_t> v;
      if (beside_a_task) {
        auto any = rubato::when_any(r.receive(), s.receive(), rubato::sleep_for(std::chrono::hours(1)));
        auto const won = co_await std::move(any);
        index = won.index;
        v = won.index == 0 ? std::get<0>(won.value) : std::get<1>(won.value);
      } else {
        auto any = rubato::when_any(r.receive(), s.receive());
        auto const won = co_await std::move(any);
        index = won.index;
        v = won.index == 0 ? std::get<0>(won.value) : std::get<1>(won.value);
      }
      if (v)
        EXPECT_EQ(*v, next[index]++);
      else
        open[index] = false;
    }
    auto& rest = open[0] ? r : s;
    std::size_t& count = next[open[0] ? 0 : 1];
    for (auto v = co_await rest.receive(); v; v = co_await rest.receive()) EXPECT_EQ(*v, count++);
    co_return next[0] + next[1];
  };
  auto send = [n](rubato::broadcast_channel<std::size_t>& to) -> rubato::task<void> {
    for (std::size_t i = 0; i != n; ++i) {
      to.send(i);
      if (i % 4 == 0) co_await rubato::yield();
    }
    to.close();
  };
  auto f = pool.spawn(receive(GetParam() % 2 == 0));
  auto a = pool.spawn(send(c)), b = other.spawn(send(d));
  a.get();
  b.get();
  EXPECT_EQ(f.get(), 2 * n);
}

TEST_P(broadcasts, in_a_select_beside_a_channel) {
  channel events(8);
  rubato::channel<int> jobs(1);
  auto r = events.subscribe();
  auto f = pool.spawn([&]() -> rubato::task<int> {
    int sum = 0;
    bool more = true;
    while (more)
      co_await rubato::select(jobs.receiving([&](std::optional<int> j) { sum += j.value_or(0); }),
                              r.receiving([&](std::optional<int> e) {
                                more = e.has_value();
                                sum += 100 * e.value_or(0);
                              }));
    co_return sum;
  });
  EXPECT_TRUE(pool.block_on(jobs.send(1)));
  EXPECT_EQ(events.send(2), 1U);
  EXPECT_TRUE(pool.block_on(jobs.send(3)));
  while (jobs.try_send(0) == false) std::this_thread::yield(); // 3 was taken
  events.close();
  EXPECT_EQ(f.get() / 100, 2);
}

TEST_P(broadcasts, against_deadlines_lose_none) {
  std::size_t const n = scaled(300);
  rubato::broadcast_channel<std::size_t> c(n + 1);
  auto r = c.subscribe();
  auto receive = other.spawn([&]() -> rubato::task<std::size_t> {
    std::size_t next = 0;
    for (std::size_t i = 0;; ++i) {
      auto limited = rubato::with_deadline(r.receive(), std::chrono::microseconds(i % 40));
      auto const v = co_await std::move(limited);
      if (!v) continue;
      if (!*v) co_return next;
      EXPECT_EQ(**v, next++);
    }
  });
  auto send = pool.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != n; ++i) {
      c.send(i);
      if (i % 4 == 0) co_await rubato::sleep_for(std::chrono::microseconds(20));
    }
    c.close();
  });
  send.get();
  EXPECT_EQ(receive.get(), n);
}

TEST_P(broadcasts, in_a_pool_that_ends) {
  for (bool const drops : {false, true}) {
    leak_check const leaks;
    rubato::broadcast_channel<counted> c(2);
    std::atomic<int> frames{0};
    auto wait = [&](rubato::broadcast_channel<counted>::receiver r) -> rubato::task<void> {
      in_frame const here(frames);
      auto const v = co_await r.receive();
      EXPECT_FALSE(v);
    };
    {
      rubato::pool ends(with_workers(GetParam()));
      for (int i = 0; i != 5; ++i) ends.spawn(wait(c.subscribe())).detach();
      let_all_wait(ends);
      if (drops)
        ends.shutdown(rubato::discard);
      else
        ends.shutdown();
    }
    EXPECT_EQ(frames, 0);
    EXPECT_EQ(c.send(counted(1)), 0U);
  }
}

} // namespace
