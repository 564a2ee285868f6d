// bench-events SCENARIO WORKERS SIZE [MICROSECONDS]: timers, routines and descriptors, beside the bare means
// of the kernel in the same process. Prints a line per contender: its name and its figures. bench/events.py
#include <rubato/rubato.hpp>

#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using std::chrono::microseconds;

double microseconds_since(clock_type::time_point t) {
  return std::chrono::duration<double, std::micro>(clock_type::now() - t).count();
}

double cpu_microseconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

double resident_bytes() {
  std::ifstream f("/proc/self/statm");
  double all = 0, resident = 0;
  f >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void print_percentiles(char const* contender, std::vector<double> v) {
  std::sort(v.begin(), v.end());
  std::printf("%s %.1f %.1f\n", contender, v[v.size() / 2], v[v.size() * 99 / 100]);
}

/// A byte sent to a thread or a coroutine that has slept for a while, and how long it took to get there.
struct letters {
  int ends[2] = {-1, -1};
  std::atomic<clock_type::time_point> sent{};
  std::vector<double> took;
  std::atomic<std::size_t> arrived{0};

  letters() {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("no socket pair");
  }
  letters(letters const&) = delete;
  letters& operator=(letters const&) = delete;
  ~letters() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void send(std::size_t count, microseconds pause) {
    for (std::size_t i = 0; i != count; ++i) {
      std::this_thread::sleep_for(pause);
      sent = clock_type::now();
      if (::write(ends[1], "x", 1) != 1) throw std::runtime_error("the pair is full");
    }
  }
  void receive() {
    took.push_back(microseconds_since(sent));
    char c = 0;
    if (::read(ends[0], &c, 1) != 1) throw std::runtime_error("a wake without a byte");
    ++arrived;
  }
};

rubato::task<void> receive_all(letters& l, std::size_t count) {
  for (std::size_t i = 0; i != count; ++i) {
    co_await rubato::readable(l.ends[0]);
    l.receive();
  }
}

/// The CPUs of the calling thread and of the threads that it makes: the n-th of those of the process.
void stay_on(unsigned n) {
  static cpu_set_t const all = [] {
    cpu_set_t found;
    ::sched_getaffinity(0, sizeof found, &found);
    return found;
  }();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu != CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && n-- == 0) CPU_SET(cpu, &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) throw std::runtime_error("there is only one CPU");
}

/// The sender has a CPU of its own, or shares that of the receivers. Left to the kernel, one contender may
/// get the one and one the other.
void event(unsigned workers, std::size_t count, microseconds pause, bool same_cpu) {
  {
    letters l;
    stay_on(1);
    rubato::pool pool(workers);
    auto received = pool.spawn(receive_all(l, count));
    stay_on(same_cpu ? 1 : 0);
    l.send(count, pause);
    received.get();
    rubato::forget(l.ends[0]);
    print_percentiles("rubato", l.took);
  }
  letters l;
  stay_on(1);
  std::jthread receiver([&] {
    int const set = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event e{};
    e.events = EPOLLIN;
    ::epoll_ctl(set, EPOLL_CTL_ADD, l.ends[0], &e);
    for (std::size_t i = 0; i != count; ++i) {
      ::epoll_wait(set, &e, 1, -1);
      l.receive();
    }
    ::close(set);
  });
  stay_on(same_cpu ? 1 : 0);
  l.send(count, pause);
  receiver.join();
  print_percentiles("epoll", l.took);
}

/// Events while every worker is busy: with short tasks from a long queue, or each with one long task.
void event_beside(unsigned workers, std::size_t tasks, microseconds length) {
  constexpr std::size_t count = 400;
  letters l;
  rubato::pool pool(workers);
  std::atomic<std::size_t> left = tasks;
  std::atomic<bool> measured = false;
  auto received = pool.spawn(receive_all(l, count));
  for (std::size_t i = 0; i != tasks; ++i)
    pool.enqueue([&left, &measured, length] {
      for (auto const end = clock_type::now() + length; clock_type::now() < end && !measured;) {
      }
      --left;
    });
  for (std::size_t i = 0; i != count; ++i) {
    l.send(1, std::chrono::milliseconds(5));
    while (l.arrived == i) std::this_thread::sleep_for(microseconds(100));
  }
  if (left == 0) throw std::runtime_error("the tasks have ended too early");
  measured = true;
  received.get();
  rubato::forget(l.ends[0]);
  print_percentiles("rubato", l.took);
}

rubato::task<void> sleep_often(std::vector<double>& late, std::size_t count, microseconds d) {
  for (std::size_t i = 0; i != count; ++i) {
    auto const due = clock_type::now() + d;
    co_await rubato::sleep_until(due);
    late.push_back(microseconds_since(due));
  }
}

void timer(unsigned workers, std::size_t count, microseconds d) {
  std::vector<double> late;
  {
    rubato::pool pool(workers);
    pool.spawn(sleep_often(late, count, d)).get();
  }
  print_percentiles("rubato", late);
  late.clear();
  std::jthread sleeper([&] {
    int const fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    for (std::size_t i = 0; i != count; ++i) {
      auto const due = clock_type::now() + d;
      auto const ns = due.time_since_epoch().count();
      itimerspec at{};
      at.it_value.tv_sec = ns / 1'000'000'000;
      at.it_value.tv_nsec = ns % 1'000'000'000;
      ::timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, nullptr);
      std::uint64_t fired = 0;
      if (::read(fd, &fired, sizeof fired) != sizeof fired) std::abort();
      late.push_back(microseconds_since(due));
    }
    ::close(fd);
  });
  sleeper.join();
  print_percentiles("timerfd", late);
}

rubato::task<void> sleep_for_a_while(microseconds d) { co_await rubato::sleep_for(d); }

/// Sleeping coroutines: resident bytes of each, CPU time in percent of a core while they sleep.
void sleepers(unsigned workers, std::size_t count) {
  rubato::pool pool(workers);
  pool.spawn(sleep_for_a_while(microseconds(10))).get(); // the pool's own memory is there
  double const before = resident_bytes();
  rubato::future<void> all = pool.spawn([](std::size_t n) -> rubato::task<void> {
    co_await rubato::with_async_scope([&](rubato::scope& s) -> rubato::task<void> {
      for (std::size_t i = 0; i != n; ++i) s.spawn(sleep_for_a_while(std::chrono::hours(1)));
      co_return;
    });
  }(count));
  std::this_thread::sleep_for(std::chrono::seconds(1)); // all are asleep
  double const each = (resident_bytes() - before) / static_cast<double>(count);
  double const used = cpu_microseconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::printf("rubato %.0f %.4f\n", each, (cpu_microseconds() - used) / 2e6 * 100);
  std::fflush(stdout);
  pool.request_shutdown(rubato::discard);
}

/// The same for routines, beside the bytes of the objects themselves, which are there before.
void sleeping_routines(unsigned workers, std::size_t count) {
  rubato::pool pool(workers);
  pool.spawn(sleep_for_a_while(microseconds(10))).get();
  struct sleeper {
    rubato::routine routine{[](rubato::routine&) {}};
  };
  std::vector<sleeper> all(count);
  double const before = resident_bytes();
  for (sleeper& s : all) s.routine.post_after(pool, std::chrono::hours(1));
  std::this_thread::sleep_for(std::chrono::seconds(1)); // all are asleep
  double const each = (resident_bytes() - before) / static_cast<double>(count);
  double const used = cpu_microseconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::printf("rubato %.0f %.4f\n", each, (cpu_microseconds() - used) / 2e6 * 100);
  std::fflush(stdout);
  pool.request_shutdown(rubato::discard);
  pool.wait_idle(); // a routine that waits must not be destroyed
}

rubato::task<void> read_one(rubato::tcp_socket client) {
  char c = 0;
  std::error_code error;
  static_cast<void>(co_await client.read_some(std::span(&c, 1), error));
}

/// The same for connections, each with a coroutine that waits for a byte.
void idle_connections(unsigned workers, std::size_t count) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  rubato::pool pool(workers);
  rubato::tcp_listener const listener(rubato::address::loopback(0));
  std::atomic<std::size_t> accepted{0};
  rubato::future<void> all =
      pool.spawn([](rubato::tcp_listener const& from, std::atomic<std::size_t>& n) -> rubato::task<void> {
        co_await rubato::with_async_scope([&](rubato::scope& s) -> rubato::task<void> {
          for (;;) {
            rubato::tcp_socket client = co_await from.accept();
            s.spawn(read_one(std::move(client)));
            ++n;
          }
        });
      }(listener, accepted));
  std::vector<int> clients;
  clients.reserve(count + 1);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(listener.local_address().port());
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto const connect = [&](std::size_t n) {
    while (clients.size() < n) {
      clients.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      if (::connect(clients.back(), reinterpret_cast<sockaddr const*>(&at), sizeof at) != 0)
        throw std::runtime_error("no connection: see ulimit -n");
    }
    while (accepted < n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  connect(1); // the pool's own memory is there
  double const before = resident_bytes();
  connect(count + 1);
  double const each = (resident_bytes() - before) / static_cast<double>(count);
  double const used = cpu_microseconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  std::printf("rubato %.0f %.4f\n", each, (cpu_microseconds() - used) / 2e6 * 100);
  std::fflush(stdout);
  for (int fd : clients) ::close(fd);
  pool.request_shutdown(rubato::discard);
}

std::uint64_t next_random(std::uint64_t& s) {
  s ^= s << 13U, s ^= s >> 7U, s ^= s << 17U;
  return s;
}

std::chrono::microseconds some_time(std::uint64_t& s) {
  return std::chrono::seconds(60) + microseconds(next_random(s) % 600'000'000);
}

/// body(number of the thread, its random numbers) over and over on `threads` threads: ns of CPU time of each.
template<class Body>
double cpu_ns_of(unsigned threads, Body body) {
  std::size_t const rounds = 300'000;
  std::atomic<bool> go{false};
  std::vector<std::jthread> all;
  for (unsigned t = 0; t != threads; ++t)
    all.emplace_back([&, t] {
      std::uint64_t s = 88172645463325252ULL + t * 7919;
      while (!go) std::this_thread::yield();
      for (std::size_t i = 0; i != rounds; ++i) body(t, s);
    });
  double const used = cpu_microseconds();
  go = true;
  all.clear(); // joined
  return (cpu_microseconds() - used) * 1e3 / static_cast<double>(rounds * threads);
}

/// The library's timers without a task: as a sleep or a deadline has one.
void arm_alone(unsigned threads, std::size_t count) {
  struct idle : rubato::detail::timer {
    void fire() noexcept override {}
  };
  std::vector<idle> pending(count);
  struct alignas(128) aside : idle {}; // never in a coroutine
  std::vector<aside> own(threads);
  std::uint64_t seed = 88172645463325252ULL;
  auto const begin = clock_type::now();
  auto const arm_at = [begin](idle& t, std::uint64_t& s) {
    t.due = begin + some_time(s);
    rubato::detail::arm(t);
  };
  for (idle& p : pending) arm_at(p, seed);
  double const pair = cpu_ns_of(threads, [&](unsigned t, std::uint64_t& s) {
    arm_at(own[t], s);
    static_cast<void>(rubato::detail::disarm(own[t]));
  });
  double const again = cpu_ns_of(threads, [&](unsigned t, std::uint64_t& s) {
    std::size_t const share = count / threads;
    idle& p = pending[t * share + next_random(s) % share];
    static_cast<void>(rubato::detail::disarm(p));
    arm_at(p, s);
  });
  for (idle& p : pending) static_cast<void>(rubato::detail::disarm(p));
  std::printf("timer-alone %.0f %.0f\n", pair, again);
}

/// Arm and cancel on `threads` threads beside `count` pending deadlines: ns of CPU time of each pair. Then:
/// the same to cancel a random pending one and to arm it anew.
void arm(unsigned threads, std::size_t count) {
  arm_alone(threads, count);
  rubato::pool pool(1);
  std::vector<rubato::timer_handle> pending(count);
  std::uint64_t seed = 88172645463325252ULL;
  for (auto& p : pending) p = pool.enqueue_after(some_time(seed), [] {});
  double const pair = cpu_ns_of(
      threads, [&](unsigned, std::uint64_t& s) { pool.enqueue_after(some_time(s), [] {}).cancel(); });
  double const again = cpu_ns_of(threads, [&](unsigned t, std::uint64_t& s) {
    std::size_t const share = count / threads;
    auto& p = pending[t * share + next_random(s) % share];
    p.cancel();
    p = pool.enqueue_after(some_time(s), [] {});
  });
  std::printf("rubato %.0f %.0f\n", pair, again);
  std::fflush(stdout);
  pool.request_shutdown(rubato::discard);
}

/// `count` routines posted from outside, each run `times` times: millions of runs per second.
struct repeated {
  rubato::pool* pool = nullptr;
  unsigned left = 0;
  rubato::routine routine{[this](rubato::routine& r) {
    if (--left != 0) r.post(*pool);
  }};
};

struct counted { // as large as a routine: the pointers in the queue lead to as much memory
  unsigned left = 0;
  char padding[sizeof(repeated) - sizeof(unsigned)] = {};
};

void routine(unsigned workers, std::size_t count, unsigned times) {
  double const runs = static_cast<double>(count) * times;
  {
    rubato::pool pool(workers);
    std::vector<repeated> all(count);
    for (auto& r : all) r.pool = &pool, r.left = times;
    auto const begin = clock_type::now();
    for (auto& r : all) r.routine.post(pool);
    pool.wait_idle();
    std::printf("rubato %.2f\n", runs / microseconds_since(begin));
  }
  std::mutex m;
  std::condition_variable ready;
  std::deque<counted*> queue;
  bool closed = false;
  std::atomic<std::size_t> done{0};
  std::vector<counted> all(count, counted{times});
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i != workers; ++i)
    threads.emplace_back([&] {
      for (;;) {
        counted* mine = nullptr;
        {
          std::unique_lock hold(m);
          ready.wait(hold, [&] { return closed || !queue.empty(); });
          if (queue.empty()) return;
          mine = queue.front();
          queue.pop_front();
        }
        if (--mine->left == 0) {
          if (++done == count) done.notify_one();
          continue;
        }
        {
          std::lock_guard const hold(m);
          queue.push_back(mine);
        }
        ready.notify_one();
      }
    });
  auto const begin = clock_type::now();
  for (auto& one : all) {
    {
      std::lock_guard const hold(m);
      queue.push_back(&one);
    }
    ready.notify_one();
  }
  for (std::size_t n = done; n != count; n = done) done.wait(n);
  std::printf("mutex-queue %.2f\n", runs / microseconds_since(begin));
  {
    std::lock_guard const hold(m);
    closed = true;
  }
  ready.notify_all();
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: bench-events SCENARIO WORKERS SIZE MICROSECONDS-OR-TIMES\n", stderr);
    return 2;
  }
  try {
    std::string_view const what = argv[1];
    auto const workers = static_cast<unsigned>(std::atoi(argv[2]));
    std::size_t const size = std::strtoull(argv[3], nullptr, 10);
    int const extra = std::atoi(argv[4]);
    if (what == "event" || what == "event-same-cpu")
      event(workers, size, microseconds(extra), what == "event-same-cpu");
    else if (what == "event-beside")
      event_beside(workers, size, microseconds(extra));
    else if (what == "timer")
      timer(workers, size, microseconds(extra));
    else if (what == "sleepers")
      sleepers(workers, size);
    else if (what == "sleeping-routines")
      sleeping_routines(workers, size);
    else if (what == "idle-connections")
      idle_connections(workers, size);
    else if (what == "arm")
      arm(workers, size);
    else if (what == "routine")
      routine(workers, size, static_cast<unsigned>(extra));
    else
      return 3;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "bench-events: %s\n", e.what());
    return 1;
  }
}
