// Results that must not be dropped: a warning says why.
#include <rubato/rubato.hpp>

#include <chrono>
#include <utility>

using rubato::task;

int compute();
task<int> one();
rubato::async_generator<int> numbers();

void futures(rubato::pool& p) {
  rubato::spawn(compute); // warning: a future that is dropped asks its work to stop: keep it, get() it
  p.spawn(compute);       // warning: a future that is dropped asks its work to stop: keep it, get() it
  rubato::spawn(compute).then([](int) {}); // warning: a future that is dropped asks its work to stop
  rubato::spawn(compute).share(); // warning: a shared_future is all that is left of a result: keep it
  rubato::when_all(rubato::spawn(compute), rubato::spawn(compute)); // warning: a future that is dropped
  rubato::when_any(rubato::spawn(compute), rubato::spawn(compute)); // warning: a future that is dropped
}

task<> tasks(rubato::scope& s, rubato::pool& p) {
  one();                                       // warning: a task begins only when it is awaited or spawned
  rubato::when_all(one(), one());              // warning: when_all() of tasks begins only when it is awaited
  rubato::when_any(one(), one());              // warning: a task begins only when it is awaited or spawned
  rubato::with_deadline(one(), rubato::never); // warning: a task begins only when it is awaited or spawned
  rubato::with_async_scope([](rubato::scope&) -> task<> { co_return; }); // warning: a task begins only when
  rubato::yield();      // warning: yield() and resume_on() do nothing unless they are awaited
  rubato::resume_on(p); // warning: yield() and resume_on() do nothing unless they are awaited
  rubato::sleep_for(std::chrono::seconds(1)); // warning: a sleep begins only when it is awaited
  s.join();                                   // warning: join() waits only when it is awaited
  s.async([] { return 1; });                  // warning: a future that is dropped asks its work to stop
  auto g = numbers();
  g.next();  // warning: next() goes on only when it is awaited
  numbers(); // warning: an async_generator begins only with next()
  co_return;
}

void pools(rubato::pool& p) {
  p.stats();              // warning: stats() only reads counters
  p.size();               // warning: size() only reads the number of workers
  p.join_as_member();     // warning: a membership ends with this object: give it a name
  p.try_enqueue(compute); // warning: false: f was not queued
}
