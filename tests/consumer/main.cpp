#include <rubato/join.hpp>
#include <rubato/rubato.hpp>

#include <cstdio>

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

} // namespace

int main() {
  long const result = fib(20);
  std::printf("fib(20) = %ld\n", result);
  return result == 6765 ? 0 : 1;
}
