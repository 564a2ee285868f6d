// Skynet: ten children at every node, 10^8 leaves that return their numbers, and the sum of them.
//
//   skynet [THREADS [coroutines | closures]]
#include "fork_sum.hpp"
#include "program.hpp"

#include <rubato/rubato.hpp>

#include <array>

namespace {

constexpr std::uint64_t all_leaves = 100'000'000;

rubato::task<std::uint64_t> sum_by_coroutines(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) co_return first;
  std::uint64_t const part = leaves / 10;
  std::array<rubato::task<std::uint64_t>, 10> children;
  for (std::uint64_t i = 0; i != 10; ++i) children[i] = sum_by_coroutines(first + i * part, part);
  std::array<std::uint64_t, 10> sums;
  co_await rubato::when_all(children, sums);
  std::uint64_t sum = 0;
  for (std::uint64_t const s : sums) sum += s;
  co_return sum;
}

std::uint64_t sum_by_closures(std::uint64_t first, std::uint64_t leaves) {
  if (leaves == 1) return first;
  std::uint64_t const part = leaves / 10;
  return entry::fork_sum(0, 10,
                         [first, part](unsigned i) { return sum_by_closures(first + i * part, part); });
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  unsigned const threads = arguments.threads(1);
  bool const closures = arguments.has_variant(2, "closures");
  rubato::pool pool(threads);
  auto const skynet = [&] {
    std::uint64_t const sum = closures ? pool.run([] { return sum_by_closures(0, all_leaves); })
                                       : pool.block_on(sum_by_coroutines(0, all_leaves));
    entry::expect("sum of all leaves", all_leaves * (all_leaves - 1) / 2, sum);
  };
  std::printf("threads: %u\n", threads);
  skynet(); // warms up
  auto const time = entry::microseconds(skynet);
  entry::report_begin();
  entry::report_time(time);
  entry::report_memory();
}
