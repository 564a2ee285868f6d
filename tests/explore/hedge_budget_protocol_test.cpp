// The bucket of tokens for hedges under the explorer: never more than was earned, and none lost.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "hedge/hedge_budget.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;
using budget = rubato::detail::basic_hedge_budget<policy>;

/// A budget that looks and takes in two steps.
class hasty_budget {
  policy::atomic<std::uint64_t> spent_{0};

public:
  static constexpr std::uint64_t token = budget::token;
  explicit hasty_budget(unsigned) {}
  bool try_take(std::uint64_t earned) {
    std::uint64_t const now = spent_.load(std::memory_order_relaxed);
    if (now + token > earned) return false;
    spent_.store(now + token, std::memory_order_relaxed);
    return true;
  }
  void give_back() { spent_.fetch_sub(token, std::memory_order_relaxed); }
};

template<class Budget>
struct state {
  Budget tokens;
  policy::atomic<std::uint64_t> calls[3]{};
  policy::atomic<unsigned> taken{0};

  explicit state(unsigned burst)
      : tokens(burst) {}
  void take(std::uint64_t earned) {
    if (tokens.try_take(earned)) taken.fetch_add(1, std::memory_order_relaxed);
  }
};

/// Three threads want one of two tokens.
template<class Budget>
void all_want_one(execution& e) {
  auto const s = std::make_shared<state<Budget>>(5);
  for (int i = 0; i != 3; ++i) e.thread([s] { s->take(2 * Budget::token); });
  e.finally([s] { EXPLORE_ASSERT(s->taken.load() == 2); });
}

/// Each thread earns half a token, and then looks at what it sees of all earnings.
void each_earns(execution& e) {
  auto const s = std::make_shared<state<budget>>(5);
  for (int i = 0; i != 3; ++i)
    e.thread([s, i] {
      s->calls[i].store(1, std::memory_order_relaxed);
      std::uint64_t sum = 0;
      for (auto& c : s->calls) sum += c.load(std::memory_order_relaxed);
      s->take(sum * budget::token / 2);
    });
  e.finally([s] { EXPLORE_ASSERT(s->taken.load() <= 1); });
}

/// The bucket has overflown; one thread's sum is a token behind.
void overflows(execution& e) {
  auto const s = std::make_shared<state<budget>>(2);
  e.thread([s] {
    s->take(9 * budget::token);
    s->take(10 * budget::token);
  });
  e.thread([s] {
    s->take(10 * budget::token);
    s->take(10 * budget::token);
  });
  e.finally([s] {
    unsigned const taken = s->taken.load();
    EXPLORE_ASSERT(taken >= 2 && taken <= 3); // the burst, and what was earned in between
  });
}

/// A token goes round: one thread has it at a time, and in the end it is there.
void comes_back(execution& e) {
  auto const s = std::make_shared<state<budget>>(2);
  for (int i = 0; i != 3; ++i)
    e.thread([s] {
      if (!s->tokens.try_take(budget::token)) return;
      EXPLORE_ASSERT(s->taken.fetch_add(1, std::memory_order_relaxed) == 0);
      s->taken.fetch_sub(1, std::memory_order_relaxed);
      s->tokens.give_back();
    });
  e.finally([s] { EXPLORE_ASSERT(s->tokens.try_take(budget::token) && !s->tokens.try_take(budget::token)); });
}

TEST(budget_protocol, every_token_is_taken_once) {
  auto const r = run({}, all_want_one<budget>);
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
  EXPECT_FALSE(run({}, all_want_one<hasty_budget>).ok);
}

TEST(budget_protocol, what_is_not_earned_is_not_taken) {
  auto const r = run({}, each_earns);
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}

TEST(budget_protocol, a_full_bucket_holds_the_burst) {
  auto const r = run({}, overflows);
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}

TEST(budget_protocol, a_token_that_comes_back_can_be_taken_again) {
  auto const r = run({}, comes_back);
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}

} // namespace
