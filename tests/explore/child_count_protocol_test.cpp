// The count of children under the explorer: one thread destroys the task, after all others have done their
// part.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/child_count.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;

/// Two counters instead of one word: a child may end between the look at one and the change of the other.
template<class Policy>
class in_two_words {
  typename Policy::template atomic<std::uint32_t> children_{0};
  typename Policy::template atomic<bool> to_be_dropped_{false};

public:
  void begin(std::uint32_t n) { children_.fetch_add(n); }
  bool end() { return children_.fetch_sub(1) == 1 && to_be_dropped_.load(); }
  bool drop() {
    bool const none = children_.load() == 0;
    to_be_dropped_.store(true);
    return none;
  }
};

template<template<class> class Count, std::size_t Children>
void dropped_among_children(execution& e) {
  struct world {
    Count<policy> count;
    std::array<policy::plain<int>, Children + 1> written{};
    policy::atomic<int> destroyed{0};
    policy::atomic<bool> begun{false};
    void destroy() {
      for (auto& w : written) EXPLORE_ASSERT(w.get() == 1);
      destroyed.fetch_add(1);
    }
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->count.begin(Children);
    w->begun.store(true, std::memory_order_release);
    w->written[0].set(1);
    if (w->count.drop()) w->destroy();
  });
  for (std::size_t i = 1; i <= Children; ++i)
    e.thread([w, i] {
      while (!w->begun.load(std::memory_order_acquire)) policy::pause();
      w->written[i].set(1);
      if (w->count.end()) w->destroy();
    });
  e.finally([w] { EXPLORE_ASSERT(w->destroyed.load() == 1); });
}

/// As withdraw(): a thread that finds no child goes on with what it has done.
void none_is_left(execution& e) {
  struct world {
    rubato::detail::basic_child_count<policy> count;
    policy::plain<int> written{0};
    policy::atomic<bool> begun{false};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->count.begin(1);
    w->begun.store(true, std::memory_order_release);
  });
  e.thread([w] {
    while (!w->begun.load(std::memory_order_acquire)) policy::pause();
    w->written.set(1);
    EXPLORE_ASSERT(!w->count.end());
  });
  e.thread([w] {
    while (!w->begun.load(std::memory_order_acquire)) policy::pause();
    if (w->count.none()) EXPLORE_ASSERT(w->written.get() == 1);
  });
}

template<std::size_t Children>
constexpr auto ours = &dropped_among_children<rubato::detail::basic_child_count, Children>;

tests const all{ours<0>, ours<1>, ours<2>, none_is_left};

TEST(child_count_protocol, destroys_once_and_last) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(child_count_protocol, would_not_in_two_words) {
  EXPECT_FALSE(run({}, dropped_among_children<in_two_words, 1>).ok);
}
TEST(child_count_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "child_count.hpp"}, all);
}

} // namespace
