// channel: values that are awkward to move, and what becomes of those that are refused.
#include "support/async_sync.hpp"
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

using namespace rubato_test;

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
  EXPECT_NE(value, nullptr) << "not given back, though the wait was stopped";

  waits = pool.spawn(send());
  let_all_wait(pool);
  c.close();
  EXPECT_FALSE(waits.get());
  EXPECT_NE(value, nullptr) << "not given back, though the channel was closed";
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

template<std::size_t Alignment>
struct alignas(Alignment) aligned { // never in a coroutine
  int value;
  explicit aligned(int v)
      : value(v) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % Alignment, 0U);
  }
  aligned(aligned&& other) noexcept
      : aligned(other.value) {}
};

template<class T>
void keeps_its_alignment() {
  rubato::channel<T> c(20);
  for (int round = 0; round != 3; ++round) {
    for (int i = 0; i != 20; ++i) EXPECT_TRUE(c.try_send(T(i)));
    for (int i = 0; i != 20; ++i) EXPECT_EQ(c.try_receive()->value, i);
  }
}
TEST(channel_values, keep_their_alignment) { // outside coroutines: g++ 12 misaligns locals in frames
  keeps_its_alignment<aligned<4>>();
  keeps_its_alignment<aligned<64>>();
  keeps_its_alignment<aligned<128>>();
  rubato::channel<rubato_test::over_aligned> c(3); // is held without a box
  for (int i = 0; i != 3; ++i) EXPECT_TRUE(c.try_send(rubato_test::over_aligned{i}));
  for (int i = 0; i != 3; ++i) {
    auto const v = c.try_receive();
    EXPECT_TRUE(rubato_test::is_aligned(*v));
    EXPECT_EQ(v->value, i);
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

TEST_P(channel_values, stay_with_the_sender_if_moving_in_throws) {
  leak_check const leaks;
  rubato::channel<fragile> c(1);
  fragile a(1), b(2);
  fragile::moves_left = 0;
  EXPECT_THROW(static_cast<void>(c.try_send(std::move(a))), std::runtime_error);
  EXPECT_EQ(a.value, 1);
  EXPECT_FALSE(c.try_receive());

  EXPECT_TRUE(c.try_send(std::move(a)));
  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(b)); };
  fragile::moves_left = 0; // the buffer is full: the sender does not begin to wait
  auto sender = pool.spawn(send());
  EXPECT_EQ(outcome_of_get(sender), outcome::other);
  EXPECT_EQ(b.value, 2);
  EXPECT_EQ(c.try_receive()->value, 1);
  EXPECT_FALSE(c.try_receive());

  auto receive = [&]() -> rubato::task<int> {
    std::optional<fragile> const v = co_await c.receive();
    co_return v ? v->value : -1;
  };
  auto receiver = pool.spawn(receive());
  let_all_wait(pool);
  fragile::moves_left = 0; // a receiver goes on to wait
  EXPECT_THROW(static_cast<void>(c.try_send(std::move(b))), std::runtime_error);
  EXPECT_EQ(b.value, 2);
  EXPECT_TRUE(c.send_blocking(std::move(b)));
  EXPECT_EQ(receiver.get(), 2);
}

TEST_P(channel_values, are_lost_if_moving_out_throws) {
  leak_check const leaks;
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{1}}) {
    rubato::channel<fragile> c(capacity);
    fragile a(1), b(2);
    auto send = [&](fragile& v) -> rubato::task<bool> { co_return co_await c.send(std::move(v)); };
    auto sender = pool.spawn(send(a));
    let_all_wait(pool);
    fragile::moves_left = 0;
    EXPECT_THROW(static_cast<void>(c.try_receive()), std::runtime_error);
    EXPECT_TRUE(sender.get()) << "it was taken";
    EXPECT_FALSE(c.try_receive());

    auto receive = [&]() -> rubato::task<int> {
      std::optional<fragile> const v = co_await c.receive();
      co_return v ? v->value : -1;
    };
    auto receiver = pool.spawn(receive());
    let_all_wait(pool);
    fragile::moves_left = 1; // into the channel, and out of it
    EXPECT_TRUE(c.try_send(std::move(b)));
    EXPECT_EQ(outcome_of_get(receiver), outcome::other);
    EXPECT_FALSE(c.try_receive());
  }
}

/// Its moves and copies are counted, and its assignment can throw.
struct watched {
  inline static std::atomic<int> moves{0}, copies{0};
  inline static std::atomic<bool> assignment_throws{false};
  int value;
  explicit watched(int v)
      : value(v) {}
  watched(watched const& other)
      : value(other.value) {
    ++copies;
  }
  watched(watched&& other) noexcept
      : value(std::exchange(other.value, -1)) {
    ++moves;
  }
  watched& operator=(watched const&) = delete;
  watched& operator=(watched&& other) {
    if (assignment_throws.exchange(false)) throw std::runtime_error("an assignment that throws");
    value = std::exchange(other.value, -1);
    ++moves;
    return *this;
  }
  ~watched() = default;
};

TEST(channel_values, are_not_touched_if_try_send_finds_no_room) {
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{1}}) {
    rubato::channel<watched> c(capacity);
    EXPECT_EQ(c.try_send(watched(1)), capacity != 0);
    watched value(2);
    for (int i = 0; i != 2; ++i) {
      watched::moves = watched::copies = 0;
      EXPECT_FALSE(c.try_send(std::move(value)));
      EXPECT_FALSE(c.try_send(value)); // NOLINT(bugprone-use-after-move)
      EXPECT_EQ(value.value, 2);
      EXPECT_EQ(watched::moves + watched::copies, 0);
      c.close();
    }
  }
}

TEST_P(channel_values, are_lost_with_an_error_if_giving_back_throws) {
  rubato::channel<watched> c(0);
  watched value(1);
  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(value)); };
  auto sender = pool.spawn(send());
  let_all_wait(pool);
  watched::assignment_throws = true;
  c.close();
  EXPECT_EQ(outcome_of_get(sender), outcome::other);
  EXPECT_EQ(value.value, -1);
  EXPECT_FALSE(c.try_receive());
  value.value = 2;
  watched::assignment_throws = true;
  EXPECT_THROW(static_cast<void>(c.send_blocking(std::move(value))), std::runtime_error);
}

TEST_P(channel_values, come_back_from_the_operations_that_lose) {
  rubato::channel<std::string> full(1), quiet(0);
  rubato::channel<int> other(1);
  EXPECT_TRUE(full.try_send("first"));
  std::string a(40, 'a'), b(40, 'b'); // too long to be stored in place
  std::string const a_before = a, b_before = b;
  auto choose = [&]() -> rubato::task<int> {
    auto one = rubato::select(full.sending(std::move(a), [](bool) { return 1; }),
                              quiet.sending(std::move(b), [](bool) { return 2; }),
                              other.receiving([](auto) { return 3; }));
    co_return co_await std::move(one);
  };
  auto f = pool.spawn(choose());
  let_all_wait(pool);
  EXPECT_TRUE(other.try_send(1));
  EXPECT_EQ(f.get(), 3);
  EXPECT_EQ(a, a_before);
  EXPECT_EQ(b, b_before);

  auto any = [&](bool beside_a_task) -> rubato::task<std::size_t> {
    if (beside_a_task) {
      auto both = rubato::when_any(full.send(std::move(a)), other.receive(), rubato::make_ready_future());
      auto const r = co_await std::move(both);
      co_return r.index;
    }
    auto both = rubato::when_any(full.send(std::move(a)), quiet.send(std::move(b)));
    auto const r = co_await std::move(both);
    co_return r.index;
  };
  EXPECT_EQ(pool.block_on(any(true)), 2U);
  EXPECT_EQ(a, a_before);
  auto g = pool.spawn(any(false));
  let_all_wait(pool);
  EXPECT_EQ(quiet.try_receive(), b_before);
  EXPECT_EQ(g.get(), 1U);
  EXPECT_EQ(a, a_before);

  b = b_before;
  auto h = pool.spawn(any(false));
  let_all_wait(pool);
  h.cancel();
  EXPECT_EQ(outcome_of_get(h), outcome::cancelled);
  EXPECT_EQ(a, a_before);
  EXPECT_EQ(b, b_before);
}

/// Can be constructed from another one, and nothing else: no assignment, no operator new, no operator &.
class restricted {
  std::unique_ptr<int> value_;
  static void* operator new(std::size_t) = delete;
  static void operator delete(void*) = delete;

public:
  explicit restricted(int v)
      : value_(std::make_unique<int>(v)) {}
  restricted(restricted&& other) noexcept
      : value_(std::move(other.value_)) {}
  restricted(restricted const&) = delete;
  restricted& operator=(restricted const&) = delete;
  restricted& operator=(restricted&&) = delete;
  ~restricted() = default;
  void operator&() const = delete; // NOLINT(google-runtime-operator)
  [[nodiscard]] int value() const { return value_ ? *value_ : -1; }
};

TEST_P(channel_values, are_constructed_anew_where_needed) {
  rubato::channel<restricted> c(1);
  EXPECT_TRUE(c.try_send(restricted(1)));
  restricted value(2);
  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(value)); };
  auto sender = pool.spawn(send());
  let_all_wait(pool);
  sender.cancel();
  EXPECT_FALSE(sender.get());
  EXPECT_EQ(value.value(), 2);
  auto again = pool.spawn(send());
  let_all_wait(pool);
  EXPECT_EQ(c.receive_blocking()->value(), 1);
  EXPECT_EQ(c.receive_blocking()->value(), 2);
  EXPECT_TRUE(again.get());
}

struct letter;
struct writer {
  rubato::channel<letter> inbox{1};
};
struct letter {
  writer* from;
  std::string text;
};

TEST(channel_values, may_be_incomplete_where_channels_are_declared) {
  writer w;
  EXPECT_TRUE(w.inbox.try_send(letter{&w, "text"}));
  EXPECT_EQ(w.inbox.try_receive()->text, "text");
}

TEST_P(channel_values, may_be_const) {
  rubato::channel<std::string const> c(1);
  std::string const kept(40, 'x');
  EXPECT_TRUE(c.try_send(std::move(kept))); // NOLINT(performance-move-const-arg): that is what is tested
  EXPECT_FALSE(pool.block_on([&]() -> rubato::task<bool> {
    auto limited = rubato::with_deadline(c.send(std::move(kept)), std::chrono::microseconds(1)); // NOLINT
    auto const r = co_await std::move(limited);
    co_return r.value_or(false);
  }()));
  EXPECT_EQ(kept, std::string(40, 'x'));
  EXPECT_EQ(c.try_receive(), kept);
}

/// A channel holds it as it is, unlike a `restricted`.
struct without_address {
  int value;
  void operator&() const = delete; // NOLINT(google-runtime-operator)
};

TEST(channel_values, regression_may_lack_an_address_operator) {
  rubato::channel<without_address> c(1);
  EXPECT_TRUE(c.try_send(without_address{1}));
  EXPECT_EQ(c.try_receive()->value, 1);
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
