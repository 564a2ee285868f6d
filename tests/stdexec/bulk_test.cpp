// bulk on a pool: a loop of for_range(), by the domain of stdexec_scheduler.
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/tally.hpp"

#include <rubato/rubato.hpp>
#include <rubato/stdexec.hpp>

#include <gtest/gtest.h>
#include <stdexec/execution.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rubato_test {
namespace {

struct bulks : on_workers {
  rubato::stdexec_scheduler const on_pool{pool};
};

TEST_P(bulks, calls_for_each_index_once) {
  for (std::size_t const n : {0UL, 1UL, 2UL, 1'000UL, 50'000UL}) {
    tally each(n), chunked(n), unchunked(n);
    auto const here = [&] { EXPECT_EQ(rubato::current_pool(), &pool); };
    stdexec::sync_wait(stdexec::schedule(on_pool) |
                       stdexec::bulk(stdexec::par, n,
                                     [&](std::size_t i) {
                                       if (i % 1'000 == 0) here();
                                       each.hit(i);
                                     }) |
                       stdexec::bulk_chunked(stdexec::par_unseq, n,
                                             [&](std::size_t lo, std::size_t hi) {
                                               EXPECT_LT(lo, hi);
                                               for (; lo != hi; ++lo) chunked.hit(lo);
                                             }) |
                       stdexec::bulk_unchunked(stdexec::par, n, [&](std::size_t i) { unchunked.hit(i); }));
    each.expect_each_once();
    chunked.expect_each_once();
    unchunked.expect_each_once();
    EXPECT_EQ(each.total() + chunked.total() + unchunked.total(), 3 * n);
  }
}

TEST_P(bulks, passes_the_values_by_reference_and_on) {
  auto [text, items] =
      stdexec::sync_wait(
          stdexec::just(std::string("kept"), std::vector<int>(1'000)) | stdexec::continues_on(on_pool) |
          stdexec::bulk(stdexec::par, 1'000,
                        [](int i, std::string&, std::vector<int>& v) { v[static_cast<std::size_t>(i)] = i; }))
          .value();
  EXPECT_EQ(text, "kept");
  for (int i = 0; i != 1'000; ++i) ASSERT_EQ(items[static_cast<std::size_t>(i)], i);
}

TEST_P(bulks, runs_on_several_workers) {
  if (pool.size() < 2) GTEST_SKIP() << "one worker";
  rendezvous pair(2);
  stdexec::sync_wait(stdexec::schedule(on_pool) |
                     stdexec::bulk(stdexec::par, 2, [&](int) { EXPECT_TRUE(pair.meet()); }));
}

TEST_P(bulks, sequenced_policy_stays_in_one_thread_and_in_order) {
  std::vector<int> order;
  stdexec::sync_wait(stdexec::schedule(on_pool) |
                     stdexec::bulk(stdexec::seq, 100, [&](int i) { order.push_back(i); }));
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i != 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(bulks, first_exception_is_the_error) {
  std::atomic<int> ran{0};
  EXPECT_THROW(stdexec::sync_wait(stdexec::schedule(on_pool) | stdexec::bulk(stdexec::par, 10'000,
                                                                             [&](int i) {
                                                                               ++ran;
                                                                               if (i == 17)
                                                                                 throw std::out_of_range(
                                                                                     "17");
                                                                             })),
               std::out_of_range);
  EXPECT_GE(ran, 1);
}

TEST_P(bulks, follow_the_pool_that_the_sender_before_completes_on) {
  rubato::pool other(2);
  rubato::stdexec_scheduler const on_other(other);
  stdexec::sync_wait(
      stdexec::schedule(on_pool) |
      stdexec::bulk(stdexec::par, 100, [&](int) { EXPECT_EQ(rubato::current_pool(), &pool); }) |
      stdexec::continues_on(on_other) |
      stdexec::bulk(stdexec::par, 100, [&](int) { EXPECT_EQ(rubato::current_pool(), &other); }));
}

TEST_P(bulks, work_under_let_value_and_on) {
  tally hits(2'000);
  stdexec::sync_wait(stdexec::schedule(on_pool) | stdexec::let_value([&] {
                       return stdexec::schedule(on_pool) |
                              stdexec::bulk(stdexec::par, 1'000, [&](int i) { hits.hit(i); });
                     }));
  stdexec::sync_wait(stdexec::on(
      on_pool, stdexec::just() | stdexec::bulk(stdexec::par, 1'000, [&](int i) { hits.hit(1'000 + i); })));
  hits.expect_each_once();
  EXPECT_EQ(hits.total(), 2'000U);
}

TEST_P(bulks, sender_and_its_copy_run_and_leave_nothing) {
  auto const shared = std::make_shared<std::atomic<int>>(0);
  {
    auto work = stdexec::schedule(on_pool) | stdexec::bulk(stdexec::par, 64, [shared](int) { ++*shared; });
    auto copy_of_work = work;
    stdexec::sync_wait(std::move(work));
    stdexec::sync_wait(std::move(copy_of_work));
  }
  EXPECT_EQ(*shared, 128);
  EXPECT_EQ(shared.use_count(), 1);
}

RUBATO_TEST_WITH_WORKERS(bulks, counts_with_workers);

} // namespace
} // namespace rubato_test
