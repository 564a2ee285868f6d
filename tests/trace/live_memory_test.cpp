// What a live view keeps does not grow with the run.
#include <rubato/pool.hpp>
#include <rubato/time.hpp>
#include <rubato/trace.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include "os/io/input_file.hpp"
#include "trace/reader/live/live_model.hpp"
#include "trace/recorder.hpp"

namespace rubato_test {

using namespace std::chrono_literals;

rubato::task<> sleep_a_little() { co_await rubato::sleep_for(1us); }

/// The rings of this process, small ones, and a model that reads them as a live view does.
class watched_process {
  rubato::detail::live_model model_;
  unsigned pools_ = 0;

public:
  watched_process() {
    ::setenv("RUBATO_TRACE_EVENTS", "4096", 1); // a ring has 100 KB
    rubato::detail::begin_watching();
    ::unsetenv("RUBATO_TRACE_EVENTS");
    rubato::os::input_file file;
    EXPECT_EQ(rubato::detail::open_own_rings(file), 0);
    model_.open(std::move(file), "the rings of this process");
  }
  watched_process(watched_process const&) = delete;
  ~watched_process() { rubato::detail::end_watching(); }

  /// A pool of another name, whose threads end.
  void run_pool() {
    rubato::pool pool(rubato::pool_options().workers(2).name("pool " + std::to_string(++pools_)));
    for (int i = 0; i != 200; ++i) pool.enqueue([] {});
    for (int i = 0; i != 20; ++i) pool.enqueue(sleep_a_little());
    pool.enqueue([] { rubato::trace::span const s("a part of a task"); });
    EXPECT_TRUE(pool.wait_idle());
    static_cast<void>(model_.look());
  }
  /// What it keeps when nothing is left to do. An end is kept for one more look.
  [[nodiscard]] std::size_t kept() {
    for (int i = 0; i != 3; ++i) static_cast<void>(model_.look());
    return model_.entries();
  }
  [[nodiscard]] rubato::detail::live_picture look() { return model_.look(); }
};

TEST(live_memory, does_not_grow_with_tasks_threads_and_names) {
  watched_process process;
  for (int i = 0; i != 40; ++i) process.run_pool(); // 64 rings of threads that have ended are kept
  std::size_t const before = process.kept();
  for (int i = 0; i != 400; ++i) process.run_pool();
  // A thread may still be ending as others begin: a few rings more or less.
  EXPECT_LE(process.kept(), before + 1'000);
  rubato::detail::live_picture const p = process.look();
  EXPECT_EQ(p.queued, 0U);
  EXPECT_EQ(p.suspended, 0U);
  EXPECT_TRUE(p.threads.empty());
}

} // namespace rubato_test
