// A recursion of joins, whose leaf a debugger stops in.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

namespace {

[[gnu::noinline]] int leaf(int n) {
  asm volatile("" : "+r"(n));
  return n;
}
[[gnu::noinline]] int fib(int n) {
  if (n < 2) return leaf(n);
  auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

} // namespace

int main() {
  rubato::pool pool(1);
  return pool.run([] { return fib(8); }) == 21 ? 0 : 1;
}
