// co_await rubato::mpi::done() beside MPI_Wait(), between two ranks. bench/mpi.py runs it.
//
// Rounds of the two take turns. A row has the medians, with the least and the largest, and the median of the
// rounds' ratios.
#include "../harness/statistics.hpp"

#include <rubato/mpi.hpp>
#include <rubato/spawn.hpp>
#include <rubato/task.hpp>
#include <rubato/thread_pool.hpp>

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

constexpr int rounds = 9;

double us_since(steady_clock::time_point t) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - t).count();
}

/// One message after another, each way in turn, or one way with a partner that comes late.
struct exchange {
  int rank;
  std::vector<char> buffer;
  int messages;
  microseconds late{0}; ///< the other rank begins so much later
  bool sends;           ///< the rank that waits for the late one

  [[nodiscard]] MPI_Request begin(bool send) {
    MPI_Request r = MPI_REQUEST_NULL;
    auto const bytes = static_cast<int>(buffer.size());
    if (send)
      MPI_Isend(buffer.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &r);
    else
      MPI_Irecv(buffer.data(), bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &r);
    return r;
  }
};

void wait_blocking(exchange& x) {
  for (int i = 0; i != x.messages; ++i) {
    for (bool const first : {true, false}) {
      MPI_Request r = x.begin(first == (x.rank == 0));
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
  }
}
rubato::task<void> wait_awaiting(exchange& x) {
  for (int i = 0; i != x.messages; ++i) {
    for (bool const first : {true, false}) {
      MPI_Request r = x.begin(first == (x.rank == 0));
      co_await rubato::mpi::done(r);
    }
  }
}

void wait_late_blocking(exchange& x) {
  MPI_Request r = x.begin(x.sends == (x.rank == 0));
  MPI_Wait(&r, MPI_STATUS_IGNORE);
}
rubato::task<void> wait_late_awaiting(exchange& x) {
  MPI_Request r = x.begin(x.sends == (x.rank == 0));
  co_await rubato::mpi::done(r);
}

/// Of the calls on rank 0, per message.
template<class Blocking, class Awaiting>
void measure(std::string const& name, exchange& x, Blocking blocking, Awaiting awaiting) {
  std::vector<double> by_mpi, by_rubato, ratios;
  for (int round = 0; round <= rounds; ++round) { // the first is not counted
    double us[2];
    for (int const k : {0, 1}) {
      double sum = 0;
      int const repeats = x.late.count() == 0 ? 1 : 20;
      for (int i = 0; i != repeats; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        auto const began = steady_clock::now();
        if (x.rank == 1) std::this_thread::sleep_for(x.late);
        k == 0 ? blocking(x) : awaiting(x);
        sum += us_since(began);
      }
      us[k] = sum / repeats / x.messages;
    }
    if (round == 0) continue;
    by_mpi.push_back(us[0]);
    by_rubato.push_back(us[1]);
    ratios.push_back(us[1] / us[0]);
  }
  if (x.rank != 0) return;
  auto const cell = [](std::vector<double> const& v) {
    char text[64];
    std::snprintf(text, sizeof text, "%.2f (%.2f-%.2f)", bench::quantile(v, 0.5), bench::quantile(v, 0),
                  bench::quantile(v, 1));
    return std::string(text);
  };
  std::printf("| %s | %s | %s | %.2f |\n", name.c_str(), cell(by_rubato).c_str(), cell(by_mpi).c_str(),
              bench::quantile(ratios, 0.5));
  std::fflush(stdout);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC); }

/// The share of a core that a rank takes which waits for a message for a second.
void idle(int rank, rubato::pool& pool) {
  std::vector<double> shares;
  for (int round = 0; round != 3; ++round) {
    exchange x{.rank = rank, .buffer = std::vector<char>(8), .messages = 1, .sends = false};
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
    double const before = cpu_seconds();
    auto const began = steady_clock::now();
    pool.block_on(wait_late_awaiting(x));
    shares.push_back((cpu_seconds() - before) / us_since(began) * 1e8);
  }
  if (rank == 0)
    std::printf("\nidle wait of 1 s: %.1f%% of a core (%.1f-%.1f)\n", bench::quantile(shares, 0.5),
                bench::quantile(shares, 0), bench::quantile(shares, 1));
}

} // namespace

int main(int argc, char** argv) {
  rubato::mpi::session mpi(&argc, &argv);
  if (mpi.size() != 2) return std::fputs("two ranks\n", stderr), 1;
  unsigned const workers = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
  rubato::pool pool(workers);
  auto const on_pool = [&](auto wait) { return [&pool, wait](exchange& x) { pool.block_on(wait(x)); }; };
  if (mpi.rank() == 0) std::puts("| us | done | MPI_Wait | ratio |\n|---|---|---|---|");
  struct size {
    char const* name;
    std::size_t bytes;
    int messages;
  };
  for (auto const [name, bytes, messages] :
       {size{"8 B", 8, 20000}, size{"4 KiB", 4096, 4000}, size{"64 KiB", 1U << 16U, 2000},
        size{"1 MiB", 1U << 20U, 100}, size{"16 MiB", 1U << 24U, 6}}) {
    exchange x{.rank = mpi.rank(), .buffer = std::vector<char>(bytes), .messages = messages, .sends = true};
    measure("there and back, " + std::string(name), x, wait_blocking, on_pool(wait_awaiting));
  }
  for (auto const late : {microseconds(500), microseconds(5000), microseconds(20000)}) {
    for (auto const [name, bytes, messages] :
         {size{"8 B", 8, 1}, size{"64 KiB", 1U << 16U, 1}, size{"16 MiB", 1U << 24U, 1}}) {
      for (bool const sends : {false, true}) {
        if (sends && bytes == 8) continue; // it does not wait for the receiver
        exchange x{.rank = mpi.rank(),
                   .buffer = std::vector<char>(bytes),
                   .messages = 1,
                   .late = late,
                   .sends = sends};
        measure((sends ? "a receiver " : "a sender ") + std::to_string(late.count()) + " us late, " + name, x,
                wait_late_blocking, on_pool(wait_late_awaiting));
      }
    }
  }
  idle(mpi.rank(), pool);
}
