// Several operations at once, of which one takes effect: when_any() of receives, sends, locks and permits.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using channel = rubato::channel<std::size_t>;

class races : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(races, all_counts);

/// Each number once.
struct tally_of_values {
  std::unique_ptr<std::atomic<int>[]> seen;
  std::size_t const count;
  explicit tally_of_values(std::size_t n)
      : seen(std::make_unique<std::atomic<int>[]>(n))
      , count(n) {}
  void note(std::size_t v) { ++seen[v]; }
  void expect_each_once() const {
    for (std::size_t i = 0; i != count; ++i) ASSERT_EQ(seen[i], 1) << "value " << i;
  }
};

rubato::task<void> send_all(channel& to, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i != last; ++i) {
    bool const accepted = co_await to.send(i);
    EXPECT_TRUE(accepted);
  }
}
/// Receives from whichever has a value, until both are closed and empty.
rubato::task<void> receive_all(channel& a, channel& b, tally_of_values& all, bool beside_a_task) {
  bool open[2] = {true, true};
  while (open[0] && open[1]) {
    std::size_t index = 0;
    std::optional<std::size_t> v;
    if (beside_a_task) {
      auto any = rubato::when_any(a.receive(), rubato::sleep_for(std::chrono::hours(1)), b.receive());
      auto r = co_await std::move(any);
      index = r.index / 2;
      v = r.index == 0 ? std::get<0>(r.value) : std::get<2>(r.value);
    } else {
      auto any = rubato::when_any(a.receive(), b.receive());
      auto r = co_await std::move(any);
      index = r.index;
      v = r.index == 0 ? std::get<0>(r.value) : std::get<1>(r.value);
    }
    if (v)
      all.note(*v);
    else
      open[index] = false;
  }
  channel& left = open[0] ? a : b;
  for (;;) {
    auto const v = co_await left.receive();
    if (!v) co_return;
    all.note(*v);
  }
}

/// The name of a template of the library's was that of an algorithm of std.
TEST_P(races, regression_three_tasks_of_strings_race) {
  auto const word = [](std::string w) -> rubato::task<std::string> { co_return w; };
  auto const race = [&]() -> rubato::task<std::size_t> {
    auto any = rubato::when_any(word("a"), word("b"), word("c"));
    auto const r = co_await std::move(any);
    co_return std::visit([](auto const& w) { return w.size(); }, r.value);
  };
  EXPECT_EQ(pool.spawn(race()).get(), 1u);
}

TEST_P(races, regression_a_losing_receive_takes_no_value) {
  for (bool const beside_a_task : {false, true})
    for (std::size_t const capacity : {0U, 1U, 8U}) {
      std::size_t const n = scaled(beside_a_task ? 500 : 3'000);
      channel a(capacity);
      channel b(capacity);
      tally_of_values all(4 * n);
      std::vector<rubato::future<void>> receivers;
      for (int i = 0; i != 3; ++i)
        receivers.push_back((i == 0 ? other : pool).spawn(receive_all(a, b, all, beside_a_task)));
      std::vector<rubato::future<void>> senders;
      for (std::size_t i = 0; i != 4; ++i)
        senders.push_back((i == 3 ? other : pool).spawn(send_all(i % 2 == 0 ? a : b, i * n, (i + 1) * n)));
      for (auto& s : senders) s.get();
      a.close();
      b.close();
      for (auto& r : receivers) r.get();
      all.expect_each_once();
    }
}

TEST_P(races, of_sends_deliver_one_value) {
  for (std::size_t const capacity : {0U, 1U, 8U}) {
    std::size_t const n = scaled(2'000);
    channel a(capacity);
    channel b(capacity);
    tally_of_values all(2 * n);
    auto const send_somewhere = [&](std::size_t first) -> rubato::task<void> {
      for (std::size_t i = first; i != first + n; ++i) {
        auto any = rubato::when_any(a.send(i), b.send(i));
        auto const r = co_await std::move(any);
        EXPECT_TRUE(r.index == 0 ? std::get<0>(r.value) : std::get<1>(r.value));
      }
    };
    auto const receive = [&](channel& from) -> rubato::task<void> {
      for (;;) {
        auto const v = co_await from.receive();
        if (!v) co_return;
        all.note(*v);
      }
    };
    auto ra = pool.spawn(receive(a));
    auto rb = other.spawn(receive(b));
    auto s1 = pool.spawn(send_somewhere(0));
    auto s2 = other.spawn(send_somewhere(n));
    s1.get();
    s2.get();
    a.close();
    b.close();
    ra.get();
    rb.get();
    all.expect_each_once();
  }
}

TEST_P(races, that_meet_each_other_exchange_one_value) {
  // Each pair of two races could meet on both channels, in opposite roles.
  std::size_t const n = scaled(2'000);
  channel a(0);
  channel b(0);
  std::atomic<std::size_t> sent{0};
  std::atomic<std::size_t> received{0};
  std::atomic<std::size_t> done{0};
  auto const party = [&](bool first, std::size_t times) -> rubato::task<void> {
    for (std::size_t i = 0; i != times; ++i) {
      channel& to = first ? a : b;
      channel& from = first ? b : a;
      auto any = rubato::when_any(to.send(i), from.receive());
      auto const r = co_await std::move(any);
      bool const ended = r.index == 0 ? !std::get<0>(r.value) : !std::get<1>(r.value).has_value();
      if (ended) break; // the others have left
      ++(r.index == 0 ? sent : received);
    }
    if (++done == 2) a.close(), b.close(); // those that are left find no partner for ever
  };
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != 6; ++i) all.push_back((i < 4 ? pool : other).spawn(party(i % 2 == 0, n)));
  for (auto& f : all) f.get();
  EXPECT_EQ(sent, received);
}

TEST_P(races, do_not_meet_themselves) {
  for (std::size_t const capacity : {0U, 1U}) {
    channel c(capacity);
    auto const both = [&](std::size_t v) -> rubato::task<std::size_t> {
      auto any = rubato::when_any(c.receive(), c.send(v));
      auto const r = co_await std::move(any);
      co_return r.index;
    };
    if (capacity == 0) {
      auto f = pool.spawn(both(1));
      auto g = pool.spawn([&]() -> rubato::task<std::size_t> {
        auto const v = co_await c.receive();
        co_return v.value_or(9);
      });
      EXPECT_EQ(g.get(), 1U);
      EXPECT_EQ(f.get(), 1U);
      auto h = pool.spawn(both(2));
      EXPECT_TRUE(pool.block_on(c.send(7)));
      EXPECT_EQ(h.get(), 0U);
      auto x = pool.spawn(both(3));
      auto y = other.spawn(both(4));
      EXPECT_EQ(x.get() + y.get(), 1U); // one has sent, one has received
    } else {
      EXPECT_EQ(pool.block_on(both(1)), 1U); // there is room
      EXPECT_EQ(pool.block_on(both(2)), 0U); // there is a value
    }
    EXPECT_FALSE(c.try_receive());
  }
}

TEST_P(races, of_members_on_one_channel) {
  channel c(0);
  tally_of_values all(scaled(1'000));
  auto const receive_twice = [&]() -> rubato::task<void> {
    for (;;) {
      auto any = rubato::when_any(c.receive(), c.receive(), c.receive());
      auto const r = co_await std::move(any);
      auto const v = std::visit([](auto const& x) { return x; }, r.value);
      if (!v) co_return;
      all.note(*v);
    }
  };
  auto f = pool.spawn(receive_twice());
  auto g = other.spawn(receive_twice());
  pool.block_on(send_all(c, 0, all.count));
  c.close();
  f.get();
  g.get();
  all.expect_each_once();
}

TEST_P(races, in_a_range) {
  constexpr std::size_t channels = 4;
  std::size_t const n = scaled(1'000);
  std::vector<std::unique_ptr<channel>> all_channels;
  for (std::size_t i = 0; i != channels; ++i) all_channels.push_back(std::make_unique<channel>(i));
  tally_of_values all(channels * n);
  auto const receive = [&](std::size_t times) -> rubato::task<void> {
    for (std::size_t i = 0; i != times; ++i) {
      std::vector<decltype(all_channels[0]->receive())> steps;
      for (auto& c : all_channels) steps.push_back(c->receive());
      auto const r = co_await rubato::when_any(std::move(steps));
      EXPECT_LT(r.index, channels);
      if (r.value) all.note(*r.value);
    }
  };
  std::vector<rubato::future<void>> futures;
  for (std::size_t i = 0; i != channels; ++i)
    futures.push_back(pool.spawn(send_all(*all_channels[i], i * n, (i + 1) * n)));
  futures.push_back(pool.spawn(receive(2 * n)));
  futures.push_back(other.spawn(receive(2 * n)));
  for (auto& f : futures) f.get();
  all.expect_each_once();
  std::vector<decltype(all_channels[0]->receive())> none;
  EXPECT_THROW(static_cast<void>(rubato::when_any(std::move(none))), std::invalid_argument);
}

TEST_P(races, end_when_a_channel_is_closed) {
  std::size_t const rounds = scaled(500);
  for (std::size_t i = 0; i != rounds; ++i) {
    channel a(0);
    channel b(0);
    auto const any_of_both = [&]() -> rubato::task<std::size_t> {
      auto any = rubato::when_any(a.receive(), b.send(1), b.receive());
      auto const r = co_await std::move(any);
      co_return r.index;
    };
    auto f = pool.spawn(any_of_both());
    auto g = other.spawn([&]() -> rubato::task<void> {
      a.close();
      co_return;
    });
    EXPECT_EQ(f.get(), 0U);
    g.get();
    b.close();
  }
}

TEST_P(races, that_are_stopped_take_no_value) {
  std::size_t const rounds = scaled(1'000);
  channel a(0);
  channel b(1);
  tally_of_values all(rounds);
  auto const receive_one = [&](bool beside_a_task) -> rubato::task<void> {
    std::optional<std::size_t> v;
    if (beside_a_task) {
      auto any = rubato::when_any(a.receive(), b.receive(), rubato::sleep_for(std::chrono::hours(1)));
      auto const r = co_await std::move(any);
      v = r.index == 0 ? std::get<0>(r.value) : std::get<1>(r.value);
    } else {
      auto any = rubato::when_any(a.receive(), b.receive());
      auto const r = co_await std::move(any);
      v = r.index == 0 ? std::get<0>(r.value) : std::get<1>(r.value);
    }
    if (v) all.note(*v);
  };
  auto sender = other.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) co_await (i % 2 == 0 ? a : b).send(i);
    a.close();
    b.close();
  });
  for (std::size_t i = 0; !sender.ready(); ++i) {
    auto f = pool.spawn(receive_one(i % 4 == 3));
    if (i % 8 != 0) f.wait_for(std::chrono::microseconds(i % 7));
    if (i % 16 == 0)
      f = {};
    else if (i % 8 != 7) // which takes one, however slow the machine is
      f.cancel();
    if (f.valid()) f.wait();
  }
  sender.get();
  for (channel* const c : {&a, &b})
    while (auto const v = c->try_receive()) all.note(*v);
  EXPECT_TRUE(pool.wait_idle());
  all.expect_each_once();
}

TEST_P(races, against_deadlines_lose_no_value) {
  std::size_t const rounds = scaled(1'000);
  channel a(0);
  channel b(1);
  tally_of_values all(rounds);
  std::atomic<bool> over{false};
  auto const receive = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; !over; ++i) {
      auto const limit = std::chrono::microseconds(i % 50);
      if (i % 2 == 0) {
        auto limited = rubato::with_deadline(a.receive(), limit);
        auto const v = co_await std::move(limited);
        if (v && *v) all.note(**v);
      } else {
        auto limited = rubato::with_deadline(rubato::when_any(a.receive(), b.receive()), limit);
        auto const r = co_await std::move(limited);
        if (!r) continue;
        auto const v = r->index == 0 ? std::get<0>(r->value) : std::get<1>(r->value);
        if (v) all.note(*v);
      }
    }
  };
  auto f = pool.spawn(receive());
  auto g = other.spawn(receive());
  auto sender = other.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) co_await (i % 3 != 0 ? a : b).send(i);
  });
  if (pool.size() == 0) f.wait_for(std::chrono::milliseconds(0));
  sender.get();
  over = true;
  a.close();
  if (pool.size() != 0) f.wait();
  g.get();
  f = {};
  EXPECT_TRUE(pool.wait_idle());
  while (auto const v = b.try_receive()) all.note(*v);
  all.expect_each_once();
}

TEST_P(races, for_locks_get_one) {
  std::size_t const rounds = scaled(1'000);
  rubato::async_mutex m;
  rubato::async_mutex n;
  rubato::async_semaphore permits(2);
  int guarded[2] = {0, 0};
  std::atomic<std::size_t> acquired{0};
  auto const both = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      auto any = rubato::when_any(m.scoped_lock(), n.scoped_lock());
      auto r = co_await std::move(any);
      ++guarded[r.index];
      if (i % 3 == 0) co_await rubato::yield();
    }
  };
  auto const one = [&](rubato::async_mutex& which, int index) -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      auto const lock = co_await which.scoped_lock();
      ++guarded[index];
      if (i % 5 == 0) co_await rubato::yield();
    }
  };
  auto const mixed = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      auto any = rubato::when_any(permits.acquire(), m.scoped_lock(), permits.acquire());
      auto const r = co_await std::move(any);
      if (r.index == 1) {
        ++guarded[0];
      } else {
        ++acquired;
        co_await rubato::yield();
        permits.release();
      }
    }
  };
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 2; ++i) {
    rubato::pool& p = i == 0 ? pool : other;
    all.push_back(p.spawn(both()));
    all.push_back(p.spawn(one(m, 0)));
    all.push_back(p.spawn(one(n, 1)));
    all.push_back(p.spawn(mixed()));
  }
  for (auto& f : all) f.get();
  EXPECT_EQ(static_cast<std::size_t>(guarded[0] + guarded[1]) + acquired, 8 * rounds);
  EXPECT_TRUE(m.try_acquire());
  EXPECT_TRUE(n.try_acquire());
  EXPECT_TRUE(permits.try_acquire() && permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire());
}

TEST(races, of_a_stopped_task_are_cancelled_and_take_nothing) {
  hang_guard const guard;
  rubato::pool other(1);
  channel c(1);
  rubato::async_mutex m;
  EXPECT_TRUE(m.try_acquire());
  auto f = other.spawn([&]() -> rubato::task<void> {
    auto any = rubato::when_any(c.receive(), m.acquire());
    co_await std::move(any);
  });
  f.wait_for(std::chrono::milliseconds(1));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  m.release();
  EXPECT_TRUE(c.try_send(1));
  EXPECT_TRUE(m.try_acquire());
  EXPECT_EQ(c.try_receive(), 1U);
}

TEST(races, in_a_pool_that_ends_leave_nothing) {
  hang_guard const guard;
  channel c(0);
  rubato::async_mutex m;
  EXPECT_TRUE(m.try_acquire());
  {
    rubato::pool ends(2);
    std::vector<rubato::future<void>> kept;
    for (int i = 0; i != 20; ++i)
      kept.push_back(ends.spawn([&]() -> rubato::task<void> {
        auto any = rubato::when_any(c.receive(), m.acquire(), c.receive());
        co_await std::move(any);
      }));
    ends.request_shutdown(rubato::discard);
  }
  EXPECT_FALSE(c.try_send(1)); // no receiver is left
  m.release();
  EXPECT_TRUE(m.try_acquire());
}

} // namespace
