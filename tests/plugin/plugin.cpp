// What a program loads: it uses a pool of its own and the global one, and leaves both running.
#include <rubato/rubato.hpp>

#include <chrono>
#include <optional>

namespace {

long fib(long n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

rubato::pool own(2U);

long use() {
  using namespace std::chrono_literals;
  long const joined = own.run([] { return fib(10); });
  auto spawned = rubato::spawn([] { return fib(10); });
  auto timed = own.spawn([]() -> rubato::task<long> {
    co_await rubato::sleep_for(1ms);
    co_return 3;
  });
  rubato::promise<long> rung;
  auto bell = rung.get_future();
  own.enqueue_after(1ms, [&rung] { rung.set_value(4); });
  return joined + spawned.get() + timed.get() + bell.get();
}

} // namespace

/// 55 + 55 + 3 + 4 = 117, or -1 if something goes wrong.
extern "C" long rubato_plugin_use() try { return use(); } catch (...) {
  return -1;
}

/// Does the calling thread belong to a pool of this copy of the library?
extern "C" int rubato_plugin_is_worker() { return rubato::current_worker().has_value() ? 1 : 0; }

/// What the function returns in a worker of this plug-in.
extern "C" int rubato_plugin_call(int (*f)()) { return own.spawn(f).get(); }
