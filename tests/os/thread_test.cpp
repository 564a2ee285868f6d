#include "os/cpus/affinity.hpp"
#include "os/thread.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace {

using namespace rubato;
using namespace std::chrono_literals;

/// A thread that runs `body`, which must outlive it.
os::thread start(std::function<void()>& body, os::thread_options const& options = {}) {
  return os::thread(options, [](void* f) { (*static_cast<std::function<void()>*>(f))(); }, &body);
}

void run(os::thread_options const& options, std::function<void()> body) { start(body, options).join(); }
void run(std::function<void()> body) { run({}, std::move(body)); }

std::string own_name() {
  std::array<char, 16> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  return name.data();
}

/// Whether `condition` holds within ten seconds.
template<class Condition>
bool eventually(Condition condition) {
  auto const end = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(100us);
  }
  return true;
}

template<class F>
std::errc error_of(F f) {
  try {
    f();
  } catch (std::system_error const& e) {
    return static_cast<std::errc>(e.code().value());
  }
  return {};
}

/// Whether `check` holds in a child of fork().
template<class Check>
bool in_child(Check check) {
  auto const child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(thread, runs_its_entry_with_its_argument) {
  int answer = 0;
  os::thread t({}, [](void* arg) { *static_cast<int*>(arg) = 42; }, &answer);
  EXPECT_TRUE(t.joinable());
  t.join();
  EXPECT_FALSE(t.joinable());
  EXPECT_EQ(answer, 42);
}

TEST(thread, name_is_there_from_the_beginning) {
  run({.name = "rubato/7"}, [] { EXPECT_EQ(own_name(), "rubato/7"); });
}

TEST(thread, name_is_cut_after15_bytes) {
  run({.name = "a-very-long-name/12"}, [] { EXPECT_EQ(own_name(), "a-very-long-nam"); });
  run({.name = "exactly-15-char"}, [] { EXPECT_EQ(own_name(), "exactly-15-char"); });
}

TEST(thread, without_aname_it_has_its_creators) {
  auto const mine = own_name();
  run([&] { EXPECT_EQ(own_name(), mine); });
}

TEST(thread, stack_size) {
  for (std::size_t const size : {std::size_t{256} << 10, std::size_t{1'000'001}, std::size_t{16} << 20})
    run({.name = {}, .stack_size = size}, [&] {
      EXPECT_GE(os::stack_bytes(), size);
      EXPECT_LE(os::stack_bytes(), size + (1U << 20)); // sanitizers ask for more
    });
}

thread_local std::array<char, 300'000> large_local;

/// The system puts the program's thread-local memory into a thread's stack.
TEST(thread, regression_has_its_stack_beside_thread_local_memory) {
  constexpr std::size_t size = 128 << 10;
  std::size_t room = 0;
  run({.name = {}, .stack_size = size}, [&] {
    large_local[1] = 1;
    pthread_attr_t a;
    void* lowest = nullptr;
    std::size_t all = 0;
    ASSERT_EQ(::pthread_getattr_np(::pthread_self(), &a), 0);
    ASSERT_EQ(::pthread_attr_getstack(&a, &lowest, &all), 0);
    ::pthread_attr_destroy(&a);
    char here = 0;
    room = static_cast<std::size_t>(&here - static_cast<char*>(lowest));
  });
  EXPECT_GT(room, size * 3 / 4);
}

TEST(thread, too_small_astack_is_made_large_enough) {
  int x = 0;
  run({.name = {}, .stack_size = 1}, [&] { x = 1; });
  EXPECT_EQ(x, 1);
}

TEST(thread, failure_to_start_is_thrown) {
  for (std::size_t const size : {SIZE_MAX, SIZE_MAX / 2})
    EXPECT_THROW(os::thread({.name = {}, .stack_size = size}, [](void*) {}, nullptr), std::system_error);
}

TEST(thread, moves) {
  std::atomic<int> runs{0};
  std::function<void()> body = [&] { ++runs; };
  auto a = start(body);
  os::thread b(std::move(a));
  EXPECT_FALSE(
      a.joinable()); // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move): it is what is tested
  os::thread c;
  EXPECT_FALSE(c.joinable());
  c = std::move(b);
  EXPECT_FALSE(b.joinable()); // NOLINT(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
  c.join();
  EXPECT_EQ(runs.load(), 1);
  c = start(body);
  c.join();
  EXPECT_EQ(runs.load(), 2);
}

TEST(thread, detached) {
  std::atomic<bool> go{false};
  std::atomic<bool> done{false};
  std::function<void()> body = [&] {
    while (!go.load()) std::this_thread::yield();
    done.store(true);
  };
  {
    auto t = start(body);
    t.detach();
    EXPECT_FALSE(t.joinable());
  }
  go.store(true);
  EXPECT_TRUE(eventually([&] { return done.load(); }));
}

TEST(thread, misuse_is_thrown) {
  os::thread none;
  EXPECT_EQ(error_of([&] { none.join(); }), std::errc::invalid_argument);
  EXPECT_EQ(error_of([&] { none.detach(); }), std::errc::invalid_argument);

  std::atomic<os::thread*> self{nullptr};
  std::errc error{};
  std::function<void()> body = [&] {
    while (self.load() == nullptr) std::this_thread::yield();
    error = error_of([&] { self.load()->join(); });
  };
  auto t = start(body);
  self.store(&t);
  t.join();
  EXPECT_EQ(error, std::errc::resource_deadlock_would_occur);
}

TEST(thread_death_test, neither_joined_nor_detached) {
  auto const forever = [](void*) { std::this_thread::sleep_for(1h); };
  EXPECT_DEATH(os::thread({}, forever, nullptr), "rubato: .*neither joined nor detached");
  EXPECT_DEATH(
      {
        os::thread t({}, forever, nullptr);
        t = os::thread();
      },
      "rubato: .*neither joined nor detached");
}

TEST(thread, signals_are_left_as_they_are) {
  sigset_t usr2, before, inside;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &usr2, &before), 0);
  run([&] { ::pthread_sigmask(SIG_BLOCK, nullptr, &inside); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(sigismember(&inside, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&inside, SIGUSR1), sigismember(&before, SIGUSR1));
}

TEST(thread, ids) {
  auto const mine = os::this_thread_id();
  EXPECT_EQ(mine, os::this_thread_id());
  run([&] { EXPECT_NE(os::this_thread_id(), mine); });
  EXPECT_TRUE(in_child([] { return os::this_thread_id() == ::getpid(); }));
}

TEST(pin, ties_the_thread_to_one_cpu) {
  auto const all = os::affinity_cpus();
  run([&] {
    for (int const cpu : all) {
      ASSERT_TRUE(os::pin(cpu));
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(::sched_getcpu(), cpu);
        std::this_thread::yield();
      }
    }
    EXPECT_TRUE(os::unpin());
    EXPECT_TRUE(os::unpin());
  });
}

TEST(pin, refused_for_cpus_that_are_not_there) {
  run([] {
    for (int const cpu : {-1, 1 << 19, (1 << 20) - 1, INT32_MAX, INT32_MIN})
      EXPECT_FALSE(os::pin(cpu)) << cpu;
    auto const all = os::affinity_cpus();
    ASSERT_TRUE(os::pin(all.front()));
    EXPECT_FALSE(os::pin(1 << 19));
    EXPECT_EQ(::sched_getcpu(), all.front());
    EXPECT_EQ(os::affinity_cpus(), all);
  });
}

TEST(pin, unpin_gives_back_what_was_there_before) {
  auto const all = os::affinity_cpus();
  run([&] {
    auto const last = all.back();
    ASSERT_TRUE(os::cpu_mask(std::span(&last, 1)).apply());
    ASSERT_TRUE(os::pin(last));
    ASSERT_TRUE(os::unpin());
    EXPECT_EQ(os::affinity_cpus(), std::vector{last});
    ASSERT_TRUE(os::cpu_mask(all).apply());
    EXPECT_EQ(os::affinity_cpus(), all);
  });
}

TEST(pin, athread_started_by_apinned_one_is_not_pinned) {
  auto const all = os::affinity_cpus();
  run([&] {
    ASSERT_TRUE(os::pin(all.front()));
    run([&] {
      EXPECT_EQ(os::affinity_cpus(), all);
      EXPECT_TRUE(os::unpin());
      EXPECT_EQ(os::affinity_cpus(), all); // truly, not only as remembered
    });
    EXPECT_EQ(::sched_getcpu(), all.front());
  });
}

TEST(stack_bytes, of_the_main_thread) {
  EXPECT_GE(os::stack_bytes(), std::size_t{64} << 10);
  EXPECT_LE(os::stack_bytes(), std::size_t{1} << 30);
}

TEST(stack_bytes, follow_the_limit_of_the_main_thread) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_STACK, &limit), 0);
  auto const with_limit = [&](rlim_t bytes, std::size_t least, std::size_t most) {
    return in_child([&] {
      limit.rlim_cur = bytes;
      if (::setrlimit(RLIMIT_STACK, &limit) != 0) return false;
      rlimit now{};
      if (::getrlimit(RLIMIT_STACK, &now) != 0 || now.rlim_cur != bytes)
        return true; // an emulator that only pretends to
      return os::stack_bytes() > least && os::stack_bytes() <= most;
    });
  };
  constexpr std::size_t mib = std::size_t{1} << 20;
  if (limit.rlim_max >= 16 * mib) {
    EXPECT_TRUE(with_limit(2 * mib, mib, 2 * mib));
    EXPECT_TRUE(with_limit(16 * mib, 15 * mib, 16 * mib));
  }
  if (limit.rlim_max == RLIM_INFINITY) {
    EXPECT_TRUE(with_limit(RLIM_INFINITY, 8 * mib, 1024 * mib));
  }
}

TEST(stack_bytes, after_afork_by_another_thread) {
  run({.name = {}, .stack_size = std::size_t{3} << 20}, [] {
    auto const mine = os::stack_bytes();
    EXPECT_TRUE(in_child([&] { return os::stack_bytes() == mine; }));
  });
}

/// A thread that sleeps, then computes, then ends, as told.
class subject {
  std::atomic<os::thread_id> id_{0};
  std::atomic<std::uint32_t> phase_{0};
  std::function<void()> body_ = [this] {
    id_.store(os::this_thread_id());
    phase_.wait(0);
    while (phase_.load() == 1) {
    }
  };
  os::thread thread_;

public:
  explicit subject(std::string name = {})
      : thread_(start(body_, {.name = std::move(name)})) {
    eventually([this] { return id() != 0; });
  }
  [[nodiscard]] os::thread_id id() const { return id_.load(); }
  void compute() {
    phase_.store(1);
    phase_.notify_one();
  }
  void end() {
    phase_.store(2);
    phase_.notify_one();
    thread_.join();
  }
};

TEST(state_of_a_thread, sleeping_then_computing_then_gone) {
  for (auto const* const name : {"", "x) R 1 (", ")", ") S ) ) S ) ) S", "\\\\\\\\\\\\\\\\\\\\\\\\\\\\"}) {
    subject s(name);
    EXPECT_TRUE(eventually([&] { return os::state_of(s.id()) == os::thread_state::sleeps; })) << name;
    s.compute();
    EXPECT_TRUE(eventually([&] { return os::state_of(s.id()) != os::thread_state::sleeps; })) << name;
    s.end();
    // The kernel lets go of a thread a little after its joiner.
    EXPECT_TRUE(eventually([&] { return os::state_of(s.id()) != os::thread_state::sleeps; })) << name;
  }
}

TEST(state_of_a_thread, not_the_caller_nor_nobody) {
  EXPECT_EQ(os::state_of(os::this_thread_id()), os::thread_state::runs);
  for (os::thread_id const id : {0, -1, 1 << 30}) EXPECT_EQ(os::state_of(id), os::thread_state::unknown);
}

TEST(cpu_time, grows_while_the_thread_computes_only) {
  subject s;
  auto asleep = os::cpu_time(s.id());
  EXPECT_TRUE(eventually([&] { // on its way to sleep it computes a little
    auto const before = std::exchange(asleep, os::cpu_time(s.id()));
    std::this_thread::sleep_for(5ms);
    return before == asleep;
  }));
  EXPECT_GT(asleep, 0ns);
  s.compute();
  EXPECT_TRUE(eventually([&] { return os::cpu_time(s.id()) > asleep + 5ms; }));
  s.end();
}

TEST(cpu_time, of_nobody) {
  subject s;
  s.end();
  EXPECT_TRUE(eventually([&] { return os::cpu_time(s.id()) == 0ns; })); // the kernel lets go a little later
  EXPECT_EQ(os::cpu_time(1 << 28), 0ns);
}

TEST(timer_slack, is_set) {
  run([] {
    auto const get = [] { return ::prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); };
    os::set_timer_slack(1us);
    EXPECT_EQ(get(), 1'000);
    os::set_timer_slack(0ns);
    EXPECT_EQ(get(), 1);
    os::set_timer_slack(-1s);
    EXPECT_EQ(get(), 1);
  });
}

} // namespace
