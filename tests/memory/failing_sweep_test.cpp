// The sweep over everything but sockets and the start of a pool.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include "memory/failing_sweep.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::pool;
using rubato::task;

task<int> number(int n) {
  co_await rubato::yield();
  co_return n;
}
task<int> number_late(int n) {
  co_await rubato::sleep_for(10us);
  co_return n;
}
task<void> nothing() { co_await rubato::yield(); }

std::vector<operation> const pools_and_futures{
    {"spawn", [](pool& p) { require(p.spawn([] { return 1; }).get() == 1); }},
    {"spawn with arguments",
     [](pool& p) { require(p.spawn([](int a, int b) { return a + b; }, 1, 2).get() == 3); }},
    {"spawn with a token",
     [](pool& p) { p.spawn([](std::stop_token const& t) { require(t.stop_possible()); }).get(); }},
    {"spawn of a task", [](pool& p) { require(p.spawn(number(1)).get() == 1); }},
    {"spawn that flattens", [](pool& p) { require(p.spawn([] { return number(1); }).get() == 1); }},
    {"spawn with a priority",
     [](pool& p) { require(p.spawn(rubato::priority::high, [] { return 1; }).get() == 1); }},
    {"spawn_on", [](pool& p) { require(p.spawn_on(0, [] { return 1; }).get() == 1); }, true},
    {"this_task_stop_token",
     [](pool& p) { require(p.spawn([] { return rubato::this_task_stop_token().stop_possible(); }).get()); }},
    {"submit",
     [](pool& p) {
       auto f = p.submit([] { return 1; });
       static_cast<void>(p.wait_idle());
       require(f.get() == 1);
     }},
    {"broadcast", [](pool& p) { static_cast<void>(p.broadcast([] { return 1; })); }, true},
    {"block_on", [](pool& p) { require(p.block_on(number(1)) == 1); }},
    {"run", [](pool& p) { require(p.run([] { return 1; }) == 1); }},
    {"blocking", [](pool& p) { p.spawn([] { rubato::blocking([] {}); }).get(); }},
    {"then",
     [](pool& p) { require(p.spawn([] { return 1; }).then([](int n) { return n + 1; }).get() == 2); }},
    {"then in a pool",
     [](pool& p) { require(p.spawn([] { return 1; }).then(p, [](int n) { return n + 1; }).get() == 2); }},
    {"then that flattens", [](pool& p) { require(p.spawn([] { return 1; }).then(number).get() == 1); }},
    {"share",
     [](pool& p) {
       auto f = p.spawn([] { return 1; }).share();
       require(f.get() == 1 && f.then([](int n) { return n; }).get() == 1);
     }},
    {"canceller", [](pool& p) { p.spawn([] { return 1; }).canceller().cancel(); }},
    {"stop_with",
     [](pool& p) {
       std::stop_source stop;
       require(p.spawn([] { return 1; }).stop_with(stop.get_token()).get() == 1);
     }},
    {"promise",
     [](pool&) {
       rubato::promise<int> made;
       auto f = made.get_future();
       made.set_value(1);
       require(f.get() == 1);
     }},
    {"make_ready_future", [](pool&) { require(rubato::make_ready_future(1).get() == 1); }},
    {"when_all of futures",
     [](pool& p) {
       auto [a, b] = rubato::when_all(p.spawn([] { return 1; }), p.spawn(number(2))).get();
       require(a == 1 && b == 2);
     }},
    {"when_any of futures",
     [](pool& p) {
       static_cast<void>(rubato::when_any(p.spawn([] { return 1; }), p.spawn([] { return 2; })).get());
     }},
    {"when_first of futures",
     [](pool& p) {
       static_cast<void>(rubato::when_first(p.spawn([] { return 1; }), p.spawn([] { return 2; })).get());
     }},
    {"a strand",
     [](pool& p) {
       rubato::strand s(p);
       require(s.spawn([] { return 1; }).get() == 1 && s.spawn(number(2)).get() == 2);
     }},
    {"per_worker",
     [](pool& p) {
       rubato::per_worker<int> each(p);
       p.spawn([&] { each.local() = 1; }).get();
     }},
    {"resize",
     [](pool& p) {
       unsigned const workers = p.resize(3);
       static_cast<void>(p.resize(workers));
     },
     true},
};

std::vector<operation> const queued_work{
    {"enqueue",
     [](pool& p) {
       std::atomic<bool> ran{false};
       idle_at_end const idle(p);
       p.enqueue([&] { ran = true; });
       static_cast<void>(p.wait_idle());
       require(ran);
     }},
    {"try_enqueue",
     [](pool& p) {
       std::atomic<bool> ran{false};
       idle_at_end const idle(p);
       require(p.try_enqueue([&] { ran = true; }));
       static_cast<void>(p.wait_idle());
       require(ran);
     }},
    {"enqueue of a coroutine",
     [](pool& p) {
       p.enqueue([] { return nothing(); });
       static_cast<void>(p.wait_idle());
     }},
    {"enqueue_bulk with a token",
     [](pool& p) {
       p.enqueue_bulk(5, [](std::stop_token const&, std::size_t) {});
       static_cast<void>(p.wait_idle());
     }},
    {"enqueue_bulk",
     [](pool& p) {
       std::atomic<int> ran{0};
       idle_at_end const idle(p);
       p.enqueue_bulk(20, [&](std::size_t) { ++ran; });
       static_cast<void>(p.wait_idle());
       require(ran == 20);
     }},
    {"enqueue_after",
     [](pool& p) {
       std::atomic<bool> ran{false};
       idle_at_end const idle(p);
       static_cast<void>(p.enqueue_after(10us, [&] { ran = true; }));
       static_cast<void>(p.wait_idle());
       require(ran);
     }},
    {"enqueue_after that is cancelled", [](pool& p) { require(p.enqueue_after(1h, [] {}).cancel()); }},
    {"detach",
     [](pool& p) {
       p.spawn(number(1)).detach();
       static_cast<void>(p.wait_idle());
     }},
    {"a routine",
     [](pool& p) {
       std::atomic<int> runs{0};
       rubato::routine r([&](rubato::routine&) { ++runs; });
       idle_at_end const idle(p);
       r.post(p);
       static_cast<void>(p.wait_idle());
       r.post_after(p, 10us);
       static_cast<void>(p.wait_idle());
       require(runs == 2);
     }},
};

std::vector<operation> const structured{
    {"join",
     [](pool& p) {
       auto const [a, b] = rubato::join(p, [] { return 1; }, [] { return 2; });
       require(a + b == 3);
     }},
    {"join with tokens",
     [](pool& p) {
       static_cast<void>(rubato::join(p, [](std::stop_token const&) {}, [](std::stop_token const&) {}));
     }},
    {"invoke",
     [](pool& p) { static_cast<void>(rubato::invoke(p, [] {}, [] { return 1; }, [] { return 2; })); }},
    {"for_index",
     [](pool& p) {
       std::atomic<int> sum{0};
       rubato::for_index(p, 0, 100, [&](int i) { sum += i; });
       require(sum == 4950);
     }},
    {"scan",
     [](rubato::pool& p) {
       std::vector<int> all(5'000, 1);
       int one = 1;
       rubato::inclusive_scan(p, all, all.begin(), [&one](int a, int b) { return a + b * one; });
       require(all.back() == 5'000);
     }},
    {"fold",
     [](rubato::pool& p) {
       std::vector<int> const all(1'000, 1);
       auto const append = [](std::vector<int>& v, int x) { v.push_back(x); };
       auto const join_them = [](std::vector<int>& a, std::vector<int> const& b) {
         a.insert(a.end(), b.begin(), b.end());
       };
       require(rubato::fold(p, all, [] { return std::vector<int>(); }, append, join_them).size() == 1'000);
     }},
    {"reduce",
     [](pool& p) {
       std::vector<int> const all(1000, 1);
       require(rubato::reduce(p, all, 0, std::plus<>()) == 1000);
       require(rubato::reduce(p, rubato::deterministic, all, 0, std::plus<>()) == 1000);
     }},
    {"with_scope",
     [](pool& p) {
       std::atomic<int> ran{0};
       rubato::with_scope(p, [&](rubato::scope& s) {
         s.spawn([&] { ++ran; });
         s.spawn([&](std::stop_token const&) { ++ran; });
         s.spawn(nothing());
         ran += s.async([] { return 1; }).get();
       });
       require(ran == 3);
     }},
    {"task_group",
     [](pool& p) {
       std::atomic<int> ran{0};
       rubato::task_group g(p);
       g.spawn([&] { ++ran; });
       g.spawn(nothing());
       g.wait();
       require(ran == 1);
     }},
    {"with_async_scope",
     [](pool& p) {
       p.block_on(rubato::with_async_scope([](rubato::scope& s) -> task<void> {
         s.spawn(nothing());
         s.spawn([] { return nothing(); });
         co_await s.join();
       }));
     }},
    {"race", [](pool& p) { require(rubato::race(p, [] { return 1; }) == 1); }},
    {"hedge", [](pool& p) { require(rubato::hedge(p, [](std::stop_token const&) { return 1; }) == 1); }},
    {"async_race", [](pool& p) { require(p.block_on(rubato::async_race([] { return number(1); })) == 1); }},
    {"async_hedge", [](pool& p) { require(p.block_on(rubato::async_hedge([] { return number(1); })) == 1); }},
};

task<void> waits_of_locks() {
  rubato::async_mutex m;
  rubato::async_semaphore s(2);
  rubato::async_latch l(1);
  rubato::event e;
  {
    rubato::async_lock const lock = co_await m.scoped_lock();
    rubato::async_permits const permits = co_await s.scoped_acquire(2);
  }
  l.count_down();
  co_await l.wait();
  e.set();
  bool const set = co_await e.wait_for(1h);
  require(set);
}
task<void> contends(rubato::async_mutex& m, int& inside) {
  rubato::async_lock const lock = co_await m.scoped_lock();
  require(++inside == 1);
  co_await rubato::yield();
  --inside;
}
rubato::async_generator<int> values() {
  co_yield 1;
  co_await rubato::yield();
  co_yield 2;
}

std::vector<operation> const coroutines{
    {"sleep_for", [](pool& p) { p.block_on(rubato::sleep_for(10us)); }},
    {"interval",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         rubato::interval i(10us);
         co_await i.tick();
       }());
     }},
    {"resume_on",
     [](pool& p) { p.block_on([](pool& to) -> task<void> { co_await rubato::resume_on(to); }(p)); }},
    {"when_all of tasks",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         auto const [a, b] = co_await rubato::when_all(number(1), number(2));
         require(a + b == 3);
       }());
     }},
    {"when_any of tasks",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         auto const first = co_await rubato::when_any(number(1), number_late(2));
         require(first.index < 2);
       }());
     }},
    {"when_first of tasks",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         auto const first = co_await rubato::when_first(number_late(1), rubato::sleep_for(1h));
         require(first.index == 0);
       }());
     }},
    {"with_deadline that is met",
     [](pool& p) {
       auto const n = p.block_on(rubato::with_deadline(number(1), 1h));
       require(n == 1);
     }},
    {"with_deadline that passes",
     [](pool& p) {
       bool const in_time = p.block_on(rubato::with_deadline(rubato::sleep_for(1h), 10us));
       require(!in_time);
     }},
    {"with_deadline of a receive",
     [](pool& p) {
       rubato::channel<int> c(1);
       require(!p.block_on(rubato::with_deadline(c.receive(), 10us)));
     }},
    {"with_deadline of a future",
     [](pool& p) {
       auto const n = p.block_on(rubato::with_deadline(p.spawn(number(1)), 1h));
       require(n == 1);
     }},
    {"shielded", [](pool& p) { require(p.block_on(rubato::shielded(number(1))) == 1); }},
    {"channels",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         rubato::channel<std::string> c(2);
         bool const sent = co_await c.send("a text that is too long for its small buffer");
         auto const got = co_await c.receive();
         require(sent && got.has_value());
       }());
     }},
    {"a rendezvous",
     [](pool& p) {
       rubato::channel<int> c(0);
       rubato::with_scope(p, [&](rubato::scope& s) {
         s.spawn([](rubato::channel<int>& to) -> task<void> { co_await to.send(1); }(c));
         s.spawn([](rubato::channel<int>& from) -> task<void> { co_await from.receive(); }(c));
       });
     }},
    {"select",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         rubato::channel<int> a(1), b(1);
         static_cast<void>(a.try_send(1));
         co_await rubato::select(a.receiving([](std::optional<int>) {}),
                                 b.receiving([](std::optional<int>) {}));
       }());
     }},
    {"locks", [](pool& p) { p.block_on(waits_of_locks()); }},
    {"a lock that others hold",
     [](pool& p) {
       rubato::async_mutex m;
       int inside = 0;
       rubato::with_scope(p, [&](rubato::scope& s) {
         for (int i = 0; i != 3; ++i) s.spawn(contends(m, inside));
       });
     }},
    {"a generator",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         auto g = values();
         int sum = 0;
         for (;;) {
           auto const value = co_await g.next();
           if (!value) break;
           sum += *value;
         }
         require(sum == 3);
       }());
     }},
};

RUBATO_TEST_WITH_WORKERS(failing_sweep, all_counts);

TEST_P(failing_sweep, regression_of_pools_and_futures) { sweep(pools_and_futures); }
TEST_P(failing_sweep, regression_of_queued_work) { sweep(queued_work); }
TEST_P(failing_sweep, regression_of_structured_work) { sweep(structured); }
TEST_P(failing_sweep, regression_of_coroutines) { sweep(coroutines); }

} // namespace
