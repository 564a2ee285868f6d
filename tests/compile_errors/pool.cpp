// Callables that do not fit into what a pool, a strand or a future is given.
#include <rubato/rubato.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

struct other {};
extern rubato::pool p;
rubato::task<> nothing();

int spawned() {
  return rubato::spawn([](int n) { return n; }).get();
  // error: rubato: spawn(f, args...): f must be callable as f(args...), with copies of the arguments as
  // rvalues
}
int by_reference(int& n) {
  return p.spawn([](int& m) { return ++m; }, n).get();
  // error: rubato: spawn(f, args...): f must be callable as f(args...), with copies of the arguments as
  // rvalues
}
int move_only(std::unique_ptr<int> n) {
  auto f = [n = std::move(n)] { return *n; };
  return p.spawn(f).get();
  // error: rubato: spawn(f, args...): f and the arguments are copied unless they are passed as rvalues
}
void on_seat(rubato::task<int> t) {
  p.spawn_on(0, [](std::string const&) {}).get();
  // error: rubato: spawn(f, args...): f must be callable as f(args...), with copies of the arguments as
  // rvalues
  p.spawn_on(0, t).get();
  // error: rubato: spawn(t): a task with a name is moved: spawn(std::move(t))
}
void of_a_name(rubato::task<double> t) {
  rubato::spawn(t).get();
  // error: rubato: spawn(t): a task with a name is moved: spawn(std::move(t))
  p.enqueue(t);
  // error: rubato: enqueue(t): a task with a name is moved: enqueue(std::move(t))
}
int submitted() {
  return rubato::submit(p, [](int, int) { return 1; }, 1).get();
  // error: rubato: spawn(f, args...): f must be callable as f(args...), with copies of the arguments as
  // rvalues
}
void queued(std::unique_ptr<int> n) {
  rubato::enqueue([](int) {});
  // error: rubato: enqueue(f): f must be callable as f()
  if (!p.try_enqueue(other())) return;
  // error: rubato: enqueue(f): f must be callable as f()
  auto f = [n = std::move(n)] {};
  p.enqueue(f);
  // error: rubato: enqueue(f): f is copied unless it is passed as an rvalue
  p.enqueue_bulk(3, [] {});
  // error: rubato: enqueue_bulk(n, f): f must be callable as f(index), any number of times
  p.enqueue_after(std::chrono::seconds(1), [](int) {});
  // error: rubato: enqueue(f): f must be callable as f()
}
// A lazy task that is dropped has done nothing.
void lazily(rubato::scope& s, rubato::strand& in_order, rubato::channel<int>& c, rubato::async_mutex& m,
            rubato::future<int> f) {
  rubato::spawn([&c] { return c.send(9); }).get();
  // error: rubato: the callable returns an awaitable that nothing awaits: write it as a coroutine and
  // co_await it, or return a task
  rubato::submit([] { return rubato::sleep_for(std::chrono::seconds(1)); }).get();
  // error: rubato: the callable returns an awaitable that nothing awaits
  p.spawn_on(0, [&m] { return m.acquire(); }).get();
  // error: rubato: the callable returns an awaitable that nothing awaits
  p.enqueue([] { return rubato::when_all(nothing(), nothing()); });
  // error: rubato: the callable returns an awaitable that nothing awaits
  p.enqueue_bulk(2, [](std::size_t) { return rubato::yield(); });
  // error: rubato: the callable returns an awaitable that nothing awaits
  in_order.enqueue([&c] { return c.receive(); });
  // error: rubato: the callable returns an awaitable that nothing awaits
  s.spawn([&s] { return s.join(); });
  // error: rubato: the callable returns an awaitable that nothing awaits
  std::move(f).then([&c](int n) { return c.send(n); }).get();
  // error: rubato: the callable returns an awaitable that nothing awaits
}
// These are awaited, or are values.
void eagerly(rubato::scope& s, rubato::channel<int>& c) {
  rubato::spawn([] { return nothing(); }).get();
  rubato::spawn([] { return rubato::when_all(rubato::spawn([] { return 1; })); }).get();
  s.spawn([] { return rubato::shielded(nothing()); });
  s.spawn(nothing());
  rubato::channel<int>& same = rubato::spawn([&c]() -> rubato::channel<int>& { return c; }).get();
  static_cast<void>(same);
}
int run() {
  return p.run([](rubato::pool&) { return 1; });
  // error: rubato: run(f): f must be callable as f()
}
int blocking() {
  return rubato::blocking([](int n) { return n; });
  // error: rubato: blocking(f): f must be callable as f()
}
void broadcast() {
  p.broadcast([](unsigned) {});
  // error: rubato: broadcast(f): f must be callable as f(), any number of times
}
int awaited() {
  return rubato::block_on(3);
  // error: rubato: block_on(x): x must be a task, a future or something else that co_await takes
}
void strand(rubato::strand& s) {
  s.spawn([](int) {}).get();
  // error: rubato: spawn(f, args...): f must be callable as f(args...), with copies of the arguments as
  // rvalues
  s.enqueue([](int) {});
  // error: rubato: enqueue(f): f must be callable as f()
}
int per_worker() {
  rubato::per_worker<int> w(p, [] { return other(); });
  // error: rubato: per_worker(pool, make): make must be callable as make(), and return a T
  w.for_each([](other) {});
  // error: rubato: per_worker::for_each(f): f must be callable as f(T&)
  return w.combine([](int) { return 1; });
  // error: rubato: per_worker::combine(op): op must be callable as op(T, T const&), and its result must
  // convert to T
}
rubato::pool_options options() {
  return rubato::pool_options()
      .on_start([] {})
      .on_unhandled([](std::string) {})
      .on_stall([](int) {})
      .on_exit(other());
  // error: rubato: pool_options::on_start(f): f must be callable as f(unsigned)
  // error: rubato: pool_options::on_unhandled(f): f must be callable as f(std::exception_ptr)
  // error: rubato: pool_options::on_stall(f): f must be callable as f(stall_report const&)
  // error: rubato: pool_options::on_exit(f): f must be callable as f(unsigned)
}
int continued(rubato::future<int> f, rubato::shared_future<std::string> s) {
  s.then([](int) {}).get();
  // error: rubato: then(f): f must be callable as f(value), f() if there is none, or as f(future)
  return f.then([](std::string n) { return n.size(); }).get();
  // error: rubato: then(f): f must be callable as f(value), f() if there is none, or as f(future)
}
