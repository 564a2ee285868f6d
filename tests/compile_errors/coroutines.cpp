// What cannot be awaited.
#include <rubato/rubato.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

using rubato::task;

task<int> number() {
  co_return co_await 3;
  // error: rubato: co_await x: x must be a task, a future
}
task<> several(task<int> t, task<int> u, std::vector<int> v) {
  auto [a, b] = co_await rubato::when_all(t, u);
  // error: rubato: when_all(a, b, ...), when_any(a, b, ...) and when_first(a, b, ...): each must be a future
  co_await rubato::when_any(1, std::move(u));
  // error: rubato: when_all(a, b, ...), when_any(a, b, ...) and when_first(a, b, ...): each must be a future
  auto all = co_await rubato::when_all(v);
  // error: rubato: when_all(range), when_any(range), when_first(range) and when_some(n, range): its elements
  // must be futures, shared_futures or tasks
  auto some = co_await rubato::when_some(1, std::vector<char>());
  // error: rubato: when_all(range), when_any(range), when_first(range) and when_some(n, range): its elements
  auto of_two = co_await rubato::when_some(std::move(t), std::move(u));
  // error: rubato: when_some(n, range): a number, and a range of futures or tasks
}
void of_what_cannot_be_copied() {
  rubato::watch<std::unique_ptr<int>> w(std::make_unique<int>(1));
  // error: rubato: watch<T>: T must be an object type that can be copied
  rubato::broadcast_channel<std::unique_ptr<int>> c(1);
  // error: rubato: broadcast_channel<T>: T must be an object type that can be copied
}
task<> in_time(task<int> t) {
  auto n = co_await rubato::with_deadline(t, std::chrono::seconds(1));
  // error: rubato: with_deadline(x, t): x must be a task, a future or something else that co_await takes
}
task<> not_selected(rubato::channel<int>& c) {
  co_await rubato::select(c.receive());
  // error: rubato: select(a, b, ...): each must be channel.receiving(f) or channel.sending(value, f)
}
void of_what_cannot_move() {
  rubato::channel<std::mutex> c(1);
  // error: rubato: channel<T>: T must be movable, a reference or void
}
task<> selected(rubato::channel<int>& c) {
  co_await rubato::select(c.receiving([](int) {}), c.sending(1, [](bool) {}));
  // error: rubato: select(c.receiving(f), d.sending(value, g), ...): f must be callable as
  // f(std::optional<value>), as receive() yields it, and g as g(bool)
  co_await rubato::select(c.receiving([](auto&&) { return 1; }), c.sending(1, [](bool) {}));
  // error: rubato: the callables of a select() return the same type
}
task<int> scopes() {
  co_await rubato::with_async_scope([](rubato::scope&) {});
  // error: rubato: with_async_scope(f, args...): f must be callable as f(scope&, args...) and return a task
  co_return co_await rubato::with_async_scope([](rubato::scope&) -> task<int> { co_return 1; }, 2);
  // error: rubato: with_async_scope(f, args...): f must be callable as f(scope&, args...) and return a task
}
