// pool::spawn and the free spawn: what may be passed, what comes back, what the callable is given.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/callables.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;

class spawning : public on_workers {};
RUBATO_TEST_WITH_WORKERS(spawning, all_counts);

TEST_P(spawning, brings_values_of_any_kind) {
  EXPECT_EQ(pool.spawn([] { return 42; }).get(), 42);
  EXPECT_EQ(pool.spawn([] { return std::string(100, 'x'); }).get(), std::string(100, 'x'));
  EXPECT_TRUE(pool.spawn([] { return true; }).get());
  EXPECT_EQ(pool.spawn([] { return move_only(7); }).get().value, 7);
  EXPECT_EQ(*pool.spawn([] { return std::make_unique<int>(8); }).get(), 8);
  EXPECT_EQ(pool.spawn([] { return only_constructible(9); }).get().value, 9);
  pool.spawn([] {}).get();
  int object = 0;
  auto reference = pool.spawn([&object]() -> int& { return object; });
  static_assert(std::same_as<decltype(reference), rubato::future<int&>>);
  EXPECT_EQ(&reference.get(), &object);
  auto constant = pool.spawn([&object]() -> int const& { return object; });
  static_assert(std::same_as<decltype(constant.get()), int const&>);
  EXPECT_EQ(&constant.get(), &object);
}

TEST_P(spawning, keeps_alignment_and_size) {
  struct alignas(64) line {
    std::array<unsigned char, 64> bytes{};
  };
  struct large {
    std::array<int, 1000> numbers{};
  };
  line const aligned;
  EXPECT_TRUE(pool.spawn([aligned] { return is_aligned(aligned); }).get());
  large many;
  many.numbers.back() = 3;
  auto const back = pool.spawn([many] { return many; }).get();
  EXPECT_EQ(back.numbers.back(), 3);
}

TEST_P(spawning, takes_callables_of_any_kind) {
  EXPECT_EQ(pool.spawn(move_only_call<int>(5)).get(), 5);
  EXPECT_EQ(pool.spawn(rvalue_call([] { return 6; })).get(), 6);
  auto const lambda = [] { return 7; };
  EXPECT_EQ(pool.spawn(lambda).get(), 7);
  EXPECT_EQ(pool.spawn(std::function<int()>(lambda)).get(), 7);
  struct object {
    int member = 8;
    int twice(int by) const { return member * by; }
  };
  object o;
  EXPECT_EQ(pool.spawn(&object::twice, &o, 2).get(), 16);
  EXPECT_EQ(pool.spawn(&object::twice, o, 3).get(), 24);
  EXPECT_EQ(pool.spawn(&object::member, std::ref(o)).get(), 8);
  pinned_call pinned;
  EXPECT_EQ(pool.spawn(std::ref(pinned)).get(), 1);
  EXPECT_EQ(pinned.calls, 1);
}

int plus(int a, int b) { return a + b; }

TEST_P(spawning, takes_functions) {
  EXPECT_EQ(pool.spawn(plus, 1, 2).get(), 3);
  EXPECT_EQ(pool.spawn(&plus, 1, 2).get(), 3);
}

TEST_P(spawning, copies_arguments_and_passes_them_as_rvalues) {
  std::string text = "before";
  auto const is_rvalue = [](auto&& s) { return std::is_rvalue_reference_v<decltype(s)>; };
  EXPECT_TRUE(pool.spawn(is_rvalue, text).get());
  EXPECT_TRUE(pool.spawn(is_rvalue, std::as_const(text)).get());
  auto const is_constant = [](auto&& s) { return std::is_const_v<std::remove_reference_t<decltype(s)>>; };
  EXPECT_FALSE(pool.spawn(is_constant, std::as_const(text)).get());
  EXPECT_TRUE(pool.spawn([](auto&& s) { return std::same_as<decltype(s), char const*&&>; }, "array").get());

  auto copy = pool.spawn([](std::string s) { return s; }, text);
  text = "after";
  EXPECT_EQ(copy.get(), "before");
  pool.spawn([](std::string& s) { s = "changed"; }, std::ref(text)).get();
  EXPECT_EQ(text, "changed");
  EXPECT_EQ(pool.spawn([](move_only m) { return m; }, move_only(4)).get().value, 4);
  EXPECT_EQ(
      *pool.spawn([](std::unique_ptr<int>&& p) { return std::move(p); }, std::make_unique<int>(5)).get(), 5);
}

TEST_P(spawning, gives_a_token_if_and_only_if_one_can_be_taken) {
  EXPECT_TRUE(pool.spawn([](std::stop_token t) { return t.stop_possible(); }).get());
  EXPECT_EQ(pool.spawn([](std::stop_token, int i) { return i; }, 3).get(), 3);
  auto const count = [](auto... all) { return sizeof...(all); };
  EXPECT_EQ(pool.spawn(count).get(), 1U);
  EXPECT_EQ(pool.spawn(count, 1, 2).get(), 3U);
  struct both {
    int operator()() { return 0; }
    int operator()(std::stop_token) { return 1; }
    int operator()(int) { return 2; }
  };
  EXPECT_EQ(pool.spawn(both()).get(), 1);
  EXPECT_EQ(pool.spawn(both(), 0).get(), 2);
}

TEST_P(spawning, brings_exceptions_and_leaks_nothing) {
  leak_check const none_left;
  EXPECT_EQ(failure_of([&] { pool.spawn([]() -> int { throw failure(1); }).get(); }), 1);
  EXPECT_EQ(failure_of([&] { pool.spawn([] { throw failure(2); }).get(); }), 2);
  EXPECT_EQ(failure_of([&] { pool.spawn([]() -> int& { throw failure(3); }).get(); }), 3);
  auto const by_number = [&] {
    pool.spawn([captured = counted(1)]() -> counted { throw counted_error(captured.value + 3); }).get();
  };
  EXPECT_EQ(thrown_by(by_number), 4);
  EXPECT_EQ(pool.spawn([captured = counted(5)]() mutable { return std::move(captured); }).get().value, 5);
  pool.wait_idle();
}

struct throws_when_moved {
  bool armed = false;
  throws_when_moved() = default;
  explicit throws_when_moved(bool a)
      : armed(a) {}
  throws_when_moved(throws_when_moved&& other)
      : armed(other.armed) {
    if (armed) throw failure(9);
  }
};

TEST_P(spawning, throws_what_copying_the_callable_throws) {
  leak_check const none_left;
  throws_when_moved argument(true);
  EXPECT_EQ(failure_of([&] {
              auto f = pool.spawn([c = counted(1)](throws_when_moved const&) {}, std::move(argument));
            }),
            9);
  EXPECT_EQ(pool.spawn([] { return 1; }).get(), 1);
  pool.wait_idle();
}

TEST_P(spawning, brings_what_moving_the_result_throws) {
  auto f = pool.spawn([] { return throws_when_moved(); });
  auto g = f.then([](throws_when_moved&& t) {
    t.armed = true;
    return throws_when_moved(std::move(t));
  });
  EXPECT_EQ(failure_of([&] { g.wait(), static_cast<void>(g.get()); }), 9);
}

TEST_P(spawning, destroys_the_callable_when_it_has_been_called) {
  auto const shared = std::make_shared<int>(1);
  auto f = pool.spawn([shared] { return *shared; });
  f.wait();
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_EQ(f.get(), 1);
}

TEST_P(spawning, acts_on_the_current_pool_or_on_a_given_one) {
  rubato::pool other(1);
  EXPECT_EQ(rubato::spawn(pool, [] { return rubato::current_pool(); }).get(), &pool);
  pool.run([&] {
    EXPECT_EQ(rubato::spawn([] { return rubato::current_pool(); }).get(), &pool);
    EXPECT_EQ(rubato::spawn(other, [] { return rubato::current_pool(); }).get(), &other);
    EXPECT_EQ(rubato::spawn(plus, 3, 4).get(), 7);
    EXPECT_EQ(rubato::block_on(rubato::spawn([] { return 5; })), 5);
  });
  EXPECT_EQ(rubato::spawn([] { return rubato::current_pool(); }).get(), &rubato::pool::global());
}

TEST_P(spawning, many_at_once_each_run_once) {
  std::size_t const n = scaled(2'000);
  tally runs(n);
  std::vector<rubato::future<std::size_t>> all;
  for (std::size_t i = 0; i != n; ++i)
    all.push_back(pool.spawn([&runs, i] {
      runs.hit(i);
      return i;
    }));
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(all[i].get(), i);
  runs.expect_each_once();
}

TEST_P(spawning, submit_brings_a_std_future) {
  static_assert(std::same_as<decltype(pool.submit([] {})), std::future<void>>);
  EXPECT_EQ(pool.block_on(pool.spawn([] { return 1; })), 1);
  auto const get = [&]<class T>(std::future<T> f) -> T {
    // a std::future cannot drive a pool without workers
    if (pool.size() == 0) pool.wait_idle();
    return f.get();
  };
  int object = 0;
  EXPECT_EQ(get(pool.submit(plus, 1, 2)), 3);
  EXPECT_EQ(&get(pool.submit([&]() -> int& { return object; })), &object);
  EXPECT_EQ(*get(pool.submit([] { return std::make_unique<int>(4); })), 4);
  EXPECT_EQ(get(pool.submit([](std::stop_token, int i) { return i; }, 5)), 5);
  EXPECT_EQ(get(pool.submit([]() -> rubato::task<int> { co_return 6; })), 6);
  EXPECT_EQ(get(pool.submit([&] { return pool.spawn([] { return 7; }); })), 7);
  // The standard library counts the references to an exception where ThreadSanitizer does not see it.
  if (!under_tsan) {
    EXPECT_EQ(failure_of([&] { get(pool.submit([] { throw failure(8); })); }), 8);
  }
  get(pool.submit([] {}));
}

} // namespace
