// bench-queues-rubato: the runs of serverbox's benchmarks of its two queues, by the library's own injector.
//   -op front -threads N -items N: N threads push one by one, one thread pops all that it finds, busily.
//   -op ready -threads N -items N: one thread pushes, N threads pop busily, a batch at a time as workers do.
// Prints "Items/sec: N". The clock runs from the first push; the main thread looks for the end every
// millisecond. bench/serverbox.py
#include "sync/injector.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using rubato::detail::injector;
using rubato::detail::queue_node;

constexpr std::size_t most_at_once = 32; // as task_queues::pop_batch()

/// As far apart as serverbox's items, each an allocation of its own: 32 bytes.
struct alignas(32) item : queue_node {};

struct alignas(64) count {
  std::atomic<std::uint64_t> items{0};
};

std::uint64_t sum(std::vector<count> const& all) {
  std::uint64_t n = 0;
  for (count const& c : all) n += c.items.load(std::memory_order_relaxed);
  return n;
}

/// Items per second, until `items` have been popped.
double rate(clock_type::time_point begin, std::vector<count> const& popped, std::uint64_t items) {
  while (sum(popped) < items) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return static_cast<double>(items) / std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Pops up to `most` nodes as long as a push may have left some.
std::uint64_t pop_some(injector& q, std::size_t most) {
  if (q.empty() || !q.try_lock()) return 0;
  std::lock_guard const guard(q, std::adopt_lock);
  std::uint64_t n = 0;
  while (n != most && q.pop() != nullptr) ++n;
  return n;
}

double front(unsigned senders, std::size_t items) {
  injector queue;
  std::size_t const each = items / senders + 1;
  std::vector<item> nodes(each * senders);
  std::vector<count> popped(1);
  alignas(64) std::atomic<std::uint64_t> pushed{
      0}; // as there, counted before each push; the consumer takes the count at each look
  std::atomic<bool> go{false};
  std::vector<std::jthread> threads;
  threads.emplace_back([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      static_cast<void>(pop_some(queue, nodes.size()));
      popped[0].items.fetch_add(pushed.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    }
  });
  for (unsigned i = 0; i != senders; ++i)
    threads.emplace_back([&, mine = nodes.data() + i * each] {
      go.wait(false);
      for (std::size_t k = 0; k != each; ++k) {
        pushed.fetch_add(1, std::memory_order_relaxed);
        queue.push(mine + k);
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // all wait
  auto const begin = clock_type::now();
  go = true;
  go.notify_all();
  double const result = rate(begin, popped, items);
  threads.front().request_stop();
  threads.clear();
  return result;
}

double ready(unsigned consumers, std::size_t items) {
  injector queue;
  std::vector<item> nodes(items);
  std::vector<count> popped(consumers);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i != consumers; ++i)
    threads.emplace_back([&queue, &mine = popped[i].items](std::stop_token stop) {
      while (!stop.stop_requested())
        for (std::uint64_t n = pop_some(queue, most_at_once); n != 0; --n)
          mine.fetch_add(1, std::memory_order_relaxed); // as there, one by one
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto const begin = clock_type::now();
  for (item& n : nodes) queue.push(&n);
  return rate(begin, popped, items);
}

} // namespace

int main(int argc, char** argv) {
  std::string_view op = "front";
  unsigned threads = 1;
  std::size_t items = 1'000'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string_view const name = argv[i];
    if (name == "-op") op = argv[i + 1];
    if (name == "-threads") threads = static_cast<unsigned>(std::atoi(argv[i + 1]));
    if (name == "-items") items = static_cast<std::size_t>(std::atoll(argv[i + 1]));
  }
  std::printf("Items/sec: %.0f\n", op == "front" ? front(threads, items) : ready(threads, items));
}
