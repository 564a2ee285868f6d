// watch: the last value for any number of receivers, and waits for its changes.
#include "support/async_sync.hpp"
#include "support/with_workers.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace rubato_test;

class watches : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(watches, all_counts);

TEST(watches, hold_the_last_value) {
  rubato::watch<std::string> w("a");
  EXPECT_EQ(w.get(), "a");
  auto r = w.subscribe();
  EXPECT_EQ(r.get(), "a");
  EXPECT_TRUE(w.set("b"));
  EXPECT_EQ(w.get(), "b");
  EXPECT_EQ(r.get(), "b");
}

TEST(watches, changed_is_a_set_since_the_last_look) {
  rubato::pool pool(1);
  rubato::watch<int> w(0);
  w.set(1);
  auto r = w.subscribe(), s = w.subscribe(); // have seen 1
  w.set(2);
  w.set(3);
  EXPECT_TRUE(pool.block_on(r.changed()));
  EXPECT_EQ(r.get(), 3);
  w.set(4);
  EXPECT_EQ(r.get(), 4); // counts as seen
  w.set(5);
  w.close();
  EXPECT_TRUE(pool.block_on(r.changed())) << "what was set before the end is news";
  EXPECT_FALSE(pool.block_on(r.changed()));
  EXPECT_FALSE(pool.block_on(r.changed()));
  EXPECT_TRUE(pool.block_on(s.changed()));
  EXPECT_EQ(s.get(), 5);
  EXPECT_FALSE(pool.block_on(s.changed()));
}

TEST(watches, a_copy_of_a_receiver_has_seen_what_its_original_has) {
  rubato::pool pool(1);
  rubato::watch<int> w(0);
  auto r = w.subscribe();
  w.set(1);
  auto late = r; // has not seen 1
  EXPECT_TRUE(pool.block_on(r.changed()));
  auto early = r;
  w.close();
  EXPECT_TRUE(pool.block_on(late.changed()));
  EXPECT_FALSE(pool.block_on(early.changed()));
}

TEST(watches, that_are_closed_keep_their_value) {
  rubato::watch<int> w(1);
  auto r = w.subscribe();
  EXPECT_FALSE(w.is_closed());
  w.close();
  EXPECT_FALSE(w.set(2));
  EXPECT_TRUE(w.is_closed() && r.is_closed());
  EXPECT_EQ(w.get(), 1);
  EXPECT_EQ(r.get(), 1);
  auto late = w.subscribe();
  EXPECT_EQ(late.get(), 1);
  EXPECT_FALSE(rubato::block_on(late.changed()));
}

TEST(watches, receivers_outlive_them_and_move) {
  leak_check const leaks;
  std::optional<rubato::watch<counted>> w(std::in_place, counted(1));
  auto r = w->subscribe();
  w->set(counted(2));
  auto moved = std::move(r);
  auto assigned = w->subscribe();
  assigned = std::move(moved);
  w.reset();
  EXPECT_TRUE(rubato::block_on(assigned.changed()));
  EXPECT_EQ(assigned.get().value, 2);
  EXPECT_FALSE(rubato::block_on(assigned.changed()));
}

TEST(watches, a_receiver_that_was_moved_from_is_a_misuse) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  rubato::watch<int> w(1);
  auto r = w.subscribe();
  auto const s = std::move(r);
  EXPECT_DEATH(static_cast<void>(r.get()), "moved from"); // NOLINT(bugprone-use-after-move)
}

/// Throws in the copies that it is told to, and uses the watch in its destructor.
struct touchy {
  static inline int copies_left = 1'000;
  static inline rubato::watch<touchy>* used = nullptr;
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

TEST(watches, copies_that_throw_change_nothing) {
  rubato::watch<touchy> w(touchy(1));
  auto r = w.subscribe();
  touchy::used = &w;
  touchy const two(2);
  touchy::copies_left = 0;
  EXPECT_EQ(failure_of([&] { w.set(two); }), 2);
  touchy::copies_left = 1'000;
  EXPECT_EQ(w.get().value, 1);
  EXPECT_TRUE(w.set(two));
  touchy::copies_left = 0;
  EXPECT_EQ(failure_of([&] { return r.get(); }), 2);
  touchy::copies_left = 1'000;
  EXPECT_TRUE(rubato::block_on(r.changed())) << "a value that could not be copied was not seen";
  EXPECT_EQ(r.get().value, 2);
  touchy::used = nullptr;
}

TEST_P(watches, wake_every_receiver_that_waits) {
  rubato::watch<int> w(0);
  std::vector<rubato::future<int>> all;
  auto wait = [](rubato::watch<int>::receiver r) -> rubato::task<int> {
    bool const changed = co_await r.changed();
    EXPECT_TRUE(changed);
    co_return r.get();
  };
  for (int i = 0; i != 20; ++i) all.push_back((i % 5 == 0 ? other : pool).spawn(wait(w.subscribe())));
  let_all_wait(pool);
  let_all_wait(other);
  w.set(7);
  for (auto& f : all) EXPECT_EQ(f.get(), 7);
}

TEST_P(watches, lose_no_change) {
  std::size_t const n = scaled(2'000);
  rubato::watch<std::size_t> w(0);
  auto follow = [](rubato::watch<std::size_t>::receiver r) -> rubato::task<std::size_t> {
    std::size_t last = 0;
    for (;;) {
      bool const more = co_await r.changed();
      if (!more) co_return r.get();
      std::size_t const now = r.get();
      EXPECT_GT(now, last);
      last = now;
    }
  };
  std::vector<rubato::future<std::size_t>> all;
  for (int i = 0; i != 6; ++i) all.push_back((i == 0 ? other : pool).spawn(follow(w.subscribe())));
  auto set = other.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 1; i <= n; ++i) {
      w.set(i);
      if (i % 8 == 0) co_await rubato::yield();
    }
    w.close();
  });
  for (auto& f : all) EXPECT_EQ(f.get(), n);
  set.get();
}

TEST_P(watches, end_waits_when_they_go) {
  auto w = std::make_unique<rubato::watch<int>>(3);
  std::vector<rubato::future<int>> all;
  auto wait = [](rubato::watch<int>::receiver r) -> rubato::task<int> {
    bool const changed = co_await r.changed();
    EXPECT_FALSE(changed);
    co_return r.get();
  };
  for (int i = 0; i != 5; ++i) all.push_back(pool.spawn(wait(w->subscribe())));
  let_all_wait(pool);
  w.reset();
  for (auto& f : all) EXPECT_EQ(f.get(), 3);
}

TEST_P(watches, stops_end_waits_by_value) {
  rubato::watch<int> w(0);
  auto r = w.subscribe();
  auto f = pool.spawn([&]() -> rubato::task<bool> { co_return co_await r.changed(); });
  let_all_wait(pool);
  f.cancel();
  EXPECT_FALSE(f.get());
  w.set(1);
  EXPECT_TRUE(pool.block_on(r.changed()));
}

TEST_P(watches, in_races_a_loser_has_seen_nothing) {
  rubato::watch<int> w(0);
  rubato::channel<int> c(1);
  auto r = w.subscribe();
  auto both = [&](bool beside_a_task) -> rubato::task<bool> {
    if (beside_a_task) {
      auto any = rubato::when_any(c.receive(), rubato::sleep_for(std::chrono::hours(1)), r.changed());
      auto const won = co_await std::move(any);
      co_return won.index == 2;
    }
    auto any = rubato::when_any(c.receive(), r.changed());
    auto const won = co_await std::move(any);
    co_return won.index == 1;
  };
  for (bool const beside_a_task : {false, true})
    for (std::size_t round = 0; round != scaled(200); ++round) {
      auto f = pool.spawn(both(beside_a_task));
      auto g = other.spawn([&]() -> rubato::task<void> {
        static_cast<void>(c.try_send(1));
        w.set(1);
        co_return;
      });
      bool const changed = f.get();
      g.get();
      ASSERT_EQ(c.try_receive().has_value(), changed) << "in round " << round;
      if (!changed) {
        ASSERT_TRUE(pool.block_on(r.changed())) << "in round " << round;
      }
      static_cast<void>(r.get());
    }
}

TEST_P(watches, against_deadlines) {
  rubato::watch<int> w(0);
  auto r = w.subscribe();
  std::atomic<std::size_t> seen{0};
  std::size_t const rounds = scaled(300);
  auto wait = pool.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 0;; ++i) {
      auto limited = rubato::with_deadline(r.changed(), std::chrono::microseconds(i % 50));
      auto const changed = co_await std::move(limited);
      if (changed && !*changed) co_return;
      if (changed) ++seen;
    }
  });
  auto set = other.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 1; i <= rounds; ++i) {
      std::size_t const before = seen;
      w.set(static_cast<int>(i));
      while (seen == before) co_await rubato::yield(); // each change is seen, once
    }
    w.close();
  });
  if (GetParam() == 0) wait.wait(); // its pool needs this thread
  set.get();
  wait.get();
  EXPECT_EQ(seen, rounds);
}

TEST_P(watches, in_a_pool_that_ends) {
  for (bool const drops : {false, true}) {
    leak_check const leaks;
    rubato::watch<counted> w(counted(1));
    std::atomic<int> frames{0};
    auto wait = [&](rubato::watch<counted>::receiver r) -> rubato::task<void> {
      in_frame const here(frames);
      bool const changed = co_await r.changed();
      EXPECT_FALSE(changed);
    };
    {
      rubato::pool ends(with_workers(GetParam()));
      for (int i = 0; i != 5; ++i) ends.spawn(wait(w.subscribe())).detach();
      let_all_wait(ends);
      if (drops)
        ends.shutdown(rubato::discard);
      else
        ends.shutdown();
    }
    EXPECT_EQ(frames, 0);
    EXPECT_TRUE(w.set(counted(2)));
  }
}

} // namespace
