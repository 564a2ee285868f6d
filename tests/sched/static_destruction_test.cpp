// Pools and static objects that use them, in every order, up to the end of the process.
//
// The objects below are in every process of these tests and do nothing in most of them: a test names the one
// that is to act in the environment of a child, which has no tests to run, and judges by its last words and
// its exit status.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>

#include "support/process.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

constexpr char const* which = "RUBATO_TEST_STATICS";

bool chosen(std::string_view name) {
  char const* const value = std::getenv(which);
  return value != nullptr && name == value;
}

/// Work of every kind, with every result known.
bool works(rubato::pool& pool) {
  std::atomic<int> ran = 0;
  for (int i = 0; i < 100; ++i) pool.enqueue([&] { ++ran; });
  return pool.wait_idle() && ran == 100 && pool.run([] { return forked_sum(0, 300); }) == sum_below(300);
}

void say(bool well, char const* what) {
  if (!well) leave(false, what);
  std::fprintf(stderr, "%s\n", what);
}

/// Uses a pool when it is constructed and when it is destroyed.
class user {
  rubato::pool& pool_;
  bool active_;

public:
  user(char const* name, rubato::pool& pool)
      : pool_(pool)
      , active_(chosen(name)) {
    if (active_) say(works(pool_), "constructor done");
  }
  ~user() {
    if (active_) say(works(pool_), "destructor done");
  }
};

extern constinit rubato::pool middle;

/// Constructed before the pool is destroyed after it: only its constructor may use it.
struct early_user {
  early_user() {
    if (chosen("constructed before the pool")) say(works(middle), "constructor done");
  }
} before;
constinit rubato::pool middle;
user after("constructed after the pool", middle);

/// Its pool is still busy when the process ends.
struct leaves_work_behind {
  std::unique_ptr<rubato::pool> own;
  std::atomic<int> done = 0;

  leaves_work_behind() {
    if (chosen("a busy pool")) own = std::make_unique<rubato::pool>(3);
  }
  void start() {
    for (int i = 0; i < 200; ++i) {
      own->enqueue([this] {
        std::this_thread::sleep_for(100us);
        ++done;
      });
    }
  }
  ~leaves_work_behind() {
    if (own == nullptr) return;
    own.reset();
    say(done == 200, "all work done");
  }
} busy;

/// Two static pools; the tasks of one go on to the other.
struct pair_of_pools {
  std::unique_ptr<rubato::pool> second, first;
  std::atomic<int> done = 0;

  pair_of_pools() {
    if (!chosen("two pools")) return;
    second = std::make_unique<rubato::pool>(1);
    first = std::make_unique<rubato::pool>(2);
    for (int i = 0; i < 100; ++i) {
      first->enqueue([this] { second->enqueue([this] { ++done; }); });
    }
  }
  ~pair_of_pools() {
    if (first == nullptr) return;
    first.reset();
    second.reset();
    say(done == 100, "all work done");
  }
} feeding;

/// Constructed before the first use of the global pool, so destroyed after the exit handler that drains it.
struct late_user_of_global {
  ~late_user_of_global() {
    if (!chosen("the global pool after its end")) return;
    auto& pool = rubato::pool::global();
    pool.enqueue([] { leave(false, "a task of the global pool ran after the end"); });
    pool.wait_idle(); // it would run the task, had that been kept
    int const result = pool.run([] { return 5; });
    auto const sum = forked_sum(0, 300);
    say(result == 5 && sum == sum_below(300), "destructor done");
  }
} late;

/// Uses the global pool in its constructor, so is destroyed before the exit handler runs.
struct early_user_of_global {
  early_user_of_global() {
    if (chosen("the global pool")) say(works(rubato::pool::global()), "constructor done");
  }
  ~early_user_of_global() {
    if (chosen("the global pool")) say(works(rubato::pool::global()), "destructor done");
  }
} global_user;

void leave_work_to_the_global_pool() {
  static std::atomic<int> done = 0;
  std::atexit([] { say(done == 100, "drained"); }); // runs after the handler that the next line registers
  for (int i = 0; i < 100; ++i) {
    rubato::enqueue([] {
      std::this_thread::sleep_for(100us);
      ++done;
    });
  }
}

class static_objects : public fresh_process {
protected:
  void choose(char const* name) { ASSERT_EQ(::setenv(which, name, 1), 0); }
  void TearDown() override { ::unsetenv(which); }
};

/// The child: whatever else there is to do, and then the regular end of a program.
template<class F>
[[noreturn]] void then_exit(F&& work) {
  kill_this_process_if_it_hangs();
  work();
  std::exit(0);
}

TEST_F(static_objects, an_older_one_than_the_pool_can_use_it) {
  choose("constructed before the pool");
  EXPECT_EXIT(then_exit([] {}), testing::ExitedWithCode(0), "constructor done");
}

TEST_F(static_objects, a_younger_one_can_use_its_pool_to_the_last) {
  choose("constructed after the pool");
  EXPECT_EXIT(then_exit([] {}), testing::ExitedWithCode(0), "constructor done.*destructor done");
}

TEST_F(static_objects, a_busy_pool_is_drained) {
  choose("a busy pool");
  EXPECT_EXIT(then_exit([] { busy.start(); }), testing::ExitedWithCode(0), "all work done");
}

TEST_F(static_objects, a_pool_feeding_another_is_drained_first) {
  choose("two pools");
  EXPECT_EXIT(then_exit([] {}), testing::ExitedWithCode(0), "all work done");
}

TEST_F(static_objects, older_ones_can_use_the_global_pool) {
  choose("the global pool");
  EXPECT_EXIT(then_exit([] {}), testing::ExitedWithCode(0), "constructor done.*destructor done");
}

TEST_F(static_objects, the_global_pool_can_be_called_after_its_end) {
  choose("the global pool after its end");
  EXPECT_EXIT(then_exit([] { works(rubato::pool::global()); }), testing::ExitedWithCode(0),
              "destructor done");
}

TEST_F(static_objects, the_global_pool_is_drained_at_exit) {
  EXPECT_EXIT(then_exit(leave_work_to_the_global_pool), testing::ExitedWithCode(0), "drained");
}

TEST_F(static_objects, a_workers_thread_local_can_use_the_global) {
  struct of_a_thread {
    bool used = false;
    ~of_a_thread() {
      if (used) say(rubato::pool::global().run([] { return 1; }) == 1, "thread-local done");
    }
  };
  EXPECT_EXIT(then_exit([] {
                rubato::pool pool(1);
                pool.enqueue([] {
                  static thread_local of_a_thread object;
                  object.used = true;
                });
              }),
              testing::ExitedWithCode(0), "thread-local done");
}

TEST_F(static_objects, exit_in_a_task_ends_the_process) {
  EXPECT_EXIT(then_exit([] {
                look_for_no_leaks();
                rubato::enqueue([] { std::exit(7); });
                gate never;
                never.wait();
              }),
              testing::ExitedWithCode(7), "");
}

[[noreturn]] void exit_in_a_nested_run() {
  kill_this_process_if_it_hangs();
  look_for_no_leaks();
  static auto* const other = new rubato::pool(1); // never destroyed: its member is what calls exit()
  rubato::enqueue([] { other->run([] { std::exit(7); }); });
  gate never;
  never.wait();
  leave(false, "no exit");
}

TEST_F(static_objects, regression_exit_below_another_run_ends_it) {
  EXPECT_EXIT(exit_in_a_nested_run(), testing::ExitedWithCode(7), "");
}

} // namespace
