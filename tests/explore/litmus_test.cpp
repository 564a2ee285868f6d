// The memory of the explorer, checked against litmus tests of which it is known what C++20 allows.
#include "explore/explore.hpp"
#include "explore/policy.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <set>
#include <vector>

namespace {

using namespace rubato_test;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using outcome = std::vector<int>;
using order = std::memory_order;

constexpr auto relaxed = order::relaxed;
constexpr auto acquire = order::acquire;
constexpr auto release = order::release;
constexpr auto seq_cst = order::seq_cst;

/// Two locations, and what the threads have read; -1: nothing.
struct state {
  policy::atomic<int> x{0}, y{0};
  outcome read;
};

using body = void (*)(state&);

/// Everything that `result` can be after the threads have run, without a bound on preemptions.
std::set<outcome> outcomes(std::size_t reads, std::vector<body> const& threads) {
  std::set<outcome> seen;
  result const r = run({.preemptions = 99, .stale = 99}, [&](execution& e) {
    auto const s = std::make_shared<state>();
    s->read.assign(reads, -1);
    for (body const b : threads) e.thread([s, b] { b(*s); });
    e.finally([s, &seen] { seen.insert(s->read); });
  });
  EXPECT_TRUE(r.ok) << r.message;
  EXPECT_TRUE(r.exhausted);
  return seen;
}

// Store buffering: each thread writes one location and reads the other

template<order Store, order Load>
std::set<outcome> store_buffering() {
  return outcomes(2, {[](state& s) {
                        s.x.store(1, Store);
                        s.read[0] = s.y.load(Load);
                      },
                      [](state& s) {
                        s.y.store(1, Store);
                        s.read[1] = s.x.load(Load);
                      }});
}

TEST(store_buffering, is_allowed_up_to_acquire_and_release) {
  std::set<outcome> const all{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ((store_buffering<relaxed, relaxed>()), all);
  EXPECT_EQ((store_buffering<release, acquire>()), all);
}
TEST(store_buffering, needs_four_seq_cst_accesses_to_be_forbidden) {
  std::set<outcome> const without{{0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ((store_buffering<seq_cst, seq_cst>()), without);
  EXPECT_THAT((store_buffering<release, seq_cst>()), Contains(outcome{0, 0}));
  EXPECT_THAT((store_buffering<seq_cst, acquire>()), Contains(outcome{0, 0}));
}
TEST(store_buffering, is_not_prevented_by_an_unrelated_access) {
  EXPECT_THAT(outcomes(2, {[](state& s) {
                             s.x.store(1, relaxed);
                             static_cast<void>(s.x.fetch_add(0, seq_cst));
                             s.read[0] = s.y.load(relaxed);
                           },
                           [](state& s) {
                             s.y.store(1, relaxed);
                             static_cast<void>(s.y.fetch_add(0, seq_cst));
                             s.read[1] = s.x.load(relaxed);
                           }}),
              Contains(outcome{0, 0}));
}

// Message passing: data, then a flag

template<order Store, order Load>
std::set<outcome> message_passing() {
  return outcomes(2, {[](state& s) {
                        s.x.store(1, relaxed);
                        s.y.store(1, Store);
                      },
                      [](state& s) {
                        s.read[0] = s.y.load(Load);
                        s.read[1] = s.x.load(relaxed);
                      }});
}

TEST(message_passing, needs_both_halves) {
  outcome const flag_without_data{1, 0};
  EXPECT_THAT((message_passing<relaxed, relaxed>()), Contains(flag_without_data));
  EXPECT_THAT((message_passing<release, relaxed>()), Contains(flag_without_data));
  EXPECT_THAT((message_passing<relaxed, acquire>()), Contains(flag_without_data));
  EXPECT_EQ((message_passing<release, acquire>()), (std::set<outcome>{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_THAT((message_passing<seq_cst, seq_cst>()), Not(Contains(flag_without_data)));
}

// Release sequences

TEST(release_sequence, goes_on_through_a_relaxed_read_modify_write) {
  auto const seen = outcomes(2, {[](state& s) {
                                   s.x.store(1, relaxed);
                                   s.y.store(1, release);
                                 },
                                 [](state& s) { static_cast<void>(s.y.fetch_add(1, relaxed)); },
                                 [](state& s) {
                                   s.read[0] = s.y.load(acquire);
                                   s.read[1] = s.x.load(relaxed);
                                 }});
  EXPECT_THAT(seen,
              IsSupersetOf({outcome{2, 1}, outcome{1, 1}, outcome{1, 0}})); // {1, 0}: the addition alone
  EXPECT_THAT(seen, Not(Contains(outcome{2, 0})));
}
TEST(release_sequence, ends_at_a_relaxed_store_of_the_same_thread) {
  EXPECT_THAT(outcomes(2, {[](state& s) {
                             s.x.store(1, relaxed);
                             s.y.store(1, release);
                             s.y.store(2, relaxed);
                           },
                           [](state& s) {
                             s.read[0] = s.y.load(acquire);
                             s.read[1] = s.x.load(relaxed);
                           }}),
              Contains(outcome{2, 0}));
}

// Coherence

TEST(coherence, never_reads_backwards) {
  auto const seen = outcomes(3, {[](state& s) {
                                   s.x.store(1, relaxed);
                                   s.x.store(2, relaxed);
                                 },
                                 [](state& s) {
                                   for (int& r : s.read) r = s.x.load(relaxed);
                                 }});
  EXPECT_EQ(seen, (std::set<outcome>{{0, 0, 0},
                                     {0, 0, 1},
                                     {0, 0, 2},
                                     {0, 1, 1},
                                     {0, 1, 2},
                                     {0, 2, 2},
                                     {1, 1, 1},
                                     {1, 1, 2},
                                     {1, 2, 2},
                                     {2, 2, 2}}));
}
TEST(coherence, readers_agree_on_the_order_of_writes) {
  auto const seen =
      outcomes(4, {[](state& s) { s.x.store(1, relaxed); }, [](state& s) { s.x.store(2, relaxed); },
                   [](state& s) {
                     s.read[0] = s.x.load(relaxed);
                     s.read[1] = s.x.load(relaxed);
                   },
                   [](state& s) {
                     s.read[2] = s.x.load(relaxed);
                     s.read[3] = s.x.load(relaxed);
                   }});
  EXPECT_THAT(seen, Contains(outcome{1, 2, 1, 2}));
  EXPECT_THAT(seen, Contains(outcome{2, 1, 2, 1}));
  EXPECT_THAT(seen, Not(Contains(outcome{1, 2, 2, 1})));
  EXPECT_THAT(seen, Not(Contains(outcome{2, 1, 1, 2})));
}
TEST(coherence, reads_its_own_writes) {
  EXPECT_THAT(outcomes(1, {[](state& s) {
                             s.x.store(1, relaxed);
                             s.read[0] = s.x.load(relaxed);
                           },
                           [](state& s) { s.x.store(2, relaxed); }}),
              Not(Contains(outcome{0})));
}
TEST(coherence, lets_a_write_precede_one_that_others_have_seen) {
  // 2+2W: each location ends with the write that its writer made first.
  std::set<outcome> const seen = outcomes(4, {[](state& s) {
                                                s.x.store(1, release);
                                                s.y.store(2, release);
                                                s.read[0] = s.y.load(relaxed);
                                              },
                                              [](state& s) {
                                                s.y.store(1, release);
                                                s.x.store(2, release);
                                                s.read[1] = s.x.load(relaxed);
                                              },
                                              [](state& s) {
                                                s.read[2] = s.x.load(relaxed);
                                                if (s.read[2] == 2) s.read[2] += 10 * s.x.load(relaxed);
                                                s.read[3] = s.y.load(relaxed);
                                                if (s.read[3] == 2) s.read[3] += 10 * s.y.load(relaxed);
                                              }});
  EXPECT_THAT(seen, Contains(outcome{2, 2, 12, 12}));
}
TEST(coherence, additions_are_never_lost) {
  auto const add = [](state& s) {
    for (int i = 0; i != 2; ++i) static_cast<void>(s.x.fetch_add(1, relaxed));
  };
  std::set<int> sums;
  result const r = run({.preemptions = 99}, [&](execution& e) {
    auto const s = std::make_shared<state>();
    for (int i = 0; i != 3; ++i) e.thread([=] { add(*s); });
    e.finally([=, &sums] { sums.insert(s->x.load(relaxed)); });
  });
  EXPECT_TRUE(r.exhausted);
  EXPECT_EQ(sums, std::set<int>{6});
}

// Independent reads of independent writes

template<order Store, order Load>
std::set<outcome> independent_reads() {
  return outcomes(4, {[](state& s) { s.x.store(1, Store); }, [](state& s) { s.y.store(1, Store); },
                      [](state& s) {
                        s.read[0] = s.x.load(Load);
                        s.read[1] = s.y.load(Load);
                      },
                      [](state& s) {
                        s.read[2] = s.y.load(Load);
                        s.read[3] = s.x.load(Load);
                      }});
}

TEST(independent_reads, may_differ_unless_sequentially_consistent) {
  outcome const disagreement{1, 0, 1, 0};
  EXPECT_THAT((independent_reads<release, acquire>()), Contains(disagreement));
  EXPECT_THAT((independent_reads<seq_cst, acquire>()), Contains(disagreement));
  EXPECT_THAT((independent_reads<seq_cst, seq_cst>()), Not(Contains(disagreement)));
  // C++20: even of relaxed writes, because what one load reads and the other misses orders the loads.
  EXPECT_THAT((independent_reads<relaxed, seq_cst>()), Not(Contains(disagreement)));
}

TEST(causality, is_transitive_through_acquire_and_release) {
  // WRC: what a thread has seen, it passes on.
  EXPECT_THAT(outcomes(3, {[](state& s) { s.x.store(1, relaxed); },
                           [](state& s) {
                             s.read[0] = s.x.load(relaxed);
                             s.y.store(1, release);
                           },
                           [](state& s) {
                             s.read[1] = s.y.load(acquire);
                             s.read[2] = s.x.load(relaxed);
                           }}),
              Not(Contains(outcome{1, 1, 0})));
}

TEST(thin_air, does_not_exist) {
  // Load buffering is allowed by C++20, but no execution order shows it: the explorer leaves it out.
  EXPECT_THAT(outcomes(2, {[](state& s) {
                             s.read[0] = s.x.load(relaxed);
                             s.y.store(1, relaxed);
                           },
                           [](state& s) {
                             s.read[1] = s.y.load(relaxed);
                             s.x.store(1, relaxed);
                           }}),
              Not(Contains(outcome{1, 1})));
}

// The asymmetric barrier

template<bool Light, bool Heavy>
std::set<outcome> asymmetric_dekker() {
  return outcomes(2, {[](state& s) {
                        s.x.store(1, relaxed);
                        if constexpr (Light) policy::light_barrier();
                        s.read[0] = s.y.load(relaxed);
                      },
                      [](state& s) {
                        s.y.store(1, relaxed);
                        if constexpr (Heavy)
                          policy::heavy_barrier();
                        else
                          policy::light_barrier();
                        s.read[1] = s.x.load(relaxed);
                      }});
}

TEST(asymmetric_barrier, needs_both_sides) {
  EXPECT_EQ((asymmetric_dekker<true, true>()), (std::set<outcome>{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_THAT((asymmetric_dekker<true, false>()), Contains(outcome{0, 0}));
  EXPECT_THAT((asymmetric_dekker<false, true>()), Contains(outcome{0, 0}));
}
TEST(asymmetric_barrier, is_a_full_fence_on_the_heavy_side) {
  EXPECT_THAT(outcomes(2, {[](state& s) {
                             s.x.store(1, seq_cst);
                             s.read[0] = s.y.load(seq_cst);
                           },
                           [](state& s) {
                             s.y.store(1, relaxed);
                             policy::heavy_barrier();
                             s.read[1] = s.x.load(relaxed);
                           }}),
              Not(Contains(outcome{0, 0})));
  // As fences: message passing.
  EXPECT_THAT(outcomes(2, {[](state& s) {
                             s.x.store(1, relaxed);
                             policy::heavy_barrier();
                             s.y.store(1, relaxed);
                           },
                           [](state& s) {
                             s.read[0] = s.y.load(relaxed);
                             policy::heavy_barrier();
                             s.read[1] = s.x.load(relaxed);
                           }}),
              Not(Contains(outcome{1, 0})));
}

TEST(compare_exchange, may_fail_by_an_old_value_but_never_succeed) {
  std::set<outcome> seen;
  result const r = run({.preemptions = 99}, [&](execution& e) {
    auto const s = std::make_shared<state>();
    s->read.assign(2, 9);
    e.thread([s] { s->x.store(1, relaxed); });
    e.thread([s] {
      int expected = 1;
      s->read[0] = s->x.compare_exchange_strong(expected, 2, relaxed, relaxed) ? 1 : 0;
      s->read[1] = expected;
    });
    e.finally([s, &seen] {
      seen.insert(s->read);
      EXPECT_EQ(s->x.load(), s->read[0] == 1 ? 2 : 1);
    });
  });
  EXPECT_TRUE(r.exhausted);
  EXPECT_EQ(seen, (std::set<outcome>{{1, 1}, {0, 0}}));
}
TEST(compare_exchange, fails_for_no_reason_only_if_it_is_weak) {
  auto const exchanges = [](bool weak) {
    std::set<bool> seen;
    static_cast<void>(run({}, [&](execution& e) {
      auto const s = std::make_shared<state>();
      e.thread([&seen, s, weak] {
        int expected = 0;
        seen.insert(weak ? s->x.compare_exchange_weak(expected, 1)
                         : s->x.compare_exchange_strong(expected, 1));
        EXPECT_EQ(expected, 0);
      });
    }));
    return seen;
  };
  EXPECT_EQ(exchanges(false), (std::set<bool>{true}));
  EXPECT_EQ(exchanges(true), (std::set<bool>{false, true}));
}

} // namespace
