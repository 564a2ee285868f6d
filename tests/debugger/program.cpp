// Something of everything for a debugger to look at; it stops in stop_here().
#include <rubato/rubato.hpp>

#include <stdexcept>
#include <utility>

namespace {

rubato::task<int> innermost(rubato::shared_future<int> f) { co_return co_await f; }
rubato::task<int> middle(rubato::shared_future<int> f) {
  int const n = co_await innermost(f);
  co_return n + 1;
}
rubato::task<int> outermost(rubato::shared_future<int> f) {
  int const n = co_await middle(f);
  co_return n + 1;
}
rubato::task<int> onlooker(rubato::future<int> f) {
  int const n = co_await std::move(f);
  co_return n + 1;
}
rubato::task<int> receiver(rubato::channel<int>& c) {
  auto const n = co_await c.receive();
  co_return *n;
}

rubato::task<int> gatherer(rubato::shared_future<int> f) {
  auto const [a, b] = co_await rubato::when_all(innermost(f), middle(f));
  co_return a + b;
}

[[gnu::noinline]] void stop_here() { asm volatile(""); }

rubato::task<> run_graph(rubato::task_graph& g) { co_await g.async_run(); }

} // namespace

int main() {
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  rubato::pool idle;
  rubato::channel<int> full(4), empty(1);
  static_cast<void>(full.try_send(1));
  static_cast<void>(full.try_send(2));
  rubato::promise<int> promise;
  rubato::shared_future<int> const pending = promise.get_future().share();
  rubato::future<int> const ready = rubato::make_ready_future(42);
  rubato::future<void> const done = rubato::make_ready_future();
  rubato::future<int> const failed =
      rubato::make_exceptional_future<int>(std::runtime_error("no such thing"));
  rubato::future<int> const none;
  rubato::task<int> const unbegun = outermost(pending);
  rubato::future<int> const of_closure = pool.spawn([] { return 43; });
  rubato::future<int> const of_failure =
      pool.spawn([]() -> int { throw std::runtime_error("no such luck"); });
  rubato::future<int> const of_coroutine =
      pool.spawn([]() -> rubato::task<int> { return []() -> rubato::task<int> { co_return 44; }(); });
  rubato::future<int> last = pool.spawn(onlooker(pool.spawn(outermost(pending))));
  rubato::future<int> received = pool.spawn(receiver(empty));
  rubato::future<int> sum = pool.spawn(gatherer(pending));
  rubato::future<int> const waiting_closure =
      pool.spawn([](rubato::shared_future<int> f) -> rubato::task<int> { return innermost(f); }, pending);
  rubato::task_graph graph;
  rubato::promise<void> go;
  rubato::shared_future<void> const gone = go.get_future().share();
  graph.add("physics", [&]() -> rubato::task<> { co_await gone; });
  rubato::future<void> frame = pool.spawn(run_graph(graph));
  pool.wait_idle();
  rubato::task_graph closures;
  closures.add("drawing", [] { stop_here(); });
  closures.run(pool);
  go.set_value();
  frame.get();
  promise.set_value(1);
  static_cast<void>(empty.try_send(1));
  return last.get() == 4 && received.get() == 1 && sum.get() == 3 && idle.size() != 0 ? 0 : 1;
}
