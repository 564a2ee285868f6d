// dump(): what all threads and suspended coroutines wait for.
#include <rubato/rubato.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace rubato_test {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

namespace {

std::string dumped() {
  std::ostringstream text;
  rubato::dump(text);
  return std::move(text).str();
}

/// The text, as soon as it has all of these; else the last one.
std::string dumped_with(std::vector<std::string> const& parts) {
  std::string text;
  eventually([&] {
    text = dumped();
    return std::ranges::all_of(parts, [&](std::string const& p) { return text.find(p) != text.npos; });
  });
  return text;
}

std::size_t count_of(std::string const& part, std::string const& text) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

} // namespace

rubato::task<int> innermost(rubato::shared_future<int> f) { co_return co_await f; }
rubato::task<int> middle(rubato::shared_future<int> f) {
  int const n = co_await innermost(f);
  co_return n + 1;
}
rubato::task<int> outermost(rubato::shared_future<int> f) {
  int const n = co_await middle(f);
  co_return n + 1;
}
rubato::task<int> onlooker(rubato::future<int> f) {
  int const n = co_await std::move(f);
  co_return n + 1;
}
rubato::task<int> gatherer(rubato::shared_future<int> f) {
  auto const [a, b] = co_await rubato::when_all(innermost(f), middle(f));
  co_return a + b;
}

TEST(dump, shows_functions_and_what_they_await) {
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  rubato::promise<int> promise;
  rubato::shared_future<int> const pending = promise.get_future().share();
  rubato::future<int> last = pool.spawn(onlooker(pool.spawn(outermost(pending))));
  std::string const text = dumped_with({"pool \"engine\": size 2, queued 0, threads", "onlooker",
                                        "    of the coroutine at ", "innermost", "        pending\n"});
  EXPECT_THAT(text, HasSubstr("pool \"engine\": size 2, queued 0, threads ")) << text;
  EXPECT_THAT(text, ContainsRegex("coroutine at 0x[0-9a-f]+:\n"
                                  "  #0 rubato_test::onlooker\\(rubato::future<int>\\)\n"
                                  "  awaits a future<int>\n"
                                  "    of the coroutine at 0x[0-9a-f]+:\n"
                                  "      #0 rubato_test::innermost\\(rubato::shared_future<int>\\)\n"
                                  "      #1 rubato_test::middle\\(rubato::shared_future<int>\\)\n"
                                  "      #2 rubato_test::outermost\\(rubato::shared_future<int>\\)\n"
                                  "      awaits a shared_future<int>\n"
                                  "        pending\n"))
      << text;
  EXPECT_EQ(count_of("outermost", text), 1U) << text; // not once more for itself
  promise.set_value(1);
  EXPECT_EQ(last.get(), 4);
}

TEST(dump, shows_members_of_groups_and_nodes) {
  rubato::pool pool(2);
  rubato::promise<int> promise;
  rubato::shared_future<int> const pending = promise.get_future().share();
  rubato::future<int> sum = pool.spawn(gatherer(pending));
  rubato::task_graph graph;
  graph.add("physics", [&]() -> rubato::task<> { static_cast<void>(co_await middle(pending)); });
  rubato::future<void> run =
      pool.spawn([](rubato::task_graph& g) -> rubato::task<> { co_await g.async_run(); }, std::ref(graph));
  std::string const text =
      dumped_with({"when_all()", "the node \"physics\" of a task_graph", "a run of a task_graph"});
  EXPECT_THAT(text, HasSubstr("when_all()")) << text;
  EXPECT_THAT(text,
              ContainsRegex("  #[0-9] the node \"physics\" of a task_graph\n  awaits a shared_future<int>\n"))
      << text;
  EXPECT_THAT(text, HasSubstr("awaits a run of a task_graph")) << text;
  promise.set_value(1);
  EXPECT_EQ(sum.get(), 3);
  run.get();
}

rubato::task<> lock_it(rubato::async_mutex& m) { auto const held = co_await m.scoped_lock(); }
rubato::task<> receive_one(rubato::channel<int>& c) { static_cast<void>(co_await c.receive()); }
rubato::task<> sleep_long() { co_await rubato::sleep_for(std::chrono::hours(2)); }
rubato::task<> join_scope(rubato::channel<int>& c) {
  co_await rubato::with_async_scope([&c](rubato::scope& s) -> rubato::task<> {
    s.spawn(receive_one(c));
    co_await s.join();
  });
}

TEST(dump, says_why) {
  rubato::async_mutex m;
  ASSERT_TRUE(m.try_acquire());
  rubato::channel<int> empty(1);
  rubato::pool pool(2);
  auto locks = pool.spawn(lock_it(m));
  auto receives = pool.spawn(receive_one(empty));
  auto scoped = pool.spawn(join_scope(empty));
  auto sleeps = pool.spawn(sleep_long());
  std::vector<std::string> const reasons{
      "lock_it(rubato::async_mutex&)\n  awaits a lock or a semaphore\n",
      "receive_one(rubato::channel<int>&)\n  awaits a value of a channel\n", "awaits the end of a scope\n",
      "sleeps, for another 7"};
  std::string const text = dumped_with(reasons);
  for (std::string const& r : reasons) EXPECT_THAT(text, HasSubstr(r)) << text;
  m.release();
  for (int i = 0; i != 2; ++i) EXPECT_TRUE(empty.send_blocking(i));
  locks.get();
  receives.get();
  scoped.get();
}

TEST(dump, says_what_threads_wait_for) {
  rubato::pool pool(2);
  rubato::promise<void> go;
  auto waits = pool.spawn([f = go.get_future()]() mutable { f.get(); });
  std::string const text = dumped_with({" waits in "});
  EXPECT_THAT(text, ContainsRegex("thread [0-9]+ \\([0-9]+\\) waits in [^\n]*, for [0-9.]+ s\n")) << text;
  go.set_value();
  waits.get();
}

TEST(dump, works_while_all_workers_are_stuck) {
  hang_guard const guard;
  gate open;
  rubato::pool pool(rubato::pool_options().workers(2).spares(0));
  rubato::channel<int> c(1);
  auto receives = pool.spawn(receive_one(c));
  ASSERT_THAT(dumped_with({"receive_one"}), HasSubstr("receive_one"));
  std::atomic<int> stuck{0};
  std::string inside;
  auto first = pool.spawn([&] {
    ++stuck;
    eventually([&] { return stuck == 2; });
    inside = dumped(); // by a worker itself
    open.wait();
  });
  auto second = pool.spawn([&] {
    ++stuck;
    open.wait();
  });
  ASSERT_TRUE(eventually([&] { return stuck == 2; }));
  for (int i = 0; i != 5; ++i) pool.enqueue([] {});
  std::string const text = dumped_with({"blocked in the kernel"});
  open.open();
  first.get();
  second.get();
  EXPECT_THAT(text, HasSubstr("receive_one(rubato::channel<int>&)\n  awaits a value of a channel\n")) << text;
  EXPECT_THAT(text, ContainsRegex("thread [0-9]+ \\([0-9]+\\) runs a task, which is blocked in the kernel\n"))
      << text;
  EXPECT_THAT(inside, HasSubstr("awaits a value of a channel")) << inside;
  static_cast<void>(c.send_blocking(1));
  receives.get();
}

/// Its wait is over, and no worker has run it since.
TEST(dump, tells_what_is_ready) {
  hang_guard const guard;
  gate open;
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  rubato::channel<int> c(1);
  auto receives = pool.spawn(receive_one(c));
  ASSERT_THAT(dumped_with({"receive_one"}), HasSubstr("receive_one"));
  std::atomic<bool> stuck{false};
  auto blocks = pool.spawn([&] {
    stuck = true;
    computing_until([&] { return open.is_open(); }); // relief sends a thread, but it has to look first
  });
  ASSERT_TRUE(eventually([&] { return stuck.load(); }));
  static_cast<void>(c.try_send(1));
  // An extra thread runs ready tasks from time to time: it may come before the dump.
  std::string const text = dumped();
  open.open();
  blocks.get();
  receives.get();
  if (text.find("receive_one") == text.npos) return;
  EXPECT_THAT(text, testing::AnyOf(HasSubstr("is ready; it awaits a value of a channel"),
                                   HasSubstr("awaits something foreign")))
      << text;
}

TEST(dump, counts_what_is_alike) {
  rubato::async_latch latch(1);
  rubato::pool pool(2);
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 1000; ++i)
    all.push_back(
        pool.spawn([](rubato::async_latch& l) -> rubato::task<> { co_await l.wait(); }, std::ref(latch)));
  std::string const text = dumped_with({", and 999 more like it:\n"});
  EXPECT_THAT(text, HasSubstr(", and 999 more like it:\n"));
  EXPECT_EQ(count_of("awaits an event or a latch", text), 1U) << text;
  latch.count_down();
  for (auto& f : all) f.get();
}

TEST(dump, counts_what_awaits_alike_results) {
  rubato::pool pool(2);
  rubato::promise<int> promise;
  rubato::shared_future<int> const pending = promise.get_future().share();
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 100; ++i) all.push_back(pool.spawn(outermost(pending)));
  std::string const text = dumped_with({", and 99 more like it:\n"});
  EXPECT_THAT(text, HasSubstr(", and 99 more like it:\n")) << text;
  promise.set_value(1);
  for (auto& f : all) EXPECT_EQ(f.get(), 3);
}

rubato::task<int> onlooker_of(rubato::shared_future<int>& f, rubato::event& go) {
  co_await go.wait();
  int const n = co_await f;
  co_return n;
}

TEST(dump, shows_a_ring_once) {
  rubato::event go;
  rubato::shared_future<int> a, b;
  rubato::pool pool(2);
  a = pool.spawn(onlooker_of(b, go)).share();
  b = pool.spawn(onlooker_of(a, go)).share();
  go.set();
  std::string const text = dumped_with({"they wait for each other"});
  EXPECT_THAT(text, ContainsRegex("coroutine at 0x[0-9a-f]+:\n"
                                  "  #0 [^\n]*onlooker_of[^\n]*\n"
                                  "  awaits a shared_future<int>\n"
                                  "    of the coroutine at 0x[0-9a-f]+:\n"
                                  "      #0 [^\n]*onlooker_of[^\n]*\n"
                                  "      awaits a shared_future<int>\n"
                                  "        of the coroutine at 0x[0-9a-f]+:\n"
                                  "          ... which is printed above: they wait for each other\n"))
      << text;
  EXPECT_EQ(count_of("#0 ", text), 2U) << text;
  pool.shutdown(rubato::discard);
}

rubato::task<int> links_of(int n, rubato::shared_future<int> end) {
  if (n == 0) co_return co_await end;
  int const below = co_await rubato::spawn(links_of(n - 1, end));
  co_return below + 1;
}

TEST(dump, shows_all_of_a_long_chain) {
  rubato::pool pool(2);
  rubato::promise<int> promise;
  auto all = pool.spawn(links_of(40, promise.get_future().share()));
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text = dumped_with({"... which was not looked at", "awaits a shared_future<int>\n"});
    return count_of("links_of", text) >= 41;
  }));
  EXPECT_THAT(text, HasSubstr("... which was not looked at")) << text;
  EXPECT_THAT(text, HasSubstr("awaits a shared_future<int>\n")) << text;
  promise.set_value(0);
  EXPECT_EQ(all.get(), 40);
}

rubato::task<int> dives(int depth, rubato::event& go) {
  if (depth == 0) {
    co_await go.wait();
    co_return 0;
  }
  int const n = co_await dives(depth - 1, go);
  co_return n + 1;
}

TEST(dump, cuts_a_deep_coroutine) {
  rubato::event go;
  rubato::pool pool(1);
  auto all = pool.spawn(dives(1000, go));
  std::string const text = dumped_with({"#64 and others, outside of these\n"});
  EXPECT_THAT(text, HasSubstr("#64 and others, outside of these\n  awaits an event or a latch\n"));
  go.set();
  EXPECT_EQ(all.get(), 1000);
}

/// Coroutines are suspended and resumed, and end, while others look at them.
TEST(dump, beside_coroutines_that_go_on) {
  hang_guard const guard;
  int const rounds = static_cast<int>(scaled(100));
  rubato::pool pool(2);
  std::atomic<bool> over{false};
  auto const chatter = [](std::atomic<bool>& end) -> rubato::task<> {
    rubato::channel<int> c(0);
    while (!end) {
      auto const echo = [](rubato::channel<int>& to) -> rubato::task<int> {
        static_cast<void>(co_await to.send(1));
        co_return 1;
      };
      rubato::future<int> f = rubato::spawn(echo(c));
      static_cast<void>(co_await c.receive());
      static_cast<void>(co_await std::move(f));
      static_cast<void>(co_await rubato::when_any(rubato::sleep_for(std::chrono::microseconds(10)),
                                                  rubato::sleep_for(std::chrono::hours(1))));
    }
  };
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 8; ++i) all.push_back(pool.spawn(chatter, std::ref(over)));
  std::thread second([&] {
    for (int i = 0; i != rounds / 4; ++i) static_cast<void>(dumped());
  });
  int seen = 0; // dumps that have found some suspended
  EXPECT_TRUE(
      eventually([&] { return (seen += dumped().find("coroutine at ") != std::string::npos) >= rounds; }));
  second.join();
  over = true;
  for (auto& f : all) f.get();
}

// The child waited for the lock of the loader, which the dumping thread had at the moment of the fork.
TEST(dump, regression_in_the_child_of_a_fork_beside_a_dump) {
  if (under_tsan) GTEST_SKIP() << "threads in the child of a fork";
  hang_guard const guard;
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  std::atomic<bool> over{false};
  std::thread looks([&] {
    while (!over) static_cast<void>(dumped());
  });
  for (unsigned round = scaled(300); round != 0; --round) {
    int const child = ::fork();
    if (child == 0) {
      ::alarm(20);
      rubato::pool(1).spawn([] {}).get();
      std::_Exit(dumped().empty() ? 1 : 0);
    }
    EXPECT_EQ(wait_for_child(child), 0);
  }
  over = true;
  looks.join();
}

/// Pools come, and end with coroutines that are never resumed.
TEST(dump, beside_pools_that_end) {
  hang_guard const guard;
  std::atomic<bool> over{false};
  std::thread looks([&] {
    while (!over) static_cast<void>(dumped());
  });
  for (int i = 0; i != static_cast<int>(scaled(50)); ++i) {
    rubato::channel<int> never(1);
    rubato::pool pool(2);
    for (int k = 0; k != 20; ++k) pool.enqueue(receive_one(never));
    if (i % 2 == 0) pool.shutdown(rubato::discard);
  }
  over = true;
  looks.join();
}

} // namespace rubato_test
