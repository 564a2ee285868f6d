// The live view: its frames, its start and its end, and what it must not change.
#include <rubato/join.hpp>
#include <rubato/live.hpp>
#include <rubato/pool.hpp>
#include <rubato/task.hpp>
#include <rubato/time.hpp>
#include <rubato/trace.hpp>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "live_frames.hpp"
#include "one_worker.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "trace/reader/live/thread_activity.hpp"
#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// Blocks its thread until it is released.
class gate {
  std::atomic<bool> open_ = false;

public:
  void pass() const { open_.wait(false); }
  void release() {
    open_ = true;
    open_.notify_all();
  }
};

/// Its name is the same whatever compiler names the code around it.
void hold_up_the_worker(gate const& g) {
  rubato::trace::span const s("held by a test");
  g.pass();
}

rubato::task<void> wait_long() { co_await rubato::sleep_for(1h); }

TEST(live, shows_workers_and_names) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  gate g;
  auto held = pool.spawn([&] { hold_up_the_worker(g); });
  std::string frames = to.read_until("runs held by a test");
  for (char const* const worker : {"engine/0", "engine/1"})
    if (frames.find(worker) == frames.npos) frames += to.read_until(worker); // hangs if it never comes
  EXPECT_THAT(frames, Not(HasSubstr("\x1b")));                               // it is no terminal
  g.release();
  held.get();
}

/// A thread that is blocked in its task is busy, and on no CPU.
TEST(live, shows_which_busy_thread_is_on_no_cpu) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(rubato::pool_options().workers(1).name("engine"));
  gate g;
  auto held = pool.spawn([&] { hold_up_the_worker(g); });
  std::string text = to.read_until(" 100%    0%  ");
  if (text.find("CPU") == text.npos) text += to.read_until("CPU");
  EXPECT_THAT(text, HasSubstr("engine/0"));
  g.release();
  held.get();
}

TEST(live, tells_the_share_of_a_second_on_a_cpu) {
  constexpr std::int64_t ms = 1'000'000;
  rubato::detail::cpu_share s;
  EXPECT_LT(s.share(), 0);
  s.measure(5 * ms, 3 * ms);
  EXPECT_LT(s.share(), 0); // since when?
  s.measure(15 * ms, 8 * ms);
  EXPECT_DOUBLE_EQ(s.share(), 0.5);
  for (int i = 1; i != 40; ++i) s.measure((15 + i * 100) * ms, (8 + i * 25) * ms);
  EXPECT_DOUBLE_EQ(s.share(), 0.25); // what was before is forgotten
  s.measure(4'000 * ms, 0);          // it has ended
  EXPECT_DOUBLE_EQ(s.share(), 0.25);
}

TEST(live, shows_how_many_tasks_are_queued) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(rubato::pool_options().workers(rubato::no_workers)); // no relief either
  for (int i = 0; i != 7; ++i) pool.enqueue([] {});
  static_cast<void>(to.read_until(" 7 queued"));
  pool.shutdown(rubato::discard);
}

TEST(live, shows_what_coroutines_wait_for) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(1);
  auto waits = pool.spawn(wait_long);
  EXPECT_THAT(to.read_until("1 x wait_long(): a sleep"), HasSubstr("1 suspended"));
  pool.shutdown(rubato::discard);
}

TEST(live, shows_steals) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  std::atomic<bool> stop = false;
  auto work = pool.spawn([&] {
    while (!stop)
      rubato::join([] { std::this_thread::sleep_for(1ms); }, [] { std::this_thread::sleep_for(1ms); });
  });
  EXPECT_THAT(to.read_until("took from"), HasSubstr("steals/s"));
  stop = true;
  work.get();
}

// A thread that relieves another has a number that is not its seat's: the seat is known, the thread is not.
TEST(live, regression_a_stolen_task_is_from_a_seat) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  std::atomic<bool> stop = false;
  auto work = pool.spawn([&] {
    while (!stop) { // a thread may get the task otherwise
      std::atomic<bool> done = false;
      pool.enqueue([&] { done = true; });
      while (!done) std::this_thread::yield(); // this worker cannot run it
    }
  });
  EXPECT_THAT(to.read_until("took from the queue of seat"), HasSubstr("engine/"));
  stop = true;
  work.get();
}

TEST(live, shows_pools_without_workers_and_none) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50});
  EXPECT_THAT(to.read_until("no thread takes part"), HasSubstr("rubato live"));
  rubato::pool pool(rubato::pool_options().workers(rubato::no_workers));
  gate g;
  std::thread outside([&] { pool.spawn([&] { g.pass(); }).get(); });
  EXPECT_THAT(to.read_until("runs"), HasSubstr("rubato live"));
  g.release();
  outside.join();
}

TEST(live, is_as_narrow_as_it_is_told) {
  for (unsigned const width : {1U, 20U, 40U, 63U, 80U, 119U, 200U}) {
    frame_pipe to;
    rubato::live_view const view(
        {.output = to.output(), .frames_per_second = 50, .frames = 3, .width = width});
    rubato::pool pool(3);
    gate g;
    auto held = pool.spawn([&] { hold_up_the_worker(g); });
    std::string const text = to.read_until("\n\n");
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const end = std::min(text.find('\n', at), text.size());
      auto const continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
      auto const line = text.substr(at, end - at);
      auto const columns = line.size() - static_cast<std::size_t>(std::ranges::count_if(line, continues));
      EXPECT_LE(columns, width) << line;
      at = end + 1;
    }
    g.release();
    held.get();
  }
}

TEST(live, ends_after_so_many_frames) {
  frame_pipe to;
  {
    rubato::live_view const view({.output = to.output(), .frames_per_second = 60, .frames = 3});
    static_cast<void>(to.read_until("\n\n"));
    std::this_thread::sleep_for(200ms);
  }
  std::string const rest = to.read_all();
  std::size_t frames = 1;
  for (std::size_t at = 0; (at = rest.find("rubato live", at)) != rest.npos; ++at) ++frames;
  EXPECT_LE(frames, 3U);
}

TEST(live, ends_although_its_reader_is_stuck) {
  frame_pipe to;
  std::string const full(1'000, 'x');
  ::fcntl(to.output(), F_SETFL, O_NONBLOCK);
  while (::write(to.output(), full.data(), full.size()) > 0) {
  }
  rubato::live_view const view({.output = to.output(), .frames_per_second = 60});
  std::this_thread::sleep_for(100ms);
}

TEST(live, ends_although_its_reader_has_gone) {
  frame_pipe to;
  int const end = ::dup(to.output());
  {
    rubato::live_view const view({.output = end, .frames_per_second = 60});
    static_cast<void>(to.read_until("rubato live"));
    ::close(to.input()); // SIGPIPE would end this program
    std::this_thread::sleep_for(100ms);
  }
  ::close(end);
}

TEST(live, refuses_options_out_of_range) {
  EXPECT_THROW(rubato::live_view({.port = 80}), std::invalid_argument);
  EXPECT_THROW(rubato::live_view({.port = 65'536}), std::invalid_argument);
  EXPECT_THROW(rubato::live_view({.frames_per_second = 61}), std::invalid_argument);
}

TEST(live, leaves_the_trace_as_it_was) {
  frame_pipe to;
  EXPECT_EQ(rubato::detail::trace_levels.get(), 0);
  {
    rubato::live_view const one({.output = to.output()});
    rubato::live_view const two({.output = to.output()});
    EXPECT_NE(rubato::detail::trace_levels.get(), 0);
    EXPECT_NO_THROW(rubato::trace::stop()); // there is none that the program has begun
    EXPECT_NE(rubato::detail::trace_levels.get(), 0);
  }
  EXPECT_EQ(rubato::detail::trace_levels.get(), 0);
}

TEST(live, goes_on_beside_a_trace_to_a_file) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50});
  rubato::pool pool(rubato::pool_options().workers(1).name("engine"));
  for (int round = 0; round != 3; ++round) {
    trace_path const path;
    {
      trace_on const on(path); // in place of the rings in memory
      pool.spawn([] {}).get();
      EXPECT_THAT(to.read_until("engine/0"), HasSubstr("rubato live"));
      EXPECT_THROW(rubato::trace::start(path.get()), std::logic_error);
    }
    EXPECT_EQ(count_of(rubato::detail::recording(path.rings()), rubato::detail::event_kind::ready), 1U);
    EXPECT_THROW(rubato::trace::start("/nonexistent/folder/t"), std::system_error);
    pool.spawn([] {}).get(); // in memory
    EXPECT_THAT(to.read_until("engine/0"), HasSubstr("rubato live"));
  }
}

TEST(live, wakes_no_idle_pool) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50});
  rubato::pool pool(2);
  EXPECT_EQ(pool.run([] { return forked_sum(0, 1'000); }), sum_below(1'000));
  rubato::pool_stats before, now = pool.stats();
  do {
    before = now;
    static_cast<void>(to.read_until("rubato live"));
    static_cast<void>(to.read_until("rubato live"));
    now = pool.stats();
  } while (now.parked != before.parked || now.woken != before.woken); // hangs if it never rests
}

TEST(live, changes_no_result_and_no_order) {
  std::vector<int> const without = order_of_one_worker();
  int const nowhere = ::open("/dev/null", O_WRONLY);
  {
    rubato::live_view const view({.output = nowhere, .frames_per_second = 60});
    EXPECT_EQ(order_of_one_worker(), without);
    rubato::pool pool(4);
    for (unsigned round = scaled(50); round != 0; --round)
      EXPECT_EQ(pool.run([] { return forked_sum(0, 20'000); }), sum_below(20'000));
  }
  ::close(nowhere); // not before the view has ended
}

TEST(live, begins_and_ends_beside_work) {
  int const nowhere = ::open("/dev/null", O_WRONLY);
  rubato::pool pool(3);
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      EXPECT_EQ(pool.run([] { return forked_sum(0, 300); }), sum_below(300));
      pool.enqueue([] {});
    }
  });
  for (unsigned round = scaled(20); round != 0; --round) {
    rubato::live_view const view({.output = nowhere, .frames_per_second = 60});
    std::this_thread::sleep_for(2ms);
  }
  stop = true;
  worker.join();
  ::close(nowhere);
}

/// By fork alone; `work` ends the process.
template<class F>
int begin_child(F&& work) {
  int const child = ::fork();
  if (child == 0) {
    kill_this_process_if_it_hangs();
    work();
  }
  return child;
}

TEST(live, is_no_more_in_the_child_of_a_fork) {
  if (under_tsan) GTEST_SKIP() << "threads in the child of a fork";
  frame_pipe to;
  auto view = std::make_unique<rubato::live_view>(rubato::live_options{.output = to.output()});
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  int const child = begin_child([&] {
    if (rubato::detail::trace_levels.get() != 0) std::_Exit(2);
    view.reset();
    std::_Exit(pool.run([] { return forked_sum(0, 500); }) == sum_below(500) ? 0 : 3);
  });
  EXPECT_EQ(wait_for_child(child), 0);
  EXPECT_THAT(to.read_until("rubato live"), HasSubstr("process"));
}

/// A program that has not had a pool yet, without a terminal.
class live_environment : public fresh_process {};

[[noreturn]] void run_with(char const* value) {
  ::setsid();
  ::setenv("RUBATO_LIVE", value, 1);
  {
    rubato::pool pool(rubato::pool_options().workers(1).name("engine"));
    pool.spawn([] {
          rubato::trace::span const s("held by a test");
          std::this_thread::sleep_for(300ms);
        })
        .get();
  }
  std::exit(0);
}

TEST_F(live_environment, asks_for_text) {
  EXPECT_EXIT(run_with("1"), testing::ExitedWithCode(0), "engine/0.*runs held by a test");
}

TEST_F(live_environment, asks_for_nothing) {
  EXPECT_EXIT(run_with("0"), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(run_with(""), testing::ExitedWithCode(0), "^$");
}

TEST_F(live_environment, means_nothing) {
  for (char const* const wrong : {"80", "1023", "65536", "yes", "-1"})
    EXPECT_EXIT(run_with(wrong), testing::ExitedWithCode(0),
                "1 is the terminal, a number from 1024 to 65535");
}

} // namespace
