// In how many ways 14 queens stand on a board without attacking each other. One fork for every queen that can
// be set, each with a board of its own.
//
//   nqueens [THREADS [coroutines | closures]]
#include "fork_sum.hpp"
#include "program.hpp"

#include <rubato/rubato.hpp>

#include <array>
#include <span>

namespace {

constexpr unsigned queens = 14;
constexpr int ways = 365'596;

struct board {
  std::array<char, queens> column{}; ///< of the queen in each row

  bool is_free(unsigned row, char at) const {
    for (unsigned r = 0; r != row; ++r) {
      int const columns = column[r] - at;
      int const rows = static_cast<int>(row - r);
      if (columns == 0 || columns == rows || columns == -rows) return false;
    }
    return true;
  }
  board with(unsigned row, char at) const {
    board next = *this;
    next.column[row] = at;
    return next;
  }
};

rubato::task<int> ways_by_coroutines(board b, unsigned row) {
  if (row == queens) co_return 1;
  std::array<rubato::task<int>, queens> children;
  std::size_t count = 0;
  for (char at = 0; at != queens; ++at)
    if (b.is_free(row, at)) children[count++] = ways_by_coroutines(b.with(row, at), row + 1);
  if (count == 0) co_return 0;
  std::array<int, queens> found;
  co_await rubato::when_all(std::span(children).first(count), std::span(found).first(count));
  int sum = 0;
  for (std::size_t i = 0; i != count; ++i) sum += found[i];
  co_return sum;
}

int ways_by_closures(board const& b, unsigned row) {
  if (row == queens) return 1;
  std::array<char, queens> open;
  unsigned count = 0;
  for (char at = 0; at != queens; ++at)
    if (b.is_free(row, at)) open[count++] = at;
  if (count == 0) return 0;
  return entry::fork_sum(0, count,
                         [&](unsigned i) { return ways_by_closures(b.with(row, open[i]), row + 1); });
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  unsigned const threads = arguments.threads(1);
  bool const closures = arguments.has_variant(2, "closures");
  rubato::pool pool(threads);
  auto const nqueens = [&] {
    int const found = closures ? pool.run([] { return ways_by_closures(board(), 0); })
                               : pool.block_on(ways_by_coroutines(board(), 0));
    entry::expect("ways to set the queens", ways, static_cast<std::uint64_t>(found));
  };
  std::printf("threads: %u\n", threads);
  nqueens(); // warms up
  auto const time = entry::microseconds(nqueens);
  std::printf("output: %d\n", ways);
  entry::report_begin();
  entry::report_time(time);
  entry::report_memory();
}
