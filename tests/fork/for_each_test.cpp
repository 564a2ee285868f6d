// for_each: ranges of every kind, each element once.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <forward_list>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class for_each : public on_workers {};
RUBATO_TEST_WITH_WORKERS(for_each, all_counts);

class parallel_elements : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_elements, counts_in_parallel);

/// 0 ... size - 1, single pass, its iterators only movable: the least that an input range may be. It counts
/// how often two threads were in it at the same time.
class counter_range {
public:
  explicit counter_range(int size)
      : size_(size) {}

  class iterator {
  public:
    using value_type = int;
    using difference_type = std::ptrdiff_t;

    explicit iterator(counter_range& range)
        : range_(&range) {}
    iterator(iterator const&) = delete;
    iterator& operator=(iterator const&) = delete;
    iterator(iterator&&) = default;
    iterator& operator=(iterator&&) = default;
    ~iterator() = default;

    int operator*() const {
      visit const inside(*range_);
      return range_->next_;
    }
    iterator& operator++() {
      visit const inside(*range_);
      ++range_->next_;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const {
      visit const inside(*range_);
      return range_->next_ == range_->size_;
    }

  private:
    struct visit {
      explicit visit(counter_range& r)
          : range(r) {
        if (range.visitors_.fetch_add(1) != 0) ++range.collisions_;
      }
      visit(visit const&) = delete;
      visit& operator=(visit const&) = delete;
      ~visit() { --range.visitors_; }
      counter_range& range;
    };
    counter_range* range_;
  };

  iterator begin() { return iterator(*this); }
  static std::default_sentinel_t end() { return {}; }
  int collisions() const { return collisions_.load(); }

private:
  int size_;
  int next_ = 0;
  std::atomic<int> visitors_{0};
  std::atomic<int> collisions_{0};
};

static_assert(std::ranges::input_range<counter_range> && !std::ranges::forward_range<counter_range>);

TEST_P(for_each, hands_out_the_elements_themselves) {
  std::vector<int> numbers(10'000);
  std::deque<std::string> words(1'000, "word");
  std::array<int, 100> fixed{};
  pool.run([&] {
    rubato::for_each(numbers, [&](int& n) { n = static_cast<int>(&n - numbers.data()); });
    rubato::for_each(words, [](std::string& word) { word += "s"; });
    rubato::for_each(fixed, [](auto& n) { n = 3; });
  });
  for (std::size_t i = 0; i != numbers.size(); ++i) ASSERT_EQ(numbers[i], static_cast<int>(i));
  EXPECT_EQ(std::count(words.begin(), words.end(), "words"), 1'000);
  EXPECT_EQ(std::count(fixed.begin(), fixed.end(), 3), 100);
}

TEST_P(for_each, takes_iterators_and_sentinels) {
  std::vector<int> numbers(1'000, 1);
  std::list<int> linked(1'000, 1);
  std::atomic<int> counted_down{0};
  pool.run([&] {
    rubato::for_each(numbers.begin() + 10, numbers.end(), [](int& n) { ++n; });
    rubato::for_each(std::next(linked.begin(), 10), linked.end(), [](int& n) { ++n; });
    rubato::for_each(std::counted_iterator(numbers.begin(), 7), std::default_sentinel,
                     [&](int) { ++counted_down; });
    rubato::for_each(pool, numbers.begin(), numbers.begin(), [](int& n) { n = 0; });
  });
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 1'990);
  EXPECT_EQ(std::accumulate(linked.begin(), linked.end(), 0), 1'990);
  EXPECT_EQ(counted_down.load(), 7);
}

TEST_P(for_each, takes_ranges_without_random_access) {
  std::list<int> linked(5'000);
  std::iota(linked.begin(), linked.end(), 0);
  std::forward_list<int> forward(linked.begin(), linked.end());
  std::map<int, int> tree;
  for (int const n : linked) tree[n] = n;
  pool.run([&] {
    rubato::for_each(linked, [](int& n) { n *= 2; });
    rubato::for_each(forward, [](int& n) { n *= 2; });
    rubato::for_each(tree, [](std::pair<int const, int>& entry) { entry.second = 2 * entry.first; });
  });
  int i = 0;
  for (int const n : linked) ASSERT_EQ(n, 2 * i++);
  i = 0;
  for (int const n : forward) ASSERT_EQ(n, 2 * i++);
  for (auto const& [key, value] : tree) ASSERT_EQ(value, 2 * key);
}

TEST_P(for_each, pulls_a_single_pass_range_one_thread_at_a_time) {
  int const size = static_cast<int>(sized(50'000));
  tally ran(static_cast<std::size_t>(size));
  counter_range numbers(size);
  pool.run([&] { rubato::for_each(numbers, [&](int n) { ran.hit(n); }); });
  ran.expect_each_once();
  EXPECT_EQ(numbers.collisions(), 0);
}

TEST_P(for_each, takes_a_stream) {
  std::stringstream text;
  for (int i = 0; i != 1'000; ++i) text << i << ' ';
  tally ran(1'000);
  pool.run([&] { rubato::for_each(std::views::istream<int>(text), [&](int n) { ran.hit(n); }); });
  ran.expect_each_once();
}

TEST_P(for_each, takes_views) {
  std::vector<int> numbers(1'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  tally doubled(2'000);
  tally even(1'000);
  tally reversed(1'000);
  tally counted_up(1'000);
  tally middle(1'000);
  pool.run([&] {
    rubato::for_each(numbers | std::views::transform([](int n) { return 2 * n; }),
                     [&](int n) { doubled.hit(n); });
    rubato::for_each(numbers | std::views::filter([](int n) { return n % 2 == 0; }),
                     [&](int n) { even.hit(n); });
    rubato::for_each(numbers | std::views::reverse, [&](int n) { reversed.hit(n); });
    rubato::for_each(std::views::iota(0, 1'000), [&](int n) { counted_up.hit(n); });
    rubato::for_each(std::span(numbers).subspan(100, 800), [&](int n) { middle.hit(n); });
  });
  EXPECT_EQ(doubled.total(), 1'000U);
  doubled.expect_none_twice();
  EXPECT_EQ(even.total(), 500U);
  even.expect_none_twice();
  reversed.expect_each_once();
  counted_up.expect_each_once();
  EXPECT_EQ(middle.total(), 800U);
  middle.expect_none_twice();
}

TEST_P(for_each, takes_proxies) {
  std::vector<bool> bits(1'000);
  for (std::size_t i = 0; i < bits.size(); i += 3) bits[i] = true;
  std::atomic<int> set{0};
  pool.run([&] {
    rubato::for_each(bits, [&](auto bit) { set += bit ? 1 : 0; }); // reads only: neighbours share a byte
    rubato::for_each(std::as_const(bits), [&](bool bit) { set += bit ? 1 : 0; });
  });
  EXPECT_EQ(set.load(), 2 * 334);
}

TEST_P(for_each, takes_elements_that_only_move) {
  std::vector<std::unique_ptr<int>> owners;
  std::list<move_only> linked;
  for (int i = 0; i != 500; ++i) {
    owners.push_back(std::make_unique<int>(i));
    linked.emplace_back(i);
  }
  std::atomic<int> sum{0};
  pool.run([&] {
    rubato::for_each(owners, [&](std::unique_ptr<int>& p) {
      auto const mine = std::move(p);
      sum += *mine;
    });
    rubato::for_each(linked, [&](move_only& m) { sum += m.value; });
  });
  EXPECT_EQ(sum.load(), 2 * 124'750);
  EXPECT_EQ(std::count(owners.begin(), owners.end(), nullptr), 500);
}

TEST_P(for_each, takes_constant_and_temporary_ranges) {
  std::vector<int> const numbers(1'000, 1);
  std::atomic<int> sum{0};
  pool.run([&] {
    rubato::for_each(numbers, [&](int const& n) { sum += n; });
    rubato::for_each(std::vector<int>(1'000, 2), [&](int n) { sum += n; });
  });
  EXPECT_EQ(sum.load(), 3'000);
}

TEST_P(for_each, does_nothing_for_an_empty_range) {
  bool ran = false;
  auto const mark = [&](auto&&) { ran = true; };
  pool.run([&] {
    rubato::for_each(std::vector<int>{}, mark);
    rubato::for_each(std::list<int>{}, mark);
    rubato::for_each(counter_range(0), mark);
    rubato::for_each(std::views::empty<int>, mark);
  });
  EXPECT_FALSE(ran);
}

TEST_P(for_each, takes_a_range_without_an_end_until_a_body_throws) {
  std::atomic<int> begun{0};
  EXPECT_THROW(pool.run([&] {
    rubato::for_each(std::views::iota(0), [&](int n) {
      ++begun;
      if (n == 10'000) throw counted_error(n);
    });
  }),
               counted_error);
  EXPECT_GE(begun.load(), 1);
}

TEST_P(for_each, throws_what_the_iterator_throws) {
  auto const upto = [](int limit) {
    return [limit](int n) {
      if (n == limit) throw std::runtime_error("no more");
      return n;
    };
  };
  std::list<int> linked(1'000);
  std::iota(linked.begin(), linked.end(), 0);
  std::vector<int> const numbers(linked.begin(), linked.end());
  tally ran(1'000);
  auto const hit = [&](int n) { ran.hit(n); };
  EXPECT_THROW(pool.run([&] { rubato::for_each(numbers | std::views::transform(upto(500)), hit); }),
               std::runtime_error);
  ran.expect_none_twice();
  tally again(1'000);
  auto const hit_again = [&](int n) { again.hit(n); };
  EXPECT_THROW(pool.run([&] { rubato::for_each(linked | std::views::transform(upto(500)), hit_again); }),
               std::runtime_error);
  again.expect_none_twice();
}

TEST_P(for_each, on_a_named_pool_runs_there) {
  std::atomic<int> here{0};
  std::vector<int> const numbers(100);
  auto const count = [&](int) { here += rubato::current_pool() == &pool; };
  rubato::for_each(pool, numbers, count);
  rubato::for_each(pool, counter_range(100), count);
  EXPECT_EQ(here.load(), 200);
}

TEST_P(parallel_elements, runs_bodies_at_once_over_any_kind_of_range) {
  std::vector<int> const numbers(2);
  std::list<int> const linked(2);
  std::atomic<int> met{0};
  pool.run([&] {
    rendezvous random(2);
    rubato::for_each(numbers, [&](int) { met += random.meet(); });
    rendezvous forward(2);
    rubato::for_each(linked, [&](int) { met += forward.meet(); });
    rendezvous single(2);
    rubato::for_each(counter_range(2), [&](int) { met += single.meet(); });
  });
  EXPECT_EQ(met.load(), 6);
}

/// Counts up, throws once at one place, and remembers whether it was asked to go on after that.
struct fragile_iterator {
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  struct history {
    std::atomic<bool> thrown{false};
    std::atomic<int> steps_after{0};
  };

  static constexpr int place = 3'000;

  int value = 0;
  history* past = nullptr;

  int operator*() const { return value; }
  fragile_iterator& operator++() {
    if (past->thrown) ++past->steps_after;
    if (value == place && !past->thrown.exchange(true)) throw std::out_of_range("fragile");
    ++value;
    return *this;
  }
  fragile_iterator operator++(int) {
    auto const before = *this;
    ++*this;
    return before;
  }
  bool operator==(fragile_iterator const& other) const { return value == other.value; }
};

TEST(for_each, regression_asks_no_more_of_a_range_that_has_thrown) {
  rubato::pool pool(4);
  for (std::size_t round = 0; round != scaled(30); ++round) {
    fragile_iterator::history past;
    auto const range = std::ranges::subrange(fragile_iterator{0, &past}, fragile_iterator{10'000, &past});
    EXPECT_THROW(rubato::for_each(pool, range, [](int) { jitter::spin(std::chrono::microseconds(1)); }),
                 std::out_of_range);
    ASSERT_EQ(past.steps_after, 0) << "round " << round;
  }
}

/// Element i can be had only after i elements were answered.
struct requests {
  struct iterator {
    using value_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    requests* from = nullptr;
    std::size_t i = 0;
    std::size_t operator*() const { return i; }
    iterator& operator++() {
      ++i;
      from->in_time = from->in_time && from->answers.wait_for(i);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return i == size; }
  };
  static constexpr std::size_t size = 25;

  arrivals answers;
  bool in_time = true;

  iterator begin() { return {this}; }
  static std::default_sentinel_t end() { return {}; }
};

TEST_P(for_each, regression_takes_a_single_pass_range_one_by_one) {
  requests all;
  pool.run([&] { rubato::for_each(all, [&](std::size_t) { all.answers.arrive(); }); });
  EXPECT_TRUE(all.in_time);
  EXPECT_EQ(all.answers.count(), requests::size);
}

TEST_P(for_each, takes_a_single_pass_range_that_uses_the_pool) {
  struct iterator {
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    std::atomic<int>* steps = nullptr;
    int i = 0;
    int operator*() const { return i; }
    iterator& operator++() {
      rubato::join([this] { ++i; }, [this] { ++*steps; });
      rubato::for_index(0, 10, [this](int) { ++*steps; });
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return i == 100; }
  };
  std::atomic<int> steps{0}, sum{0};
  pool.run([&] { rubato::for_each(iterator{&steps}, std::default_sentinel, [&](int n) { sum += n; }); });
  EXPECT_EQ(steps, 1'100);
  EXPECT_EQ(sum, 4'950);
}

TEST(for_each, regression_takes_a_stream_of_bools) {
  rubato::pool pool(1);
  int called = 0;
  auto const all_forms = [&](auto&& f) {
    std::istringstream text("1 0 1 1 0");
    rubato::for_each(pool, std::views::istream<bool>(text), f);
  };
  all_forms([&](bool b) { called += b ? 1 : 10; });
  all_forms([&](bool& b) { called += std::exchange(b, false) ? 1 : 10; });
  all_forms([&](bool&& b) { called += b ? 1 : 10; });
  EXPECT_EQ(called, 3 * 23);
}

} // namespace
