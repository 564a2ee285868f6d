// What users ask of a trace, as docs/tracing.md lists it: the report has the answer to each.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/routine.hpp>
#include <rubato/sync.hpp>
#include <rubato/this_task.hpp>
#include <rubato/time.hpp>
#include <rubato/trace.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "trace/reader/convert.hpp"
#include "trace/reader/output/json.hpp"
#include "trace/reader/output/perfetto.hpp"
#include "trace/reader/timeline/timeline.hpp"
#include "trace/ring_file.hpp"
#include "trace_files.hpp"

namespace rubato_test {

using namespace std::chrono_literals;
using rubato::detail::recording;
using testing::ContainsRegex;
using testing::HasSubstr;

/// The report on what f does.
template<class F>
std::string report_on(F f) {
  trace_path const path;
  {
    trace_on const on(path);
    f();
  }
  return rubato::detail::report_of_rings(path.rings());
}

rubato::task<> use_database(rubato::async_mutex& m) {
  auto const lock = co_await m.scoped_lock();
  co_await rubato::yield(); // the other one finds it locked
}

TEST(trace_questions, what_blocks_a_task_and_what_readied_it) {
  std::string const text = report_on([] {
    rubato::async_mutex m;
    rubato::pool pool(1);
    pool.enqueue([&] {
      for (int i = 0; i < 2; ++i) pool.enqueue(use_database(m));
    });
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_THAT(text,
              ContainsRegex("use_database[^\n]* awaited a lock or a semaphore, ended by [^\n]*use_database"))
      << text;
  EXPECT_THAT(text, ContainsRegex("use_database[^\n]*; by [^\n]*use_database")) << text;
}

TEST(trace_questions, why_is_a_worker_idle) {
  std::string const text = report_on([] {
    rubato::pool pool(2);
    pool.spawn([] {}).get();
    std::this_thread::sleep_for(50ms);
  });
  EXPECT_THAT(text, HasSubstr("nothing: asleep, nothing was ready")) << text;
  EXPECT_THAT(text, ContainsRegex("all +[0-9.]+% +[0-9.]+% +[1-9]")) << text; // the column `nothing`
}

/// Its last event is that it sleeps: the time up to the end of the recording is its, too.
TEST(trace_questions, regression_a_last_sleep_counts) {
  trace_path const path;
  trace_on const on(path);
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  std::this_thread::sleep_for(50ms);
  rubato::trace::span const s("later");
  std::string const text = rubato::detail::report_of_rings(path.rings());
  EXPECT_THAT(text, testing::Not(ContainsRegex("(10[1-9]|1[1-9][0-9]|[2-9][0-9][0-9]|[0-9]{4,})\\.[0-9]%")))
      << text;
}

/// A sleep that is over before it begins, because the thread lost its CPU, is no wait: so there are many.
rubato::task<> answer_client() {
  for (int i = 0; i < 20; ++i) co_await rubato::sleep_for(1ms);
}

TEST(trace_questions, does_my_coroutine_change_threads) {
  std::string const text = report_on([] {
    rubato::pool pool(2);
    pool.enqueue(answer_client());
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_THAT(
      text,
      ContainsRegex("how many on another thread than before\n +[1-9][0-9]* +[0-9.]+%  [^\n]*answer_client"))
      << text;
}

struct render_page {
  long* thread;
  void operator()() const {
    *thread = ::gettid();
    std::this_thread::sleep_for(5ms);
  }
};

TEST(trace_questions, which_task_is_slow_and_on_which_thread) {
  long thread = 0;
  std::string const text = report_on([&] {
    rubato::pool pool(1);
    pool.spawn(render_page{.thread = &thread}).get();
  });
  EXPECT_THAT(text, ContainsRegex("[0-9.]+ [mu]s  [^\n]*render_page; at [0-9.]+ [mun]*s on [^\n]*\\(thread " +
                                  std::to_string(thread) + "\\)"))
      << text;
}

/// The tasks do nothing; the machine may be so slow that they take longer.
TEST(trace_questions, is_my_grain_too_fine) {
  std::string const text = report_on([&] {
    rubato::pool pool(1);
    for (int i = 0; i < 20'000; ++i) pool.enqueue([] {});
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_THAT(text, ContainsRegex("verdict: (too fine|coarse enough)")) << text;
}

TEST(trace_questions, what_happened_lately) {
  trace_path const path;
  trace_on const on(path); // always
  rubato::pool pool(1);
  for (int i = 0; i < 1'000; ++i) pool.enqueue([] {});
  long thread = 0;
  pool.spawn(render_page{.thread = &thread}).get(); // it took too long:
  rubato::trace::snapshot(path.get() + ".slow");
  EXPECT_TRUE(std::filesystem::exists(path.get() + ".slow"));
  std::string const text = rubato::detail::report_of_rings(path.rings(), {.last = 1s});
  EXPECT_THAT(text, HasSubstr("render_page")) << text;
}

TEST(trace_questions, how_much_room_does_the_trace_take) {
  trace_path const path;
  trace_on const on(path);
  rubato::pool pool(2);
  auto const bytes_per_thread = [&] {
    for (int i = 0; i < 100'000; ++i) pool.enqueue([] {});
    EXPECT_TRUE(pool.wait_idle());
    std::size_t const rings = recording(path.rings()).rings.size();
    return (std::filesystem::file_size(path.rings()) - rubato::detail::ring_file_layout::rings_at) / rings;
  };
  auto const before = bytes_per_thread();
  EXPECT_LT(before, 1'700'000U);
  EXPECT_EQ(bytes_per_thread(), before); // however much it does
}

rubato::task<> wait_for_reply(rubato::event& reply) { co_await reply.wait(); }

TEST(trace_questions, what_hangs_now) {
  trace_path const path;
  trace_on const on(path);
  rubato::event reply;
  rubato::pool pool(1);
  pool.enqueue(wait_for_reply(reply));
  std::string text;
  do text = rubato::detail::report_of_rings(path.rings()); // of a process that lives
  while (text.find("wait_for_reply(rubato::event&) awaits ") == std::string::npos);
  EXPECT_THAT(text, HasSubstr("Not finished at the end"));
  reply.set();
  EXPECT_TRUE(pool.wait_idle());
}

void wait_long(rubato::future<int>& f) { EXPECT_EQ(f.get(), 1); }

TEST(trace_questions, which_task_waits_in_a_blocking_call) {
  std::string const text = report_on([] {
    rubato::promise<int> p;
    rubato::future<int> f = p.get_future();
    rubato::pool pool(1);
    rubato::event begun;
    pool.enqueue([&] {
      rubato::trace::span const s("the slow part");
      begun.set();
      wait_long(f);
    });
    while (!begun.is_set()) std::this_thread::yield();
    std::this_thread::sleep_for(50ms);
    p.set_value(1);
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_THAT(text, HasSubstr("the slow part")) << text;
}

struct read_a_file {
  std::future<void> read;
  std::promise<void>* begun;
  void operator()() {
    begun->set_value();
    read.wait(); // not a word to the pool
  }
};

TEST(trace_questions, which_task_blocks_its_thread_in_the_kernel) {
  trace_path const path;
  {
    trace_on const on(path);
    std::promise<void> read, begun, done;
    rubato::pool pool(1);
    pool.enqueue(read_a_file{.read = read.get_future(), .begun = &begun});
    begun.get_future().wait();
    pool.enqueue([&] {
      read.set_value();
      done.set_value();
    });
    done.get_future().wait(); // a thread that waits in the pool would run the second task
    EXPECT_TRUE(pool.wait_idle());
  }
  std::string const text = rubato::detail::report_of_rings(path.rings());
  EXPECT_THAT(text, ContainsRegex("Blocked in the kernel: [1-9]")) << text;
  EXPECT_THAT(text, ContainsRegex("\n +[1-9][0-9]* +[0-9.]+ [num]?s  [^\n]*read_a_file")) << text;
  auto const t = rubato::detail::make_timeline(rubato::detail::recording(path.rings()));
  EXPECT_THAT(rubato::detail::to_json(t), HasSubstr("blocked in the kernel: another thread is sent"));
  EXPECT_THAT(rubato::detail::to_perfetto(t), HasSubstr("blocked in the kernel: another thread is sent"));
}

TEST(trace_questions, did_the_trace_lose_anything) {
  std::string const text = report_on([] {
    rubato::pool pool(1);
    for (int i = 0; i < 100'000; ++i) pool.enqueue([] {});
    EXPECT_TRUE(pool.wait_idle());
  });
  EXPECT_THAT(text, HasSubstr("older events were overwritten: see RUBATO_TRACE_EVENTS, of which ")) << text;
}

} // namespace rubato_test
