// channel: what goes in comes out, in order, once; which end waits when.
#include "support/async_sync.hpp"

#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace {

using namespace rubato_test;

class channel : public on_workers {};
RUBATO_TEST_WITH_WORKERS(channel, all_counts);

rubato::task<int> send_numbers(rubato::channel<int>& c, int first, int last) {
  int sent = 0;
  for (int i = first; i != last; ++i) {
    bool const accepted = co_await c.send(i);
    if (!accepted) break;
    ++sent;
  }
  co_return sent;
}

rubato::task<std::vector<int>> receive_all(rubato::channel<int>& c) {
  std::vector<int> got;
  for (;;) {
    std::optional<int> const v = co_await c.receive();
    if (!v) co_return got;
    got.push_back(*v);
  }
}

void expect_numbers(std::vector<int> const& got, int first, int last) {
  ASSERT_EQ(got.size(), static_cast<std::size_t>(last - first));
  for (int i = first; i != last; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i - first)], i);
}

TEST_P(channel, keeps_the_order_whatever_its_capacity) {
  int const n = static_cast<int>(scaled(5'000));
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{16},
                                     std::size_t{300}, std::size_t{100'000}, ~std::size_t{0}}) {
    SCOPED_TRACE(capacity);
    rubato::channel<int> c(capacity);
    EXPECT_EQ(c.capacity(), capacity);
    auto receiver = pool.spawn(receive_all(c));
    auto sender = pool.spawn(send_numbers(c, 0, n));
    EXPECT_EQ(sender.get(), n);
    c.close();
    expect_numbers(receiver.get(), 0, n);
  }
}

TEST_P(channel, takes_as_many_as_it_has_room_for) {
  for (int const capacity : {1, 3, 16, 500}) {
    rubato::channel<int> c(static_cast<std::size_t>(capacity));
    auto sender = pool.spawn(send_numbers(c, 0, capacity + 2));
    let_all_wait(pool);
    EXPECT_FALSE(sender.ready());
    EXPECT_FALSE(c.try_send(-1));
    EXPECT_EQ(c.try_receive(), std::optional<int>(0));
    let_all_wait(pool);
    EXPECT_FALSE(c.try_send(-1)) << "overtook a sender that waits";
    EXPECT_EQ(c.try_receive(), std::optional<int>(1));
    EXPECT_EQ(sender.get(), capacity + 2);
    for (int i = 2; i != capacity + 2; ++i) EXPECT_EQ(c.try_receive(), std::optional<int>(i));
    EXPECT_EQ(c.try_receive(), std::nullopt);
    EXPECT_TRUE(c.try_send(7));
    EXPECT_EQ(c.try_receive(), std::optional<int>(7));
  }
}

TEST_P(channel, without_room_a_sender_waits_for_its_receiver) {
  rubato::channel<int> c(0);
  EXPECT_FALSE(c.try_send(1));
  EXPECT_EQ(c.try_receive(), std::nullopt);
  auto sender = pool.spawn(send_numbers(c, 5, 7));
  let_all_wait(pool);
  EXPECT_FALSE(sender.ready());
  EXPECT_EQ(c.try_receive(), std::optional<int>(5));
  let_all_wait(pool);
  EXPECT_FALSE(sender.ready());
  EXPECT_EQ(pool.block_on(c.receive()), std::optional<int>(6));
  EXPECT_EQ(sender.get(), 2);

  auto receiver = pool.spawn(receive_all(c));
  let_all_wait(pool);
  EXPECT_TRUE(c.try_send(8));
  let_all_wait(pool);
  EXPECT_TRUE(c.try_send(9));
  c.close();
  expect_numbers(receiver.get(), 8, 10);
}

rubato::task<> receive_one(rubato::channel<int>& c, std::vector<int>& got, std::size_t receiver) {
  std::optional<int> const v = co_await c.receive();
  got[receiver] = v.value_or(-1);
}

TEST_P(channel, serves_receivers_in_order) {
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{8}}) {
    rubato::channel<int> c(capacity);
    std::vector<int> got(5, -2);
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != 5; ++i) {
      all.push_back(pool.spawn(receive_one(c, got, i)));
      let_all_wait(pool);
    }
    for (int i = 0; i != 4; ++i) EXPECT_TRUE(c.try_send(i));
    c.close();
    get_all(all);
    for (int i = 0; i != 4; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(got[4], -1);
  }
}

TEST_P(channel, serves_senders_in_order) {
  rubato::channel<int> c(0);
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 5; ++i) {
    all.push_back(pool.spawn(send_numbers(c, i, i + 1)));
    let_all_wait(pool);
  }
  for (int i = 0; i != 5; ++i) EXPECT_EQ(c.try_receive(), std::optional<int>(i));
  get_all(all);
}

TEST_P(channel, when_closed_gives_what_it_has_and_then_nothing) {
  rubato::channel<int> c(3);
  EXPECT_FALSE(c.is_closed());
  auto sender = pool.spawn(send_numbers(c, 0, 10));
  let_all_wait(pool);
  c.close();
  EXPECT_TRUE(c.is_closed());
  EXPECT_EQ(sender.get(), 3) << "the one that waited was refused";
  EXPECT_FALSE(c.try_send(1));
  EXPECT_FALSE(pool.block_on(c.send(1)));
  EXPECT_EQ(c.try_receive(), std::optional<int>(0));
  EXPECT_EQ(pool.block_on(c.receive()), std::optional<int>(1));
  expect_numbers(pool.block_on(receive_all(c)), 2, 3);
  EXPECT_EQ(c.try_receive(), std::nullopt);
  EXPECT_EQ(pool.block_on(c.receive()), std::nullopt);
  c.close();
}

TEST_P(channel, when_closed_lets_all_receivers_go) {
  rubato::channel<int> c(3);
  std::vector<rubato::future<std::vector<int>>> all;
  for (int i = 0; i != 20; ++i) all.push_back(pool.spawn(receive_all(c)));
  let_all_wait(pool);
  c.close();
  for (auto& f : all) EXPECT_TRUE(f.get().empty());
}

TEST_P(channel, connects_pools_and_threads) {
  rubato::pool other(1);
  rubato::channel<int> there(4), back(0);
  int const n = static_cast<int>(scaled(2'000));
  std::atomic<int> strayed{0};
  auto forward = [&]() -> rubato::task<> {
    for (;;) {
      std::optional<int> const v = co_await there.receive();
      if (rubato::current_pool() != &other) ++strayed;
      if (!v) break;
      bool const accepted = co_await back.send(*v + 1);
      if (!accepted) ++strayed;
    }
    back.close();
  };
  auto middle = other.spawn(forward());
  auto receiver = pool.spawn(receive_all(back));
  std::jthread const feeds([&] {
    for (int i = 0; i != n;) {
      if (there.try_send(i))
        ++i;
      else
        std::this_thread::yield();
    }
    there.close();
  });
  expect_numbers(receiver.get(), 1, n + 1);
  middle.get();
  EXPECT_EQ(strayed, 0);
}

/// The receiver of the value destroys the channel: the sender must be out of it.
TEST_P(channel, may_be_destroyed_by_the_receiver_of_the_last_value) {
  std::size_t const rounds = scaled(3'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto c = std::make_unique<rubato::channel<int>>(i % 2);
    rubato::channel<int>& shared = *c;
    auto ends = [](std::unique_ptr<rubato::channel<int>> mine) -> rubato::task<int> {
      std::optional<int> const v = co_await mine->receive();
      mine.reset();
      co_return v.value_or(-1);
    };
    auto f = pool.spawn(ends(std::move(c)));
    let_all_wait(pool);
    ASSERT_TRUE(shared.try_send(7));
    ASSERT_EQ(f.get(), 7);
  }
}

} // namespace
