// A live view in a process that forks, or that has no descriptor left.
#include <rubato/live.hpp>
#include <rubato/pool.hpp>
#include <rubato/trace.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "rubato/detail/trace/note.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "trace/reader/live/live_feed.hpp"

namespace {

using namespace rubato_test;

class descriptor_to_nowhere {
  int const fd_ = ::open("/dev/null", O_WRONLY);

public:
  descriptor_to_nowhere() = default;
  descriptor_to_nowhere(descriptor_to_nowhere const&) = delete;
  ~descriptor_to_nowhere() { ::close(fd_); }
  [[nodiscard]] int get() const { return fd_; }
};

/// While it lives, no descriptor can be opened.
class no_free_descriptor {
  rlimit before_{};

public:
  no_free_descriptor() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int const lowest = ::dup(0);
    ::close(lowest);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(lowest);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  no_free_descriptor(no_free_descriptor const&) = delete;
  ~no_free_descriptor() { ::setrlimit(RLIMIT_NOFILE, &before_); }
};

// The child destroyed what the thread of the view had been changing.
TEST(live_process, regression_fork_in_the_middle_of_a_look) {
  if (under_tsan) GTEST_SKIP() << "threads in the child of a fork";
  descriptor_to_nowhere const to;
  auto view =
      std::make_unique<rubato::live_view>(rubato::live_options{.output = to.get(), .frames_per_second = 60});
  rubato::pool pool(2);
  std::atomic<bool> stop = false;
  std::thread feeder([&] {
    while (!stop) {
      for (int i = 0; i != 2'000; ++i) pool.enqueue([] {});
      static_cast<void>(pool.wait_idle());
    }
  });
  for (unsigned round = scaled(200); round != 0; --round) {
    int const child = ::fork();
    if (child == 0) {
      kill_this_process_if_it_hangs();
      view.reset();
      std::_Exit(0);
    }
    EXPECT_EQ(wait_for_child(child), 0);
  }
  stop = true;
  feeder.join();
}

// The end of the parent's view ended the trace of the child's own.
TEST(live_process, regression_child_has_a_view_of_its_own) {
  if (under_tsan) GTEST_SKIP() << "threads in the child of a fork";
  descriptor_to_nowhere const to;
  auto view = std::make_unique<rubato::live_view>(rubato::live_options{.output = to.get()});
  int const child = ::fork();
  if (child == 0) {
    kill_this_process_if_it_hangs();
    rubato::live_view const own({.output = to.get()});
    view.reset();
    std::_Exit(rubato::detail::trace_levels.get() != 0 ? 0 : 1);
  }
  EXPECT_EQ(wait_for_child(child), 0);
}

// It never looked for the rings again.
TEST(live_process, regression_no_descriptor_at_the_first_look) {
  rubato::detail::live_feed feed{std::string()};
  {
    no_free_descriptor const none;
    EXPECT_TRUE(feed.look().is_off);
  }
  EXPECT_FALSE(feed.look().is_off);
}

} // namespace
