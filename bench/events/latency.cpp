// bench-latency-rubato -load micro|heavy -threads N -tasks N -exes N: how long a ready routine waits for its
// start, at the loads of scheduler.cpp. Prints "p50: T us, p99: T us, runs: N". bench/serverbox.py
//
// Ready: from the post on; with a deadline, from that or from an earlier wake or signal. With
// BESIDE_SERVERBOX it is compiled for serverbox's scheduler instead of Rubato's.
#include "work.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#ifdef BESIDE_SERVERBOX
#include "mg/sch/TaskScheduler.h"
#else
#include <rubato/rubato.hpp>
#endif

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;
using ns = std::int64_t;

ns now() { return std::chrono::nanoseconds(clock_type::now().time_since_epoch()).count(); }

#ifdef BESIDE_SERVERBOX
struct scheduler : mg::sch::TaskScheduler {
  scheduler(unsigned threads, unsigned tasks)
      : TaskScheduler("bench", 5000) { // as in its own benchmark
    Start(threads);
    Reserve(tasks);
  }
};
template<class Derived>
struct schedulable {
  mg::sch::Task task{[this](mg::sch::Task*) { static_cast<Derived*>(this)->run(); }};
  void post(scheduler& s) { s.Post(&task); }
  void post_after(scheduler& s, milliseconds d) { s.PostDelay(&task, static_cast<std::uint32_t>(d.count())); }
  void wake() { task.PostWakeup(); }
  void signal() { task.PostSignal(); }
  void receive() { task.ReceiveSignal(); }
};
#else
struct scheduler : rubato::pool {
  scheduler(unsigned threads, unsigned /*tasks*/)
      : pool(threads) {}
};
template<class Derived>
struct schedulable {
  rubato::routine task{[this](rubato::routine&) { static_cast<Derived*>(this)->run(); }};
  void post(scheduler& s) { task.post(s); }
  void post_after(scheduler& s, milliseconds d) { task.post_after(s, d); }
  void wake() { task.wake(); }
  void signal() { task.signal(); }
  void receive() { static_cast<void>(task.receive_signal()); }
};
#endif

/// Counts by length: 16 classes per power of two.
struct histogram {
  static constexpr unsigned parts = 16;
  std::array<std::uint64_t, 64 * parts> counts{};

  static std::size_t class_of(ns length) {
    auto const n = static_cast<std::uint64_t>(std::max<ns>(length, 0)) + parts;
    auto const power = static_cast<unsigned>(std::bit_width(n)) - 5; // n / 2^power is below 32
    return power * parts + (n >> power) - parts;
  }
  static double middle_us(std::size_t c) {
    std::size_t const power = c / parts, part = c % parts + parts;
    return (static_cast<double>(part) + 0.5) * static_cast<double>(std::uint64_t{1} << power) / 1000 -
           parts / 1000.0;
  }
  void add(ns length) { ++counts[class_of(length)]; }
  void add(histogram const& h) {
    for (std::size_t i = 0; i != counts.size(); ++i) counts[i] += h.counts[i];
  }
  [[nodiscard]] double quantile_us(double q) const {
    std::uint64_t all = 0, below = 0;
    for (std::uint64_t const n : counts) all += n;
    for (std::size_t i = 0; i != counts.size(); ++i)
      if ((below += counts[i]) > static_cast<std::uint64_t>(q * static_cast<double>(all)))
        return middle_us(i);
    return 0;
  }
};

std::mutex sum_mutex;
histogram sum; // of the threads that have ended

struct thread_histogram : histogram {
  ~thread_histogram() {
    std::lock_guard const guard(sum_mutex);
    sum.add(*this);
  }
};

struct runs;

struct repeated : schedulable<repeated> {
  runs* all = nullptr;
  unsigned done = 0;
  std::atomic<ns> ready{0};

  void post_now();
  void post_in(milliseconds d);
  void hasten() {
    ns const at = now();
    for (ns before = ready.load(std::memory_order_relaxed);
         at < before && !ready.compare_exchange_weak(before, at, std::memory_order_relaxed);) {
    }
  }
  void run();
};

struct runs {
  scheduler& on;
  bool heavy;
  unsigned times;
  std::vector<repeated> tasks;
  alignas(64) std::atomic<std::size_t> ended{0};

  runs(scheduler& s, bool h, std::size_t count, unsigned n)
      : on(s)
      , heavy(h)
      , times(n)
      , tasks(count) {
    for (repeated& t : tasks) t.all = this;
  }
  repeated& any() { return tasks[draw_index(tasks.size())]; }
};

void repeated::post_now() {
  ready.store(now(), std::memory_order_relaxed);
  post(all->on);
}
void repeated::post_in(milliseconds d) {
  ready.store(now() + std::chrono::nanoseconds(d).count(), std::memory_order_relaxed);
  post_after(all->on, d);
}

void repeated::run() {
  thread_local thread_histogram mine;
  mine.add(now() - ready.load(std::memory_order_relaxed));
  if (all->heavy) receive();
  ++done;
  draw_bits(all->heavy ? 500 : 100);
  if (all->heavy && done % 10 == 0)
    for (int i = 0; i != 2; ++i) {
      repeated& woken = all->any();
      woken.hasten(), woken.wake();
      repeated& signalled = all->any();
      signalled.hasten(), signalled.signal();
    }
  if (done == all->times)
    all->ended.fetch_add(1, std::memory_order_release);
  else if (all->heavy && done % 10 != 0 && done % 3 == 0)
    post_in(milliseconds(2));
  else if (all->heavy && done % 10 != 0 && done % 2 == 0)
    post_in(milliseconds(1));
  else
    post_now();
}

} // namespace

int main(int argc, char** argv) {
  bool heavy = false;
  unsigned threads = 1, tasks = 1'000, exes = 1'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view const name = argv[i];
    if (name == "-load") heavy = std::string_view(argv[i + 1]) == "heavy";
    if (name == "-threads") threads = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (name == "-tasks") tasks = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (name == "-exes") exes = static_cast<unsigned>(std::atoi(argv[i + 1]));
  }
  {
    scheduler on(threads, tasks);
    runs all(on, heavy, tasks, exes);
    for (repeated& t : all.tasks) t.post_now();
    while (all.ended.load(std::memory_order_acquire) != tasks) std::this_thread::sleep_for(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(20)); // the last callbacks return
#ifdef BESIDE_SERVERBOX
    on.Stop();
#else
    on.shutdown();
#endif
  } // all threads have ended
  std::printf("p50: %.3g us, p99: %.3g us, runs: %llu\n", sum.quantile_us(0.5), sum.quantile_us(0.99),
              static_cast<unsigned long long>(tasks) * exes);
}
