// The product of two square matrices of ints: each is cut into four quarters down to 32 x 32, where the
// suite's own loop multiplies. Four products at a time, so that no two write to the same place.
//
//   matmul SIZE [THREADS [coroutines | closures]]     SIZE: a power of two
#include "matmul.hpp" // the suite's own, in cpp/2common
#include "program.hpp"

#include <rubato/rubato.hpp>

#include <vector>

namespace {

/// to += left * right, for `size` rows and columns of matrices of `width` columns.
struct product {
  int* left;
  int* right;
  int* to;
  int size;
  int width;

  bool is_small() const { return size <= 32; }
  void multiply() const { matmul_small(left, right, to, size, width); }
  /// The quarter of `to` at (row, column) gets the product of the quarters of `left` and `right` that meet at
  /// `inner`. Each index is 0 or 1.
  product quarter(int row, int column, int inner) const {
    int const half = size / 2;
    return {left + (row * width + inner) * half, right + (inner * width + column) * half,
            to + (row * width + column) * half, half, width};
  }
};

rubato::task<void> multiply_by_coroutines(product p) {
  if (p.is_small()) {
    p.multiply();
    co_return;
  }
  for (int inner = 0; inner != 2; ++inner)
    co_await rubato::when_all(
        multiply_by_coroutines(p.quarter(0, 0, inner)), multiply_by_coroutines(p.quarter(0, 1, inner)),
        multiply_by_coroutines(p.quarter(1, 0, inner)), multiply_by_coroutines(p.quarter(1, 1, inner)));
}

void multiply_by_closures(product const& p) {
  if (p.is_small()) return p.multiply();
  for (int inner = 0; inner != 2; ++inner) {
    auto const part = [&p, inner](int row, int column) {
      return [&p, inner, row, column] { multiply_by_closures(p.quarter(row, column, inner)); };
    };
    rubato::invoke(part(0, 0), part(0, 1), part(1, 0), part(1, 1));
  }
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  if (argc < 2) {
    std::printf("Usage: matmul SIZE [THREADS [coroutines | closures]]\n");
    return 0;
  }
  auto const size = static_cast<int>(arguments.number(1, 0));
  unsigned const threads = arguments.threads(2);
  bool const closures = arguments.has_variant(3, "closures");
  rubato::pool pool(threads);
  std::vector<int> result;
  auto const matmul = [&] { // with the matrices' memory, as in the other entries
    result = {};
    std::size_t const cells = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
    std::vector<int> left(cells, 1), right(cells, 1), to(cells, 0);
    product const whole{left.data(), right.data(), to.data(), size, size};
    if (closures)
      pool.run([&] { multiply_by_closures(whole); });
    else
      pool.block_on(multiply_by_coroutines(whole));
    result = std::move(to);
  };
  std::printf("threads: %u\n", threads);
  matmul(); // warms up
  auto const time = entry::microseconds(matmul);
  for (int const cell : result)
    entry::expect("a cell", static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(cell));
  entry::report_begin("matrix_size", static_cast<std::uint64_t>(size));
  entry::report_time(time);
  entry::report_memory();
}
