// A program that uses much of the library, compiled with warnings that others have and we do not, and without
// RTTI.

// Names of a program that the headers' enumerators have too.
extern int done, closed, waits, lost, no, again, nowhere, listed, urgent, taken, called, own_decided,
    same_race;
int done, closed, waits, lost, no, again, nowhere, listed, urgent, taken, called, own_decided, same_race;

#include <rubato/rubato.hpp>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;

int failed = 0;

void expect(bool holds, char const* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  ++failed;
}

long fib(long n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return a + b;
}

long fib_with(rubato::context& c, long n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join(
      c, [n](rubato::context& l) { return fib_with(l, n - 1); },
      [n](rubato::context& r) { return fib_with(r, n - 2); });
  return a + b;
}

void forks(rubato::pool& p) {
  expect(p.run([] { return fib(10); }) == 55, "join");
  expect(p.run([] { return rubato::with_context([](rubato::context& c) { return fib_with(c, 10); }); }) == 55,
         "join with a context");
  auto [one, two, none] = rubato::invoke(p, [] { return 1; }, [] { return std::make_unique<int>(2); }, [] {});
  static_cast<void>(none);
  expect(one + *two == 3, "invoke");

  std::vector<int> v(1000, 1);
  rubato::for_each(p, v, [](int& x) { x += 1; });
  rubato::for_index(p, std::size_t{0}, v.size(), [&](std::size_t i) { v[i] += 1; });
  rubato::for_range(p, std::size_t{0}, v.size(), [&](std::size_t a, std::size_t b) {
    for (; a != b; ++a) v[a] += 1;
  });
  expect(rubato::reduce(p, v, 0, std::plus<>{}) == 4000, "reduce");
  expect(rubato::reduce(p, rubato::deterministic, v, 0L, std::plus<>{}, [](int x) { return long{x}; }) ==
             4000,
         "reduce deterministically");

  rubato::with_scope(p, [](rubato::scope& s) {
    s.spawn([] {});
    s.spawn([]() -> rubato::task<void> { co_await rubato::yield(); });
  });
  rubato::task_group group(p);
  group.spawn([] {});
  group.wait();
}

void results(rubato::pool& p) {
  auto text = p.spawn([](std::string s) { return s + "b"; }, "a").then([](std::string s) { return s + "c"; });
  expect(text.get() == "abc", "then");
  rubato::promise<int&> promised;
  auto referred = promised.get_future().share();
  int x = 5;
  promised.set_value(x);
  expect(&referred.get() == &x, "a reference");
  auto [a, b] = rubato::when_all(p.spawn([] { return 1; }), p.spawn([] {})).get();
  static_cast<void>(b);
  expect(a == 1, "when_all");
  std::vector<rubato::future<int>> many;
  for (int i = 0; i != 3; ++i) many.push_back(p.spawn([i] { return i; }));
  expect(rubato::when_any(std::move(many)).get().index < 3, "when_any");
  expect(p.submit([] { return 6; }).get() == 6, "submit");
  p.enqueue_bulk(3, [](std::size_t) {});
  p.enqueue_after(1us, [] {}).cancel();
  p.broadcast([] {});
  rubato::strand s(p);
  expect(s.spawn([] { return 7; }).get() == 7, "a strand");
  rubato::per_worker<int> each(p);
  expect(each.combine(std::plus<>{}) == 0, "per_worker");
  expect(rubato::blocking([] { return 8; }) == 8, "blocking");
}

rubato::async_generator<int> numbers() {
  co_yield 1;
  co_yield 2;
}

rubato::task<int> coroutine(rubato::pool& p) {
  co_await rubato::resume_on(p);
  co_await rubato::sleep_for(1us);
  rubato::async_mutex m;
  {
    auto const lock = co_await m.scoped_lock();
  }
  rubato::async_semaphore permits(1);
  co_await permits.acquire();
  permits.release(1);
  rubato::channel<std::unique_ptr<int>> c(1);
  co_await c.send(std::make_unique<int>(1));
  std::optional<std::unique_ptr<int>> got = co_await c.receive();
  int sum = **got;
  auto g = numbers();
  while (true) {
    std::optional<int> n = co_await g.next();
    if (!n) break;
    sum += *n;
  }
  auto one = []() -> rubato::task<int> { co_return 1; };
  auto both = rubato::when_all(one(), one());
  auto [a, b] = co_await std::move(both);
  auto first = rubato::when_any(one(), one());
  auto won = co_await std::move(first);
  static_cast<void>(won);
  auto soon = rubato::with_deadline(one(), rubato::never);
  std::optional<int> in_time = co_await std::move(soon);
  co_return sum + a + b + *in_time;
}

} // namespace

int main() {
  rubato::pool p(rubato::pool_options().workers(2).name("strict"));
  forks(p);
  results(p);
  expect(p.block_on(coroutine(p)) == 7, "coroutines");
  expect(p.wait_idle(), "idle");
  return failed;
}
