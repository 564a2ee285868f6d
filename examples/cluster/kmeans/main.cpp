// Finds the means of clusters of points that are spread over the ranks of MPI. Source: S. Lloyd, 1982.
//
//   mpirun -n 2 kmeans [POINTS [WORKERS]]
//
// The points are cut into blocks of fixed size, each of which is summed up by itself. Every rank gets the
// sums of all blocks and adds them in the order of the blocks. So the means have the same bits for any number
// of ranks and workers; rank 0 compares them with those of a plain loop.
#include "shared/places.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/mpi.hpp>
#include <rubato/spawn.hpp>
#include <rubato/task.hpp>
#include <rubato/thread_pool.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

namespace {

constexpr std::size_t dimensions = 8, clusters = 16, steps = 10, block = 4096;

using point = std::array<double, dimensions>;
using means = std::array<point, clusters>;

/// Of the points of a block that are nearest to a mean. A struct of doubles alone, so that MPI can send it.
struct sums {
  std::array<point, clusters> of{};
  std::array<double, clusters> points{};
  void add(sums const& other) {
    for (std::size_t c = 0; c != clusters; ++c) {
      for (std::size_t d = 0; d != dimensions; ++d) of[c][d] += other.of[c][d];
      points[c] += other.points[c];
    }
  }
};
constexpr std::size_t doubles = sizeof(sums) / sizeof(double);

point point_at(std::size_t i) {
  point p;
  for (std::size_t d = 0; d != dimensions; ++d) {
    double const x = static_cast<double>(cluster::random_at(i * dimensions + d) >> 11U) * 0x1p-53;
    p[d] = x + static_cast<double>(i % clusters >> d % 4 & 1U); // about one corner for each cluster
  }
  return p;
}

std::size_t nearest(point const& p, means const& m) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::max();
  for (std::size_t c = 0; c != clusters; ++c) {
    double distance = 0;
    for (std::size_t d = 0; d != dimensions; ++d) distance += (p[d] - m[c][d]) * (p[d] - m[c][d]);
    if (distance < least) least = distance, best = c;
  }
  return best;
}

sums sum_up(point const* points, std::size_t n, means const& m) {
  sums s;
  for (std::size_t i = 0; i != n; ++i) {
    std::size_t const c = nearest(points[i], m);
    for (std::size_t d = 0; d != dimensions; ++d) s.of[c][d] += points[i][d];
    s.points[c] += 1;
  }
  return s;
}

means next_means(std::vector<sums> const& blocks, means m) {
  sums all;
  for (sums const& s : blocks) all.add(s); // in order: floating-point sums depend on it
  for (std::size_t c = 0; c != clusters; ++c)
    for (std::size_t d = 0; d != dimensions && all.points[c] != 0; ++d)
      m[c][d] = all.of[c][d] / all.points[c];
  return m;
}

means first_means() {
  means m;
  for (std::size_t c = 0; c != clusters; ++c) m[c] = point_at(c);
  return m;
}

/// The points of the blocks from `first` on, before `last`.
std::vector<point> points_of(std::size_t first, std::size_t last, std::size_t n) {
  std::vector<point> made(std::min(last * block, n) - std::min(first * block, n));
  rubato::for_index(std::size_t{0}, made.size(),
                    [&](std::size_t i) { made[i] = point_at(first * block + i); });
  return made;
}

rubato::task<means> find_means(std::vector<point> const& mine, cluster::share of, std::size_t rank) {
  std::vector<int> counts, places;
  for (std::size_t r = 0; r != of.ranks; ++r) {
    counts.push_back(static_cast<int>((of.first(r + 1) - of.first(r)) * doubles));
    places.push_back(static_cast<int>(of.first(r) * doubles));
  }
  std::size_t const first = of.first(rank), own = of.first(rank + 1) - first;
  std::vector<sums> all(of.n);
  means m = first_means();
  for (std::size_t step = 0; step != steps; ++step) {
    rubato::for_index(std::size_t{0}, own, [&](std::size_t b) {
      all[first + b] = sum_up(&mine[b * block], std::min(block, mine.size() - b * block), m);
    });
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE, all.data(), counts.data(), places.data(), MPI_DOUBLE,
                    MPI_COMM_WORLD, &r);
    co_await rubato::mpi::done(r);
    m = next_means(all, m);
  }
  co_return m;
}

means find_means_serially(std::size_t n) {
  std::vector<point> const points = points_of(0, (n + block - 1) / block, n);
  means m = first_means();
  for (std::size_t step = 0; step != steps; ++step) {
    std::vector<sums> all;
    for (std::size_t i = 0; i < n; i += block) all.push_back(sum_up(&points[i], std::min(block, n - i), m));
    m = next_means(all, m);
  }
  return m;
}

std::uint64_t check_sum(means const& m) {
  std::uint64_t sum = 0;
  for (std::size_t c = 0; c != clusters; ++c)
    for (std::size_t d = 0; d != dimensions; ++d)
      sum += cluster::mark(c * dimensions + d, std::bit_cast<std::uint64_t>(m[c][d]));
  return sum;
}

rubato::task<int> run(rubato::mpi::session const& mpi, std::size_t n) {
  auto const rank = static_cast<std::size_t>(mpi.rank());
  cluster::share const of{.n = (n + block - 1) / block, .ranks = static_cast<std::size_t>(mpi.size())};
  std::vector<point> const mine = points_of(of.first(rank), of.first(rank + 1), n);
  MPI_Request all_begin = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_begin);
  co_await rubato::mpi::done(all_begin);
  auto const began = std::chrono::steady_clock::now();
  means const found = co_await find_means(mine, of, rank);
  double const seconds = cluster::seconds_since(began);
  if (rank != 0) co_return 0;
  bool const right = check_sum(found) == check_sum(find_means_serially(n));
  std::printf("%zu points, check sum %016" PRIx64 ": %s\n", n, check_sum(found), right ? "right" : "WRONG");
  std::fprintf(stderr, "%d ranks: %.1f ms\n", mpi.size(), seconds * 1e3);
  co_return right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  rubato::mpi::session const mpi(&argc, &argv);
  std::size_t const n = std::max<std::size_t>(clusters, cluster::argument(argc, argv, 1, 300'000));
  rubato::pool pool(static_cast<unsigned>(cluster::argument(argc, argv, 2, rubato::usable_cpus())));
  return pool.block_on(run(mpi, n));
}
