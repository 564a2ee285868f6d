// Fibonacci numbers, with a fork at every call and nothing else.
//
//   fib N [THREADS [coroutines | closures]]
#include "program.hpp"

#include <rubato/rubato.hpp>

namespace {

rubato::task<std::uint64_t> fib_by_coroutines(std::uint64_t n) {
  if (n < 2) co_return n;
  auto const [a, b] = co_await rubato::when_all(fib_by_coroutines(n - 1), fib_by_coroutines(n - 2));
  co_return a + b;
}

std::uint64_t fib_by_closures(std::uint64_t n) {
  if (n < 2) return n;
  auto const [a, b] =
      rubato::join([n] { return fib_by_closures(n - 1); }, [n] { return fib_by_closures(n - 2); });
  return a + b;
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  if (argc < 2) {
    std::printf("Usage: fib N [THREADS [coroutines | closures]]\n");
    return 0;
  }
  std::uint64_t const n = arguments.number(1, 0);
  unsigned const threads = arguments.threads(2);
  bool const closures = arguments.has_variant(3, "closures");
  rubato::pool pool(threads);
  auto const fib = [&](std::uint64_t of) {
    return closures ? pool.run([of] { return fib_by_closures(of); }) : pool.block_on(fib_by_coroutines(of));
  };
  std::printf("threads: %u\n", threads);
  fib(30); // warms up
  std::uint64_t number = 0;
  auto const time = entry::microseconds([&] { number = fib(n); });
  std::printf("output: %llu\n", static_cast<unsigned long long>(number));
  entry::report_begin();
  entry::report_time(time);
  entry::report_memory();
}
