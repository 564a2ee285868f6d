// Uses the compiled part of the library and templates of its headers.
#include <rubato/rubato.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

namespace {

rubato::task<int> later(int n) {
  co_await rubato::sleep_for(std::chrono::milliseconds(1));
  co_return n + 1;
}

} // namespace

int main() {
  rubato::pool pool(2);
  auto const [a, b] = pool.run([] { return rubato::join([] { return 20; }, [] { return 21; }); });
  int const sum = pool.spawn(later(a + b)).get();
  std::printf("%d\n", sum);
  return sum == 42 ? 0 : 1;
}
