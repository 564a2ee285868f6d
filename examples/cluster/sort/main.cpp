// Sorts numbers that are spread over the ranks of MPI, by a sample sort. Source: W. Frazer, A. McKellar,
// 1970.
//
//   mpirun -n 2 sort [KEYS [WORKERS]]
//
// All ranks agree on splitters, and each rank gets the keys between two of them from all ranks, and sorts
// them. So each key is sent once at most, and sorted once. The check sum that it prints depends on the sorted
// sequence alone, so it is the same for any number of ranks and workers; rank 0 compares it with that of
// std::sort.
#include "shared/places.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/mpi.hpp>
#include <rubato/spawn.hpp>
#include <rubato/task.hpp>
#include <rubato/thread_pool.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

namespace {

using key = std::uint64_t;
using keys = std::vector<key>;

keys keys_at(std::size_t first, std::size_t last) {
  keys made(last - first);
  rubato::for_index(std::size_t{0}, made.size(),
                    [&](std::size_t i) { made[i] = cluster::random_at(first + i); });
  return made;
}

std::uint64_t check_sum(keys const& sorted, std::size_t first_place) {
  return rubato::reduce(std::views::iota(std::size_t{0}, sorted.size()), std::uint64_t{0}, std::plus<>(),
                        [&](std::size_t i) { return cluster::mark(first_place + i, sorted[i]); });
}

/// Between the keys of rank r and those of r + 1, for each r but the last: from samples of each rank's keys.
rubato::task<keys> agree_on_splitters(keys const& mine, std::size_t rank, std::size_t ranks) {
  constexpr std::size_t samples =
      1024; // of each rank: then a rank gets a few per cent more than its part at most
  keys own(samples, ~key{0}), all(samples * ranks);
  for (std::size_t i = 0; i != samples && !mine.empty(); ++i)
    own[i] = mine[cluster::random_at(rank * samples + i) % mine.size()];
  MPI_Request r = MPI_REQUEST_NULL;
  MPI_Iallgather(own.data(), samples, MPI_UINT64_T, all.data(), samples, MPI_UINT64_T, MPI_COMM_WORLD, &r);
  co_await rubato::mpi::done(r);
  std::ranges::sort(all);
  keys splitters;
  for (std::size_t i = 1; i != ranks; ++i) splitters.push_back(all[samples * i]);
  co_return splitters;
}

/// Keys in the order of the ranks to which they go. Those of rank r begin at begins[r].
struct dealt {
  keys by_rank;
  std::vector<std::size_t> begins;
};

dealt deal_out(keys const& mine, keys const& splitters) {
  constexpr std::size_t block = 1U << 16U;
  std::size_t const ranks = splitters.size() + 1, blocks = (mine.size() + block - 1) / block;
  auto const rank_of = [&](key k) {
    std::size_t r = 0;
    for (key const s : splitters) r += static_cast<std::size_t>(k >= s);
    return r;
  };
  auto const for_each_block = [&](auto f) {
    rubato::for_index(std::size_t{0}, blocks, [&](std::size_t b) {
      for (std::size_t i = b * block; i != std::min(mine.size(), (b + 1) * block); ++i) f(b, mine[i]);
    });
  };
  // How many keys of each block go to each rank, and from that, where the first of them goes.
  std::vector<std::vector<std::size_t>> at(blocks, std::vector<std::size_t>(ranks));
  for_each_block([&](std::size_t b, key k) { ++at[b][rank_of(k)]; });
  dealt d{.by_rank = keys(mine.size()), .begins = {}};
  std::size_t next = 0;
  for (std::size_t r = 0; r != ranks; ++r) {
    d.begins.push_back(next);
    for (std::vector<std::size_t>& of_block : at) next += std::exchange(of_block[r], next);
  }
  d.begins.push_back(next);
  for_each_block([&](std::size_t b, key k) { d.by_rank[at[b][rank_of(k)]++] = k; });
  return d;
}

/// Each rank sends to each rank what goes there.
rubato::task<keys> exchange(dealt const& out, std::size_t rank, std::size_t ranks) {
  std::vector<std::uint64_t> sends(ranks), gets(ranks);
  for (std::size_t r = 0; r != ranks; ++r) sends[r] = out.begins[r + 1] - out.begins[r];
  MPI_Request sizes = MPI_REQUEST_NULL;
  MPI_Ialltoall(sends.data(), 1, MPI_UINT64_T, gets.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD, &sizes);
  co_await rubato::mpi::done(sizes);

  keys in(std::reduce(gets.begin(), gets.end()));
  std::vector<MPI_Request> all;
  std::size_t place = 0;
  for (std::size_t r = 0; r != ranks; place += gets[r++]) {
    if (r == rank) continue;
    MPI_Irecv(in.data() + place, static_cast<int>(gets[r]), MPI_UINT64_T, static_cast<int>(r), 0,
              MPI_COMM_WORLD, &all.emplace_back());
    MPI_Isend(out.by_rank.data() + out.begins[r], static_cast<int>(sends[r]), MPI_UINT64_T,
              static_cast<int>(r), 0, MPI_COMM_WORLD, &all.emplace_back());
  }
  std::size_t const before = std::reduce(gets.begin(), gets.begin() + static_cast<std::ptrdiff_t>(rank));
  std::ranges::copy(out.by_rank.begin() + static_cast<std::ptrdiff_t>(out.begins[rank]),
                    out.by_rank.begin() + static_cast<std::ptrdiff_t>(out.begins[rank + 1]),
                    in.begin() + static_cast<std::ptrdiff_t>(before)); // meanwhile
  co_await rubato::mpi::done(all);
  co_return in;
}

rubato::task<keys> sort_over_ranks(keys mine, std::size_t rank, std::size_t ranks) {
  if (ranks != 1) {
    keys const splitters = co_await agree_on_splitters(mine, rank, ranks);
    dealt const out = deal_out(mine, splitters);
    mine = co_await exchange(out, rank, ranks);
  }
  rubato::sort(mine);
  co_return mine;
}

/// The sum over all ranks, or over those before this one.
rubato::task<std::uint64_t> sum_over_ranks(std::uint64_t mine, bool only_before, int rank) {
  std::uint64_t sum = 0;
  MPI_Request r = MPI_REQUEST_NULL;
  if (only_before)
    MPI_Iexscan(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &r);
  else
    MPI_Iallreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &r);
  co_await rubato::mpi::done(r);
  co_return only_before&& rank == 0 ? 0 : sum;
}

rubato::task<int> run(rubato::mpi::session const& mpi, std::size_t n) {
  auto const rank = static_cast<std::size_t>(mpi.rank()), ranks = static_cast<std::size_t>(mpi.size());
  cluster::share const of{.n = n, .ranks = ranks};
  keys mine = keys_at(of.first(rank), of.first(rank + 1));
  co_await sum_over_ranks(0, false, mpi.rank()); // all begin together

  auto const began = std::chrono::steady_clock::now();
  keys const sorted = co_await sort_over_ranks(std::move(mine), rank, ranks);
  co_await sum_over_ranks(0, false, mpi.rank()); // all have ended
  double const seconds = cluster::seconds_since(began);

  std::uint64_t const place = co_await sum_over_ranks(sorted.size(), true, mpi.rank());
  std::uint64_t const sum = co_await sum_over_ranks(check_sum(sorted, place), false, mpi.rank());
  std::uint64_t const is_wrong = sorted.empty() ? 0U : static_cast<unsigned>(!std::ranges::is_sorted(sorted));
  std::uint64_t const wrong = co_await sum_over_ranks(is_wrong, false, mpi.rank());
  if (rank != 0) co_return 0;
  keys expected = keys_at(0, n);
  std::ranges::sort(expected);
  bool const right = wrong == 0 && sum == check_sum(expected, 0);
  std::printf("%zu keys, check sum %016" PRIx64 ": %s\n", n, sum, right ? "right" : "WRONG");
  std::fprintf(stderr, "%zu ranks: %.1f ms\n", ranks, seconds * 1e3);
  co_return right ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  rubato::mpi::session const mpi(&argc, &argv);
  std::size_t const n = cluster::argument(argc, argv, 1, 4'000'000);
  rubato::pool pool(static_cast<unsigned>(cluster::argument(argc, argv, 2, rubato::usable_cpus())));
  return pool.block_on(run(mpi, n));
}
