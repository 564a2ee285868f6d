#include <rubato/join.hpp>
#include <rubato/rubato.hpp>

#include <atomic>
#include <cstdio>
#include <utility>

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

std::atomic<int> locals{0};

struct local {
  local() { ++locals; }
  local(local const&) = delete;
  local& operator=(local const&) = delete;
  ~local() { --locals; }
};

rubato::task<int> innermost(rubato::channel<int>& never) {
  local const here;
  auto const value = co_await never.receive();
  co_return value.value_or(0);
}
rubato::task<int> outermost(rubato::channel<int>& never) {
  local const here;
  co_return co_await innermost(never);
}

/// The frames of a nest are destroyed once, by the library and the program together.
bool breaks_off() {
  rubato::channel<int> never(0);
  {
    rubato::pool pool(2);
    for (int i = 0; i != 3; ++i) pool.spawn(outermost(never)).detach();
    pool.wait_idle();
    if (locals != 6) return false;
  }
  return locals == 0;
}

/// The program's part of a stop sees the library's.
bool is_stopped() {
  rubato::pool pool(1);
  std::atomic<int> ran{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.request_stop();
      s.spawn([&] { ++ran; });
    });
  });
  return ran == 0 && pool.run([] { return rubato::current_worker().has_value(); }) &&
         !rubato::current_worker();
}

} // namespace

int main() {
  long const result = fib(20);
  std::printf("fib(20) = %ld\n", result);
  return result == 6765 && breaks_off() && is_stopped() ? 0 : 1;
}
