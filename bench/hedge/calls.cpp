// bench-hedge-calls [ROUNDS [CALLS]]: what a race and a hedge cost, beside the bare means of the system in
// the same process, interleaved. Prints a line per contender: its name, the median of its rounds and the
// quickest and the slowest round, in microseconds per call.
//
//   race N       rubato::race of a function in which each of N copies waits until all have begun; pinned if
//                there are N CPUs
//   jthreads N   the same function on N new std::jthreads, pinned likewise, started and joined by each call
//   hedge        rubato::hedge of an empty function, two copies, from a thread outside the pool
//   hedge idle   the same, 300 us after the previous call: all threads sleep
//   futex pair   a thread wakes another one that sleeps on a futex, and sleeps until that one wakes it
//   futex idle   the same, 300 us after the previous time
#include <rubato/rubato.hpp>

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

/// Returns when it has been called by as many threads.
class meeting {
  std::atomic<unsigned> here_{0};

public:
  void attend(unsigned all) {
    here_.fetch_add(1);
    for (unsigned i = 0; here_.load() < all; ++i)
      if (i % 64 == 63) std::this_thread::yield();
  }
};

void pin_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

void race(unsigned n, bool pinned) {
  meeting m;
  rubato::race(rubato::race_options().runners(n).pin(pinned), [&] { m.attend(n); });
}

void jthreads(unsigned n, bool pinned) {
  meeting m;
  std::vector<std::jthread> all;
  for (unsigned i = 0; i != n; ++i)
    all.emplace_back([&m, n, i, pinned] {
      if (pinned) pin_to(static_cast<int>(i));
      m.attend(n);
    });
}

/// Two threads and two futexes.
class pair_of_threads {
  std::atomic<std::uint32_t> ping_{0}, pong_{0};
  std::jthread other_;

  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t old) {
    while (word.load() == old)
      ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, old, nullptr, nullptr,
                0);
  }
  static void set(std::atomic<std::uint32_t>& word, std::uint32_t v) {
    word.store(v);
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

public:
  pair_of_threads()
      : other_([this](std::stop_token stop) {
        for (std::uint32_t i = 0; !stop.stop_requested(); ++i) {
          wait(ping_, i);
          set(pong_, i + 1);
        }
      }) {}
  ~pair_of_threads() {
    other_.request_stop();
    call();
  }
  void call() {
    std::uint32_t const i = pong_.load();
    set(ping_, i + 1);
    wait(pong_, i);
  }
};

struct contender {
  std::string name;
  std::function<void()> call;
  bool idle = false;
  std::vector<double> rounds{};
};

double measure(contender const& c, unsigned calls) {
  double total = 0;
  for (unsigned i = 0; i != calls; ++i) {
    if (c.idle) std::this_thread::sleep_for(std::chrono::microseconds(300));
    auto const begin = clock_type::now();
    c.call();
    total += std::chrono::duration<double, std::micro>(clock_type::now() - begin).count();
  }
  return total / calls;
}

} // namespace

int main(int argc, char** argv) {
  unsigned const rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 15;
  unsigned const calls = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 300;
  unsigned const cpus = std::thread::hardware_concurrency();
  pair_of_threads pair;
  std::vector<contender> all;
  for (unsigned const n : {2U, 4U, 8U}) {
    all.push_back({"race " + std::to_string(n), [=] { race(n, n <= cpus); }});
    all.push_back({"jthreads " + std::to_string(n), [=] { jthreads(n, n <= cpus); }});
  }
  all.push_back({"hedge", [] { rubato::hedge([] {}); }});
  all.push_back({"futex pair", [&pair] { pair.call(); }});
  all.push_back({"hedge idle", [] { rubato::hedge([] {}); }, true});
  all.push_back({"futex idle", [&pair] { pair.call(); }, true});
  for (unsigned r = 0; r <= rounds; ++r)
    for (contender& c : all) {
      double const us = measure(c, calls);
      if (r != 0) c.rounds.push_back(us); // the first round makes the threads
    }
  for (contender& c : all) {
    std::sort(c.rounds.begin(), c.rounds.end());
    std::printf("%-12s %8.1f  (%.1f to %.1f)\n", c.name.c_str(), c.rounds[c.rounds.size() / 2],
                c.rounds.front(), c.rounds.back());
  }
}
