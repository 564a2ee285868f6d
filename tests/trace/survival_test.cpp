// A file parses whatever becomes of the process that writes it.
#include <rubato/pool.hpp>
#include <rubato/trace.hpp>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include "support/forked_child.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "trace/reader/convert.hpp"
#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::detail::event_kind;
using rubato::detail::recording;

/// The child of a fork; ThreadSanitizer supports no threads there.
class trace_survival : public testing::Test {
protected:
  void SetUp() override {
    if (under_tsan) GTEST_SKIP() << "threads in the child of a fork";
  }
};

template<class F>
int begin_child(F&& work) {
  return begin_forked_child([&] { std::_Exit(work()); });
}

int work_for_ever(std::string const& path) {
  rubato::trace::start(path);
  rubato::pool pool(2);
  for (;;) {
    for (int i = 0; i < 100; ++i) pool.enqueue([] {});
    if (pool.run([] { return forked_sum(0, 100); }) != sum_below(100)) return 1;
  }
}

TEST_F(trace_survival, of_a_kill) {
  for (unsigned i = 0, n = scaled(100); i != n; ++i) {
    trace_path const path;
    ::setenv("RUBATO_TRACE_EVENTS", "1024", 1); // so that the rings wrap
    int const child = begin_child([&] { return work_for_ever(path.get()); });
    ::unsetenv("RUBATO_TRACE_EVENTS");
    // After the first event, at any moment.
    for (;;) {
      try {
        if (!recording(path.rings()).rings.empty()) break;
      } catch (std::runtime_error const&) { // NOLINT(bugprone-empty-catch): not begun yet
      }
      std::this_thread::sleep_for(1ms);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(997) * (i % 23));
    ::kill(child, SIGKILL);
    EXPECT_EQ(wait_for_child(child), -SIGKILL);
    recording const r(path.rings());
    EXPECT_GT(events_in(r), 0U);
    std::int64_t const now = std::chrono::steady_clock::now().time_since_epoch().count();
    for (auto const& ring : r.rings) {
      std::uint64_t last = 0;
      for (auto const& e : ring.events) {
        EXPECT_GE(e.ticks + 1'000, last); // the counters of CPUs differ by a few ticks
        last = e.ticks;
        EXPECT_LT(r.start_ns + r.ns(e.ticks), now);
      }
    }
    EXPECT_NO_THROW(rubato::detail::convert_rings(path.rings(), path.get(), {}));
    EXPECT_FALSE(rubato::detail::report_of_rings(path.rings()).empty());
  }
}

int trace_a_task(std::string const& path) {
  rubato::trace::start(path);
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  return 0;
}

TEST_F(trace_survival, of_an_end_without_exit_handlers) {
  trace_path const path;
  int const child = begin_child([&] { return trace_a_task(path.get()); });
  EXPECT_EQ(wait_for_child(child), 0);
  EXPECT_EQ(count_of(recording(path.rings()), event_kind::begin), 1U);
}

TEST_F(trace_survival, of_a_full_disk) {
  trace_path const path;
  int const child = begin_child([&] {
    rlimit const limit{.rlim_cur = 2'500'000, .rlim_max = 2'500'000}; // one ring
    ::setrlimit(RLIMIT_FSIZE, &limit);
    rubato::trace::start(path.get());
    rubato::pool pool(2);
    if (pool.run([] { return forked_sum(0, 1'000); }) != sum_below(1'000)) return 2;
    for (int i = 0; i < 1'000; ++i) pool.enqueue([] {});
    return pool.wait_idle() ? 0 : 3;
  });
  EXPECT_EQ(wait_for_child(child), 0);
  recording const r(path.rings());
  EXPECT_EQ(r.rings.size(), 1U);
  EXPECT_GE(r.untraced, 1U);
}

/// A file system of that many bytes in the child's own name space. False: the child may not make one.
bool mount_small(std::filesystem::path const& at, std::string const& bytes) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::filesystem::create_directory(at);
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", at.c_str(), "tmpfs", 0, ("size=" + bytes).c_str()) == 0;
}

TEST_F(trace_survival, of_a_file_system_without_room) {
  trace_path const path;
  int const child = begin_child([&] {
    std::filesystem::path const small = path.folder() / "small";
    if (!mount_small(small, "2500k")) return 77; // one ring
    rubato::trace::start(small / "t");
    {
      rubato::pool pool(2);
      if (pool.run([] { return forked_sum(0, 1'000); }) != sum_below(1'000)) return 2;
      for (int i = 0; i < 50'000; ++i) pool.enqueue([] {});
      if (!pool.wait_idle()) return 3;
    }
    try {
      rubato::trace::stop(); // there may be no room for what it converts
    } catch (std::system_error const& e) {
      if (e.code() != std::errc::no_space_on_device) return 5;
    }
    recording const r((small / "t.rings").string());
    return r.rings.size() == 1 && r.untraced >= 1 ? 0 : 6;
  });
  int const status = wait_for_child(child);
  if (status == 77) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(trace_survival, of_no_room_at_all) {
  trace_path const path;
  int const child = begin_child([&] {
    rlimit const limit{.rlim_cur = 1'000, .rlim_max = 1'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      rubato::trace::start(path.get());
      return 2;
    } catch (std::system_error const&) {
      return 0;
    }
  });
  EXPECT_EQ(wait_for_child(child), 0);
}

TEST_F(trace_survival, of_a_fork) {
  trace_path const path;
  {
    trace_on const on(path);
    rubato::pool pool(2);
    pool.spawn([] {}).get();
    int const child = begin_child([&] { // its trace is off
      if (rubato::detail::trace_levels.get() != 0) return 2;
      pool.spawn([] {}).get();
      return pool.run([] { return forked_sum(0, 500); }) == sum_below(500) ? 0 : 3;
    });
    EXPECT_EQ(wait_for_child(child), 0);
    pool.spawn([] {}).get();
  }
  recording const r(path.rings());
  EXPECT_EQ(count_of(r, event_kind::ready), 2U);
  EXPECT_EQ(r.process, static_cast<std::uint64_t>(::getpid()));
}

TEST_F(trace_survival, two_processes_with_one_path) {
  trace_path const path;
  trace_on const on(path);
  int const child = begin_child([&] { return trace_a_task(path.get()); });
  EXPECT_EQ(wait_for_child(child), 0);
  recording const r(path.get() + '.' + std::to_string(child) + ".rings");
  EXPECT_EQ(r.process, static_cast<std::uint64_t>(child));
}

TEST_F(trace_survival, the_environment_asks_for_a_trace) {
  trace_path const path;
  int const child = begin_child([&] {
    ::setenv("RUBATO_TRACE", (path.get() + ".%p").c_str(), 1);
    {
      rubato::pool pool(1);
      pool.spawn([] {}).get();
    }
    std::exit(0); // converts
    return 1;
  });
  EXPECT_EQ(wait_for_child(child), 0);
  std::string const converted = path.get() + '.' + std::to_string(child);
  EXPECT_TRUE(std::filesystem::exists(converted));
  EXPECT_EQ(count_of(recording(converted + ".rings"), event_kind::ready), 1U);
}

} // namespace
