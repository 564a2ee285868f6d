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
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace {

using key = std::uint64_t;
using keys = std::vector<key>;

keys keys_at(std::size_t first, std::size_t last) {
  keys made;
  made.reserve((last - first) + (last - first) / 8); // the rank may get a few per cent more
  made.resize(last - first);
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
  constexpr std::size_t samples = 1024; // of each rank: it gets a few per cent more than its part at most
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

/// Puts the keys in the order of the ranks to which they go, and appends where those of each rank begin; the
/// first key is at `first`. O(keys log ranks).
void deal_out(std::span<key> some, std::span<key const> splitters, std::size_t first,
              std::vector<std::size_t>& begins) {
  if (splitters.empty()) return begins.push_back(first);
  std::size_t const middle = splitters.size() / 2;
  auto const rest = rubato::partition(some, [s = splitters[middle]](key k) { return k < s; });
  std::size_t const less = some.size() - rest.size();
  deal_out(some.first(less), splitters.first(middle), first, begins);
  deal_out(some.subspan(less), splitters.subspan(middle + 1), first + less, begins);
}

/// Swaps keys with another rank, chunk by chunk in their place: new memory costs more than the messages.
/// Those for which there is no place are appended to `more`.
rubato::task<void> swap_keys(std::span<key> outgoing, std::size_t incoming, int partner, keys& more) {
  constexpr std::size_t chunk = 1U << 17U;
  keys arrived(chunk);
  while (!outgoing.empty() || incoming != 0) {
    auto const sent = outgoing.first(std::min(chunk, outgoing.size()));
    std::size_t const got = std::min(chunk, incoming);
    std::array<MPI_Request, 2> both{};
    MPI_Irecv(arrived.data(), static_cast<int>(got), MPI_UINT64_T, partner, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(sent.data(), static_cast<int>(sent.size()), MPI_UINT64_T, partner, 0, MPI_COMM_WORLD, &both[1]);
    co_await rubato::mpi::done(both);
    auto const placed = std::span(arrived).first(std::min(sent.size(), got));
    std::ranges::copy(placed, sent.begin());
    more.insert(more.end(), arrived.data() + placed.size(), arrived.data() + got);
    outgoing = outgoing.subspan(sent.size());
    incoming -= got;
  }
}

/// Each rank gets from each rank what goes there: a few keys more or less than it gives.
rubato::task<void> exchange(keys& mine, std::vector<std::size_t> const& begins, std::size_t rank) {
  std::size_t const ranks = begins.size() - 1;
  std::vector<std::uint64_t> sends(ranks), gets(ranks);
  for (std::size_t r = 0; r != ranks; ++r) sends[r] = begins[r + 1] - begins[r];
  MPI_Request sizes = MPI_REQUEST_NULL;
  MPI_Ialltoall(sends.data(), 1, MPI_UINT64_T, gets.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD, &sizes);
  co_await rubato::mpi::done(sizes);

  keys more;
  for (std::size_t turn = 0; turn != ranks; ++turn) {
    std::size_t const partner = (turn + ranks - rank) % ranks; // whose partner in this turn is this rank
    if (partner == rank) continue;
    co_await swap_keys(std::span(mine).subspan(begins[partner], sends[partner]), gets[partner],
                       static_cast<int>(partner), more);
  }
  // Places without a key get one that has none, or the last key: the order does not matter yet.
  for (std::size_t r = ranks; r-- != 0;) {
    for (std::size_t i = begins[r + 1]; i-- > begins[r] + gets[r];) {
      keys& from = more.empty() ? mine : more;
      mine[i] = from.back();
      from.pop_back();
    }
  }
  mine.insert(mine.end(), more.begin(), more.end());
}

rubato::task<keys> sort_over_ranks(keys mine, std::size_t rank, std::size_t ranks) {
  if (ranks != 1) {
    keys const splitters = co_await agree_on_splitters(mine, rank, ranks);
    std::vector<std::size_t> begins;
    deal_out(mine, splitters, 0, begins);
    begins.push_back(mine.size());
    co_await exchange(mine, begins, rank);
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
  bool const is_set = !only_before || rank != 0;
  co_return is_set ? sum : 0;
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
