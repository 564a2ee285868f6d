// The reader: names, slices, formats, the report's answers.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/race.hpp>
#include <rubato/scope.hpp>
#include <rubato/spawn.hpp>
#include <rubato/task_graph.hpp>
#include <rubato/time.hpp>
#include <rubato/trace.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trace/reader/convert.hpp"
#include "trace/reader/file/user_name.hpp"
#include "trace/reader/output/json.hpp"
#include "trace/reader/output/perfetto.hpp"
#include "trace/reader/output/report.hpp"
#include "trace/reader/timeline/thinning.hpp"
#include "trace/reader/timeline/timeline.hpp"
#include "trace_files.hpp"

namespace rubato_test {

using namespace std::chrono_literals;
using rubato::detail::recording;
using rubato::detail::slice;
using rubato::detail::slice_kind;
using rubato::detail::timeline;
using testing::HasSubstr;

void spin_for(std::chrono::nanoseconds time) {
  auto const until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

rubato::task<int> fetch_page(int n) {
  for (int i = 0; i != 10; ++i) co_await rubato::sleep_for(2ms); // one that is over at once is no wait
  co_return n;
}

rubato::task<> store_page(int /*n*/) { co_await rubato::sleep_for(2ms); }

struct traced_callable {
  void operator()() const { spin_for(20us); }
};

/// Records what f does.
template<class F>
timeline timeline_of(F f) {
  trace_path const path;
  {
    trace_on const on(path);
    f();
  }
  return rubato::detail::make_timeline(recording(path.rings()));
}

std::size_t slices_named(timeline const& t, std::string_view part) {
  std::size_t n = 0;
  for (auto const& k : t.tracks)
    for (slice const& s : k.slices) n += t.names[s.name].find(part) != std::string::npos ? 1 : 0;
  return n;
}

TEST(trace_reader, names_the_code_of_the_user) {
  timeline const t = timeline_of([] {
    rubato::pool pool(2);
    pool.enqueue(traced_callable{});
    pool.spawn(traced_callable{}).get();
    rubato::spawn(fetch_page(3)).get();
    rubato::trace::span const s("a span of the user");
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_EQ(slices_named(t, "traced_callable"), 2U);
  EXPECT_GE(slices_named(t, "fetch_page(int)"), 1U);
  EXPECT_EQ(slices_named(t, "a span of the user"), 1U);
  for (std::string const& n : t.names)
    EXPECT_THAT(n, testing::Not(HasSubstr("rubato::detail::closure_task"))) << n;
}

[[gnu::noinline]] void plain_function() { spin_for(10us); }
[[gnu::noinline]] int plain_function_of(int n) noexcept {
  spin_for(10us);
  return n;
}

/// Their type is that of all functions with such arguments. A child that the scope's own thread runs is a
/// part of what that thread does.
TEST(trace_reader, names_plain_functions) {
  timeline const t = timeline_of([] {
    rubato::pool pool(2);
    pool.enqueue(plain_function);
    pool.spawn(plain_function).get();
    EXPECT_EQ(pool.spawn(plain_function_of, 3).get(), 3);
    rubato::with_scope(pool, [](rubato::scope& s) { s.spawn(plain_function); });
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_GE(slices_named(t, "plain_function()"), 2U) << rubato::detail::report_of(t);
  EXPECT_EQ(slices_named(t, "plain_function_of(int)"), 1U);
}

/// An entry of a queue that begins one has another address than the coroutine has afterwards.
TEST(trace_reader, names_coroutines_without_a_future) {
  timeline const t = timeline_of([] {
    rubato::pool pool(2);
    pool.enqueue(store_page(3));
    pool.enqueue([] { return store_page(4); });
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_EQ(slices_named(t, "store_page(int)"), 4U); // each before its sleep and afterwards
  EXPECT_EQ(slices_named(t, "enqueued_coroutine"), 0U);
  auto const awaits = [&t](auto const& w) {
    return w.suspended && t.names[w.in].find("store_page(int)") != std::string::npos ? w.times : 0;
  };
  std::uint64_t times = 0;
  for (auto const& w : t.waits) times += awaits(w);
  EXPECT_EQ(times, 2U);
}

struct racing_copy {
  int operator()() const {
    spin_for(10us);
    return 1;
  }
};

TEST(trace_reader, shows_copies_of_a_race) {
  timeline const t = timeline_of([] { EXPECT_EQ(rubato::race(racing_copy{}), 1); });
  std::size_t copies = 0;
  for (auto const& k : t.tracks)
    for (slice const& s : k.slices)
      copies +=
          s.kind == slice_kind::copy && t.names[s.name].find("racing_copy") != std::string::npos ? 1 : 0;
  EXPECT_GE(copies, 1U) << rubato::detail::report_of(t);
  EXPECT_LE(copies, 2U);
}

TEST(trace_reader, counts_what_came_from_other_threads) {
  using namespace rubato::detail;
  EXPECT_EQ(transfer_in(pack_transfer(transfer::taken)), transfer::taken);
  EXPECT_EQ(number_in(pack_transfer(transfer::taken)), 1U);
  EXPECT_EQ(transfer_in(pack_transfer(transfer::stolen, 17)), transfer::stolen);
  EXPECT_EQ(number_in(pack_transfer(transfer::stolen, 17)), 17U);
  EXPECT_EQ(number_in(pack_transfer(transfer::stolen, 128)), 63U);
  timeline t;
  t.names = {""};
  t.transfers = {.handed = 5, .taken = 1, .steals = 3, .stolen = 40};
  EXPECT_THAT(report_of(t), HasSubstr("3 steals of 40 queued tasks"));
}

TEST(trace_reader, names_the_nodes_of_a_graph) {
  timeline const t = timeline_of([] {
    rubato::task_graph g;
    auto parse = g.add("parse the input", [] { spin_for(10us); });
    auto print = g.add("print it", [] { spin_for(10us); });
    print.after(parse);
    g.run();
  });
  EXPECT_EQ(slices_named(t, "parse the input"), 1U);
  EXPECT_EQ(slices_named(t, "print it"), 1U);
}

TEST(trace_reader, cuts_symbols_down_to_what_the_user_wrote) {
  using rubato::detail::user_name;
  EXPECT_EQ(user_name("vtable for rubato::detail::typed_call_copies<ask_server const&>"), "ask_server");
  EXPECT_EQ(user_name("rubato::detail::closure_task<main::{lambda()#1}>::run(rubato::detail::task&, "
                      "rubato::detail::thread_context*)"),
            "main::{lambda()#1}");
  EXPECT_EQ(user_name("vtable for rubato::detail::job<void, rubato::detail::call_with<fib(unsigned int)::"
                      "{lambda()#2}, int>>"),
            "fib(unsigned int)::{lambda()#2}");
  EXPECT_EQ(user_name("fetch(fetch(int)::_Z5fetchi.Frame*) [clone .actor]"), "fetch(int)");
  EXPECT_EQ(user_name("fetch(int) [clone .resume]"), "fetch(int)");
  EXPECT_EQ(
      user_name("(anonymous namespace)::a::a()::{lambda()#1}::operator()((anonymous namespace)::a::a()::"
                "{lambda()#1}::operator()() const::_ZZN12_GLOBAL__N_11aC4EvENKUlvE_clEv.Frame*) "
                "[clone .actor]"),
      "a::a()::{lambda()#1}");
  EXPECT_EQ(user_name("main::$_0::operator()(int) const [clone .resume]"), "main::$_0");
  EXPECT_EQ(
      user_name("rubato::detail::closure_task<main::{lambda()#1}::operator()() const::{lambda()#2}>::run("
                "rubato::detail::task&, rubato::detail::thread_context*)"),
      "main::{lambda()#1}::operator()() const::{lambda()#2}");
  EXPECT_EQ(user_name("(anonymous namespace)::parse(char const*)"), "parse(char const*)");
  EXPECT_EQ(
      user_name("rubato::task<decltype (((make_awaiter((std::declval<rubato::task<long> >)())).await_resume)"
                "())> rubato::detail::await_borrowed<rubato::task<long> >(rubato::task<long>&&) "
                "[clone .resume]"),
      "block_on");
  EXPECT_EQ(
      user_name(
          "_ZZN6rubato6detail7on_poolIZNS0_10for_chunksIZNS0_19call_for_each_indexIiiZ4mainEUliE_EEvPNS_"
          "4poolET_T0_RT1_EUlRNS0_14thread_contextEmmE_EEvS6_mS7_EUlSC_E_EEvS6_OS7_ENUlPvSC_E_4_FUNESO_SC_"),
      "main::{lambda}");
  EXPECT_EQ(user_name("_ZN6rubato6detail4jobIZN12_GLOBAL__N_15ocean4stepEvEUlvE_ENUlPvE_4_FUNES1_"),
            "ocean::step::{lambda}");
  EXPECT_EQ(user_name("unsigned long a::parse<int>(int) const"), "a::parse<int>(int) const");
  EXPECT_EQ(user_name("a::operator bool() const"), "a::operator bool() const");
  EXPECT_EQ(user_name("rubato::detail::on_pool<rubato::pool::run<main::{lambda()#1}>(main::{lambda()#1}&&)::"
                      "{lambda(rubato::detail::thread_context&)#1}>(rubato::pool*, main::{lambda()#1}&&)::"
                      "{lambda(void*, rubato::detail::thread_context&)#1}::_FUN(void*)"),
            "main::{lambda()#1}");
  EXPECT_EQ(
      user_name("rubato::detail::on_pool<rubato::detail::with_fork_tree<rubato::detail::sort_elements<int*, "
                "std::less<void> >(rubato::pool*, int*, long)::{lambda(rubato::context&)#1}>(rubato::pool*, "
                "unsigned long)::{lambda(int)#1}>(rubato::pool*)::{lambda(void*)#1}::_FUN(void*)"),
      "sort");
  EXPECT_EQ(user_name("rubato::detail::graph_node::run_elsewhere(rubato::detail::thread_context&)"),
            "nodes of a graph");
  EXPECT_EQ(
      user_name("_ZN6rubato6detail8join_jobINS0_11joined_callIJNS_7contextEEEEZNKS0_9fork_tree4forkIZNKS5_14"
                "for_each_indexIZNKS0_10radix_sortIiEE14exec_elsewhere"),
      "sort");
}

TEST(trace_reader, regression_names_in_anonymous_namespaces) {
  using rubato::detail::user_name;
  EXPECT_EQ(user_name("rubato::detail::value_job<(anonymous namespace)::a::f()::$_0>::runs_to_end() const"),
            "a::f()::$_0");
  EXPECT_EQ(
      user_name("rubato::detail::closure_task<(anonymous namespace)::functor>::run(rubato::detail::task&)"),
      "functor");
}

TEST(trace_reader, names_waits) {
  using rubato::detail::wait_name;
  EXPECT_EQ(wait_name("vtable for rubato::detail::permit_wait"), "a lock or a semaphore");
  EXPECT_EQ(wait_name("vtable for rubato::detail::channel_core<message>::receive_wait"),
            "rubato::channel_core::receive_wait");
}

TEST(trace_reader, slices_nest) {
  timeline const t = timeline_of([] {
    rubato::pool pool(3);
    for (int i = 0; i < 200; ++i)
      pool.enqueue([&pool] {
        rubato::with_scope([](rubato::scope& s) {
          for (int k = 0; k < 4; ++k) s.spawn([] { spin_for(5us); });
        });
        pool.spawn([] {}).get();
      });
    EXPECT_TRUE(pool.wait_idle());
  });
  for (auto const& k : t.tracks) {
    std::vector<slice> open;
    for (slice const& s : k.slices) {
      while (!open.empty() && open.back().end <= s.begin) open.pop_back();
      EXPECT_LE(s.begin, s.end);
      EXPECT_TRUE(open.empty() || s.end <= open.back().end);
      if (s.length() > 0) open.push_back(s);
    }
  }
}

// A decoder of its own, for what the encoder writes.
struct field {
  unsigned number = 0;
  std::uint64_t value = 0;
  std::string_view text;
};

std::optional<std::vector<field>> decoded(std::string_view bytes) {
  std::size_t at = 0;
  bool fails = false;
  auto const varint = [&] {
    std::uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == bytes.size() || shift > 63) {
        fails = true;
        return n;
      }
      auto const b = static_cast<unsigned char>(bytes[at++]);
      n |= std::uint64_t{b & 127U} << shift;
      if (b < 128) return n;
    }
  };
  std::vector<field> all;
  while (at != bytes.size()) {
    std::uint64_t const key = varint();
    field f{.number = static_cast<unsigned>(key >> 3U), .value = 0, .text = {}};
    if ((key & 7U) == 0) {
      f.value = varint();
    } else {
      std::uint64_t const n = (key & 7U) == 1 ? 8 : (key & 7U) == 2 ? varint() : bytes.size() + 1;
      if (fails || n > bytes.size() - at) return {};
      f.text = bytes.substr(at, static_cast<std::size_t>(n));
      at += static_cast<std::size_t>(n);
    }
    if (fails) return {};
    all.push_back(f);
  }
  return all;
}

std::optional<field> only(std::vector<field> const& all, unsigned number) {
  for (field const& f : all)
    if (f.number == number) return f;
  return {};
}

timeline some_work() {
  return timeline_of([] {
    rubato::pool pool(2);
    for (int i = 0; i < 300; ++i) pool.enqueue([] { spin_for(2us); });
    EXPECT_TRUE(pool.wait_idle());
  });
}

TEST(trace_reader, writes_balanced_packets) {
  std::string const bytes = rubato::detail::to_perfetto(some_work());
  auto const packets = decoded(bytes);
  ASSERT_TRUE(packets.has_value());
  std::map<std::uint64_t, std::vector<std::uint64_t>> open; // by track: when the open slices began
  std::size_t begins = 0;
  for (field const& p : *packets) {
    ASSERT_EQ(p.number, 1U);
    auto const packet = decoded(p.text);
    ASSERT_TRUE(packet.has_value());
    auto const event = only(*packet, 11);
    if (!event) continue;
    auto const fields = decoded(event->text);
    ASSERT_TRUE(fields.has_value());
    std::uint64_t const at = only(*packet, 8).value().value, type = only(*fields, 9).value().value;
    auto& stack = open[only(*fields, 11).value().value];
    if (type == 1) {
      ++begins;
      EXPECT_TRUE(stack.empty() || at >= stack.back());
      stack.push_back(at);
    } else if (type == 2) {
      ASSERT_FALSE(stack.empty());
      EXPECT_GE(at, stack.back());
      stack.pop_back();
    }
  }
  EXPECT_GE(begins, 300U);
  for (auto const& [on, stack] : open) EXPECT_TRUE(stack.empty());
}

TEST(trace_reader, thins_to_what_was_asked_for) {
  timeline t = some_work();
  std::size_t tasks = 0;
  for (auto const& k : t.tracks)
    for (slice const& s : k.slices) tasks += s.kind == slice_kind::task ? s.merged : 0;
  rubato::detail::thin(t, 100);
  std::size_t left = 0, merged = 0;
  for (auto const& k : t.tracks)
    for (slice const& s : k.slices) {
      ++left;
      if (s.kind == slice_kind::task) merged += s.merged;
    }
  EXPECT_LE(left, 200U);
  EXPECT_EQ(merged, tasks);
}

TEST(trace_reader, writes_json) {
  std::string const text = rubato::detail::to_json(some_work());
  EXPECT_TRUE(text.starts_with("{\"traceEvents\":["));
  EXPECT_TRUE(text.ends_with("]}\n"));
  EXPECT_THAT(text, HasSubstr("\"ph\":\"X\""));
}

std::string report_of_work(auto f) { return rubato::detail::report_of(timeline_of(f)); }

/// The report of 10,000 tasks of this length, of which one may be longer, made up: a thread that loses its
/// CPU makes a task longer.
std::string report_of_tasks(std::chrono::nanoseconds length, std::chrono::nanoseconds longer = {}) {
  timeline t;
  t.names = {"", "a task"};
  auto& track = t.tracks.emplace_back();
  for (int i = 0; i != 10'000; ++i) {
    slice& s = track.slices.emplace_back();
    s.begin = track.last;
    s.end = track.last = s.begin + (i == 0 ? std::max(length, longer) : length).count();
    s.name = 1;
  }
  track.busy = track.last;
  return rubato::detail::report_of(t);
}

TEST(trace_report, says_whether_the_grain_is_too_fine) {
  EXPECT_THAT(report_of_tasks(100ns), HasSubstr("verdict: too fine"));
  EXPECT_THAT(report_of_tasks(200us), HasSubstr("verdict: coarse enough"));
}

/// The task that spawns them, and one that lost its CPU, take most of the time.
TEST(trace_report, regression_judges_the_grain_by_counts_too) {
  EXPECT_THAT(report_of_tasks(150ns, 10ms), HasSubstr("verdict: too fine. 9999 of 10000 tasks"));
  EXPECT_THAT(report_of_tasks(150ns, 10s), HasSubstr("verdict: coarse enough")); // queuing costs no time
}

/// Two threads, busy for a second each, and on a CPU for 0.4 of it.
timeline two_threads_off_cpu(double without_cpu, std::uint64_t switches) {
  timeline t;
  t.names = {"", "a task"};
  for (int i = 0; i != 2; ++i) {
    auto& track = t.tracks.emplace_back();
    track.busy = track.last = 1'000'000'000;
    track.slices.push_back({.end = track.last, .name = 1});
    track.on_cpu = 0.4;
    track.without_cpu = without_cpu;
    track.switches = switches;
  }
  return t;
}

TEST(trace_report, tells_a_lock_from_a_sleep_and_from_want_of_cpus) {
  std::string const few_cpus = "verdict: too few CPUs";
  std::string lock = rubato::detail::report_of(two_threads_off_cpu(0.3, 1'000));
  EXPECT_THAT(lock, HasSubstr("verdict: a lock"));
  EXPECT_THAT(lock, HasSubstr(few_cpus)); // on a busy machine both
  EXPECT_THAT(lock, HasSubstr("300.0 us  a task"));
  lock = rubato::detail::report_of(two_threads_off_cpu(0, 1'000));
  EXPECT_THAT(lock, HasSubstr("verdict: a lock"));
  EXPECT_THAT(lock, Not(HasSubstr(few_cpus)));
  std::string const sleep = rubato::detail::report_of(two_threads_off_cpu(0.3, 10));
  EXPECT_THAT(sleep, HasSubstr("verdict: mostly blocked"));
  EXPECT_THAT(sleep, HasSubstr("all threads were on a CPU as much as 0.80"));
  std::string const ready = rubato::detail::report_of(two_threads_off_cpu(0.6, 10));
  EXPECT_THAT(ready, HasSubstr(few_cpus));
  EXPECT_THAT(ready, Not(HasSubstr("verdict: mostly blocked")));
}

TEST(trace_report, says_that_counts_of_the_kernel_are_missing) {
  EXPECT_THAT(report_of_tasks(200us), HasSubstr("not known of this trace"));
}

/// What it ran was counted to a later moment than its own last event, when another thread took a part of it.
TEST(trace_reader, regression_what_still_runs_lasts_to_the_end) {
  trace_path const path;
  trace_on const on(path);
  rubato::pool pool(2);
  std::latch begun(1), end(1);
  pool.enqueue([&] {
    begun.count_down();
    end.wait();
  });
  begun.wait();
  std::this_thread::sleep_for(2ms);
  pool.spawn([] {}).get();
  timeline const t = rubato::detail::make_timeline(recording(path.rings()));
  end.count_down();
  std::size_t running = 0;
  for (auto const& k : t.tracks) {
    EXPECT_LE(k.busy + k.idle.sum(), k.last - k.first) << k.name;
    if (!std::ranges::any_of(k.slices, &slice::open)) continue;
    ++running;
    EXPECT_EQ(k.last, t.last()) << k.name;
  }
  EXPECT_GE(running, 1U);
}

TEST(trace_report, says_what_waits_for_what) {
  std::string const text = report_of_work([] {
    rubato::pool pool(2);
    pool.spawn([&pool] {
          rubato::promise<int> p;
          rubato::future<int> f = p.get_future();
          std::thread later([&p] {
            std::this_thread::sleep_for(50ms);
            p.set_value(1);
          });
          EXPECT_EQ(f.get(), 1);
          later.join();
          static_cast<void>(pool);
        })
        .get();
    rubato::spawn(fetch_page(3)).get();
  });
  EXPECT_THAT(text, HasSubstr("What waits for what")) << text;
  EXPECT_THAT(text, HasSubstr("fetch_page(int) awaited a sleep")) << text;
}

TEST(trace_report, names_the_slowest_task) {
  std::string const text = report_of_work([] {
    rubato::pool pool(1);
    pool.enqueue(traced_callable{});
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_THAT(text, HasSubstr("traced_callable")) << text;
  EXPECT_THAT(text, HasSubstr("(thread ")) << text;
}

} // namespace rubato_test
