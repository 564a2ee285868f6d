// bench-scheduler-rubato -load nano|micro|heavy -threads N -tasks N -exes N [-form coroutines]: the runs of
// serverbox's benchmark of its scheduler, by routines; nano also by coroutines. Prints "Exec per second: N".
// bench/serverbox.py
//
// Tasks are posted by the main thread, and post themselves again until each has run `exes` times; each run
// adds to one shared count. The clock runs from the first post to the end of the last run, which the main
// thread looks for every millisecond. nano: nothing else. micro: 100 random bits, each stored. heavy: 500;
// every tenth run wakes and signals four others, others wait for 1 or 2 ms. A coroutine is made and enqueued
// where a routine is posted, and yields between its runs.
#include "work.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::milliseconds;

enum class load { nano, micro, heavy };

struct runs;

struct repeated {
  runs* all = nullptr;
  unsigned done = 0;
  rubato::routine routine{[this](rubato::routine& r) { run(r); }};
  void run(rubato::routine& r);
};

struct runs {
  rubato::pool& pool;
  load what;
  unsigned times;
  std::vector<repeated> tasks;
  alignas(64) std::atomic<std::uint64_t> total{0}; // never in a coroutine
  alignas(64) std::atomic<std::size_t> ended{0};   // never in a coroutine

  runs(rubato::pool& p, load l, std::size_t count, unsigned n)
      : pool(p)
      , what(l)
      , times(n)
      , tasks(count) {
    for (repeated& t : tasks) t.all = this;
  }
  repeated& any() { return tasks[draw_index(tasks.size())]; }
};

void repeated::run(rubato::routine& r) {
  if (all->what == load::heavy) static_cast<void>(r.receive_signal());
  ++done;
  all->total.fetch_add(1, std::memory_order_relaxed);
  if (all->what == load::micro) draw_bits(100);
  if (all->what == load::heavy) {
    draw_bits(500);
    if (done % 10 == 0)
      for (int i = 0; i != 2; ++i) {
        all->any().routine.wake();
        all->any().routine.signal();
      }
  }
  if (done == all->times)
    all->ended.fetch_add(1, std::memory_order_release);
  else if (all->what == load::heavy && done % 10 != 0 && done % 3 == 0)
    r.post_after(all->pool, milliseconds(2));
  else if (all->what == load::heavy && done % 10 != 0 && done % 2 == 0)
    r.post_after(all->pool, milliseconds(1));
  else
    r.post(all->pool);
}

struct counts {
  alignas(64) std::atomic<std::uint64_t> runs{0}; // never in a coroutine
  alignas(64) std::atomic<std::size_t> ended{0};  // never in a coroutine
};

rubato::task<void> repeat_nano(counts& all, unsigned times) {
  for (unsigned done = 1;; ++done) {
    all.runs.fetch_add(1, std::memory_order_relaxed);
    if (done == times) break;
    co_await rubato::yield();
  }
  all.ended.fetch_add(1, std::memory_order_release);
}

/// Waits for the end of all tasks, and prints.
void finish(clock_type::time_point begin, unsigned tasks, std::atomic<std::size_t> const& ended,
            std::atomic<std::uint64_t> const& total) {
  while (ended.load(std::memory_order_acquire) != tasks) std::this_thread::sleep_for(milliseconds(1));
  std::chrono::duration<double> const took = clock_type::now() - begin;
  std::printf("Exec per second: %.0f\n",
              static_cast<double>(total.load(std::memory_order_relaxed)) / took.count());
}

void warm_up(rubato::pool& pool) {
  std::atomic<unsigned> count{0};
  for (int i = 0; i != 10'000; ++i) pool.enqueue([&count] { count.fetch_add(1, std::memory_order_relaxed); });
  pool.wait_idle();
}

} // namespace

int main(int argc, char** argv) {
  load what = load::nano;
  bool coroutines = false;
  unsigned threads = 1, tasks = 1'000'000, exes = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view const name = argv[i], value = argv[i + 1];
    if (name == "-load") what = value == "micro" ? load::micro : value == "heavy" ? load::heavy : load::nano;
    if (name == "-form") coroutines = value == "coroutines";
    if (name == "-threads") threads = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (name == "-tasks") tasks = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (name == "-exes") exes = static_cast<unsigned>(std::atoi(argv[i + 1]));
  }
  rubato::pool pool(threads);
  runs all(pool, what, coroutines ? 0 : tasks, exes);
  counts by_coroutines;
  warm_up(pool);
  auto const begin = clock_type::now();
  if (coroutines) {
    for (unsigned i = 0; i != tasks; ++i) pool.enqueue(repeat_nano(by_coroutines, exes));
    finish(begin, tasks, by_coroutines.ended, by_coroutines.runs);
  } else {
    for (repeated& t : all.tasks) t.routine.post(pool);
    finish(begin, tasks, all.ended, all.total);
  }
  pool.wait_idle(); // the last callbacks return
}
