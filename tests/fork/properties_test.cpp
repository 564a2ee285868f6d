// Properties that must hold for whatever comes, with counterexamples made small. Needs RapidCheck.
#if defined(RUBATO_HAS_RAPIDCHECK)

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

class properties : public on_workers {};
RUBATO_TEST_WITH_WORKERS(properties, all_counts);

struct affine {
  std::uint64_t a;
  std::uint64_t b;
  bool operator==(affine const&) const = default;
  friend affine operator*(affine f, affine g) { return {g.a * f.a, g.a * f.b + g.b}; }
};

TEST_P(properties, reduce_is_accumulate) {
  EXPECT_TRUE(rc::check([&](std::vector<std::uint64_t> const& numbers, std::uint64_t start) {
    auto const map = [](std::uint64_t n) { return affine{n | 1, n * n}; };
    affine const init{1, start};
    affine expected = init;
    for (auto const n : numbers) expected = expected * map(n);
    RC_ASSERT(rubato::reduce(pool, numbers, init, std::multiplies<>{}, map) == expected);
    RC_ASSERT(rubato::reduce(pool, rubato::deterministic, numbers, init, std::multiplies<>{}, map) ==
              expected);
  }));
}

TEST_P(properties, reduce_of_strings_is_accumulate) {
  EXPECT_TRUE(rc::check([&](std::vector<std::string> const& words, std::string const& start) {
    auto const expected = std::accumulate(words.begin(), words.end(), start);
    RC_ASSERT(rubato::reduce(pool, words, start, std::plus<>{}) == expected);
    RC_ASSERT(rubato::reduce(pool, rubato::deterministic, words, start, std::plus<>{}) == expected);
  }));
}

TEST_P(properties, for_index_visits_what_the_serial_loop_visits) {
  EXPECT_TRUE(rc::check([&] {
    auto const first = *rc::gen::inRange(-3'000, 3'000);
    auto const last = *rc::gen::inRange(-3'000, 3'000);
    std::vector<std::atomic<int>> counts(6'000);
    rubato::for_index(pool, first, last, [&](int i) { ++counts[static_cast<std::size_t>(i + 3'000)]; });
    for (int i = -3'000; i != 3'000; ++i) {
      RC_ASSERT(counts[static_cast<std::size_t>(i + 3'000)].load() == (first <= i && i < last ? 1 : 0));
    }
  }));
}

/// A program made of forks: what it computes, and what may come out of it.
struct program {
  enum class kind { value, thrower, join, invoke, scope, loop, reduction };
  kind what = kind::value;
  int number = 0; // of a leaf: unique, and its index in the counts
  std::vector<program> parts;
};

/// What the serial reading of a program allows.
struct outcome {
  int sum = 0;          // if nothing is thrown
  std::set<int> thrown; // one of these comes out, if there are any
};

outcome model(program const& p) {
  using kind = program::kind;
  outcome result;
  if (p.what == kind::value) return {p.number, {}};
  if (p.what == kind::thrower) return {0, {p.number}};
  for (auto const& part : p.parts) {
    auto const one = model(part);
    result.sum += one.sum;
    // The earliest part of a join or an invoke that throws wins. In the others the first in time does.
    bool const ordered = p.what == kind::join || p.what == kind::invoke;
    if (!ordered || result.thrown.empty()) result.thrown.insert(one.thrown.begin(), one.thrown.end());
  }
  return result;
}

struct counts {
  explicit counts(std::size_t leaves)
      : begun(leaves) {}
  std::vector<std::atomic<int>> begun;
  std::atomic<int> running{0};
};

int run(program const& p, counts& c) {
  using kind = program::kind;
  struct in_progress {
    counts& c;
    explicit in_progress(counts& all)
        : c(all) {
      ++c.running;
    }
    in_progress(in_progress const&) = delete;
    in_progress& operator=(in_progress const&) = delete;
    ~in_progress() { --c.running; }
  } const marker(c);
  auto const part = [&](std::size_t i) { return run(p.parts[i], c); };
  switch (p.what) {
  case kind::value:
    ++c.begun[static_cast<std::size_t>(p.number)];
    return p.number;
  case kind::thrower:
    ++c.begun[static_cast<std::size_t>(p.number)];
    throw counted_error(p.number);
  case kind::join: {
    auto [a, b] = rubato::join([&] { return part(0); }, [&] { return part(1); });
    return a + b;
  }
  case kind::invoke: {
    auto [a, b, d] =
        rubato::invoke([&] { return part(0); }, [&] { return part(1); }, [&] { return part(2); });
    return a + b + d;
  }
  case kind::scope: {
    std::atomic<int> sum{0};
    rubato::with_scope([&](rubato::scope& s) {
      for (std::size_t i = 0; i != p.parts.size(); ++i) s.spawn([&sum, &part, i] { sum += part(i); });
    });
    return sum;
  }
  case kind::loop: {
    std::atomic<int> sum{0};
    rubato::for_index(std::size_t{0}, p.parts.size(), [&](std::size_t i) { sum += part(i); });
    return sum;
  }
  case kind::reduction:
    break;
  }
  return rubato::reduce(p.parts, 0, std::plus<>{}, [&](program const& one) { return run(one, c); });
}

/// Draws a program; one leaf in `rarity` throws. Numbers its leaves.
program draw(int depth, int rarity, int& leaves) {
  using kind = program::kind;
  auto const what = depth == 0 ? kind::value
                               : *rc::gen::element(kind::value, kind::join, kind::join, kind::invoke,
                                                   kind::scope, kind::loop, kind::reduction);
  if (what == kind::value) {
    bool const throws = rarity != 0 && *rc::gen::inRange(0, rarity) == 0;
    return {throws ? kind::thrower : kind::value, leaves++, {}};
  }
  std::size_t const parts = what == kind::join     ? 2
                            : what == kind::invoke ? 3
                                                   : *rc::gen::inRange<std::size_t>(0, 6);
  program made{what, 0, {}};
  for (std::size_t i = 0; i != parts; ++i) made.parts.push_back(draw(depth - 1, rarity, leaves));
  return made;
}

void check_against_model(rubato::pool& pool, int rarity) {
  EXPECT_TRUE(rc::check([&] {
    int leaves = 0;
    auto const p = draw(5, rarity, leaves);
    auto const expected = model(p);
    counts c(static_cast<std::size_t>(leaves));
    int const live = counted::live();
    int result = -1;
    int thrown = -1;
    try {
      result = pool.run([&] { return run(p, c); });
    } catch (counted_error const& error) {
      thrown = error.value;
    }
    RC_ASSERT(c.running.load() == 0); // nothing goes on behind the caller's back
    RC_ASSERT(counted::live() == live);
    for (auto const& count : c.begun) RC_ASSERT(count.load() <= 1);
    if (expected.thrown.empty()) {
      RC_ASSERT(thrown == -1);
      RC_ASSERT(result == expected.sum);
      for (auto const& count : c.begun) RC_ASSERT(count.load() == 1);
    } else {
      RC_ASSERT(expected.thrown.contains(thrown));
      RC_ASSERT(c.begun[static_cast<std::size_t>(thrown)].load() == 1);
    }
  }));
}

TEST_P(properties, a_program_of_forks_equals_the_serial_one) { check_against_model(pool, 0); }

TEST_P(properties, a_program_of_forks_throws_what_the_serial_one_may) { check_against_model(pool, 6); }

TEST_P(properties, a_program_of_forks_throws_now_and_then) { check_against_model(pool, 40); }

} // namespace

#endif
