// channel: values that are awkward to move, and what becomes of those that are refused.
#include "async_sync/support.hpp"
#include "support/values.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

namespace {

using namespace async_sync_test;
using rubato_test::counted;
using rubato_test::leak_check;
using rubato_test::move_only;
using rubato_test::only_constructible;

class channel_values : public on_workers {};
RUBATO_TEST_WITH_WORKERS(channel_values, all_counts);

TEST_P(channel_values, refused_ones_stay_where_they_were) {
  rubato::channel<std::unique_ptr<int>> c(1);
  auto value = std::make_unique<int>(1);
  EXPECT_TRUE(c.try_send(std::move(value)));
  EXPECT_EQ(value, nullptr); // NOLINT(bugprone-use-after-move)
  value = std::make_unique<int>(2);
  EXPECT_FALSE(c.try_send(std::move(value)));
  EXPECT_NE(value, nullptr) << "moved from, though there was no room"; // NOLINT(bugprone-use-after-move)

  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(value)); };
  auto waits = pool.spawn(send());
  let_all_wait(pool);
  waits.cancel();
  EXPECT_FALSE(waits.get());
  EXPECT_NE(value, nullptr) << "moved from, though the wait was stopped";

  waits = pool.spawn(send());
  let_all_wait(pool);
  c.close();
  EXPECT_FALSE(waits.get());
  EXPECT_NE(value, nullptr) << "moved from, though the channel was closed";
  EXPECT_FALSE(pool.block_on(send()));
  EXPECT_FALSE(c.try_send(std::move(value)));
  EXPECT_NE(value, nullptr);
}

TEST_P(channel_values, lvalues_are_copied) {
  leak_check const leaks;
  rubato::channel<counted> c(2);
  counted value(5);
  EXPECT_TRUE(c.try_send(value));
  EXPECT_TRUE(pool.block_on(c.send(value)));
  EXPECT_EQ(value.value, 5);
  EXPECT_FALSE(c.try_send(value));
  EXPECT_EQ(c.try_receive()->value, 5);
  EXPECT_EQ(pool.block_on(c.receive())->value, 5);
}

TEST_P(channel_values, temporaries_last_as_long_as_the_wait) {
  rubato::channel<std::string> c(0);
  auto send = [&]() -> rubato::task<int> {
    int sent = 0;
    for (int i = 0; i != 20; ++i) {
      bool const by_name = co_await c.send(std::string(40, 'a') + std::to_string(i));
      bool const converted = co_await c.send("a literal that is much too long to be stored in place");
      sent += int{by_name} + int{converted};
    }
    co_return sent;
  };
  auto sender = pool.spawn(send());
  for (int i = 0; i != 20; ++i) {
    EXPECT_EQ(pool.block_on(c.receive()), std::string(40, 'a') + std::to_string(i));
    EXPECT_EQ(pool.block_on(c.receive()), "a literal that is much too long to be stored in place");
  }
  EXPECT_EQ(sender.get(), 40);
}

template<class T, class Make>
void goes_through(rubato::pool& pool, Make make) {
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    rubato::channel<T> c(capacity);
    auto receive = [&]() -> rubato::task<int> {
      int sum = 0;
      for (;;) {
        std::optional<T> const v = co_await c.receive();
        if (!v) co_return sum;
        sum += v->value;
      }
    };
    auto send = [&]() -> rubato::task<> {
      for (int i = 0; i != 10; ++i) {
        T v = make(i);
        bool const accepted = co_await c.send(std::move(v));
        EXPECT_TRUE(accepted);
      }
      c.close();
    };
    auto sum = pool.spawn(receive());
    pool.block_on(send());
    EXPECT_EQ(sum.get(), 45);
  }
}

TEST_P(channel_values, need_only_be_movable) {
  leak_check const leaks;
  goes_through<move_only>(pool, [](int i) { return move_only(i); });
  goes_through<only_constructible>(pool, [](int i) { return only_constructible(i); });
  goes_through<counted>(pool, [](int i) { return counted(i); });
}

TEST_P(channel_values, may_be_references) {
  static_assert(std::is_same_v<decltype(std::declval<rubato::channel<int&>>().try_receive()),
                               std::optional<std::reference_wrapper<int>>>);
  rubato::channel<int&> c(1);
  int value = 1;
  EXPECT_TRUE(c.try_send(value));
  c.try_receive()->get() = 2;
  EXPECT_EQ(value, 2);
  auto send = [&]() -> rubato::task<> {
    for (int i = 0; i != 3; ++i) {
      bool const accepted = co_await c.send(value);
      EXPECT_TRUE(accepted);
    }
  };
  auto sender = pool.spawn(send());
  for (int i = 0; i != 3; ++i) ++pool.block_on(c.receive())->get();
  sender.get();
  EXPECT_EQ(value, 5);
}

TEST_P(channel_values, may_be_nothing) {
  rubato::channel<void> c(1);
  EXPECT_TRUE(c.try_send());
  EXPECT_FALSE(c.try_send());
  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(); };
  auto sender = pool.spawn(send());
  let_all_wait(pool);
  EXPECT_EQ(c.try_receive(), std::optional<std::monostate>(std::monostate()));
  EXPECT_TRUE(sender.get());
  EXPECT_TRUE(pool.block_on(c.receive()).has_value());
  c.close();
  EXPECT_FALSE(pool.block_on(c.receive()).has_value());
}

struct alignas(128) wide { // never in a coroutine
  int value;
  explicit wide(int v)
      : value(v) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 128, 0U);
  }
  wide(wide&& other) noexcept
      : wide(other.value) {}
};

TEST_P(channel_values, keep_their_alignment) { // outside coroutines: g++ 12 misaligns what is in frames
  rubato::channel<wide> c(20);
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != 20; ++i) EXPECT_TRUE(c.try_send(wide(i)));
    for (int i = 0; i != 20; ++i) EXPECT_EQ(c.try_receive()->value, i);
  }
}

/// Its moves throw when told to, before they have changed anything.
class fragile : public counted {
public:
  inline static std::atomic<int> moves_left{-1}; // -1: any number; then one throws
  using counted::counted;
  fragile(fragile const&) = delete;
  fragile(fragile&& other)
      : counted(checked(std::move(other))) {}
  fragile& operator=(fragile const&) = delete;
  fragile& operator=(fragile&&) = delete;
  ~fragile() = default;

private:
  static counted checked(counted&& other) {
    if (moves_left != -1 && moves_left-- == 0) {
      moves_left = -1;
      throw std::runtime_error("a move that throws");
    }
    return std::move(other);
  }
};

TEST_P(channel_values, that_cannot_be_moved_stay_where_they_are) {
  leak_check const leaks;
  rubato::channel<fragile> c(1);
  fragile a(1), b(2);

  fragile::moves_left = 0; // into the buffer
  EXPECT_THROW(static_cast<void>(c.try_send(std::move(a))), std::runtime_error);
  EXPECT_EQ(a.value, 1);
  EXPECT_FALSE(c.try_receive());

  EXPECT_TRUE(c.try_send(std::move(a)));
  fragile::moves_left = 0; // out of it
  EXPECT_THROW(static_cast<void>(c.try_receive()), std::runtime_error);
  EXPECT_FALSE(c.try_send(std::move(b))) << "it should still be in there";

  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(b)); };
  auto sender = pool.spawn(send());
  let_all_wait(pool);
  fragile::moves_left = 1; // out of it, and then into it, for the sender who waits
  EXPECT_EQ(c.try_receive()->value, 1);
  EXPECT_EQ(ending_of(sender), ending::other);
  EXPECT_EQ(b.value, 2);
  EXPECT_FALSE(c.try_receive());

  auto receive = [&]() -> rubato::task<int> {
    std::optional<fragile> const v = co_await c.receive();
    co_return v ? v->value : -1;
  };
  auto receiver = pool.spawn(receive());
  let_all_wait(pool);
  fragile::moves_left = 0; // to the receiver who waits, and goes on to wait
  EXPECT_THROW(static_cast<void>(c.try_send(std::move(b))), std::runtime_error);
  EXPECT_EQ(b.value, 2);
  EXPECT_TRUE(c.try_send(std::move(b)));
  EXPECT_EQ(receiver.get(), 2);
}

TEST_P(channel_values, that_cannot_be_moved_out_of_a_waiting_sender_stay_with_it) {
  leak_check const leaks;
  rubato::channel<fragile> c(0);
  fragile a(1);
  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(a)); };
  auto sender = pool.spawn(send());
  let_all_wait(pool);
  fragile::moves_left = 0;
  EXPECT_THROW(static_cast<void>(c.try_receive()), std::runtime_error);
  EXPECT_EQ(a.value, 1);
  EXPECT_EQ(c.try_receive()->value, 1);
  EXPECT_TRUE(sender.get());
}

TEST(channel_destruction, destroys_what_is_in_it) {
  leak_check const leaks;
  for (int const n : {0, 1, 7, 1'000}) {
    rubato::channel<counted> c(1'000);
    for (int i = 0; i != n; ++i) EXPECT_TRUE(c.try_send(counted(i)));
    for (int i = 0; i != n / 3; ++i) EXPECT_EQ(c.try_receive()->value, i);
  }
}

} // namespace
