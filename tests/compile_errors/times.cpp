// Durations without a unit, and points in time of another clock. A compiler instantiates a constructor once
// for each type: so each number has a type of its own.
#include <rubato/rubato.hpp>

#include <chrono>
#include <functional>

using rubato::task;
using namespace std::chrono_literals;

extern rubato::pool p;
task<int> one();

task<> waits(rubato::event& e) {
  co_await rubato::sleep_for(5);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  auto const n = co_await rubato::with_deadline(one(), 20U);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  static_cast<void>(n);
  auto const is_set = co_await e.wait_for(5L);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  static_cast<void>(is_set);
  auto const result = co_await rubato::readable(0, 5UL);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  static_cast<void>(result);
}
void pools() {
  p.enqueue_after(5LL, [] {});
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  if (p.shutdown(rubato::drain, 5ULL)) return;
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  if (p.wait_idle(0.5)) return;
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
}
void options(rubato::pool_options& o, rubato::race_options& r) {
  o.search_time(0.5F);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  r.hedge_after(0.5L);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
}
void others(rubato::future<int>& f, rubato::routine& r) {
  rubato::interval const i(short{10});
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  static_cast<void>(i);
  if (f.wait_for(char{5})) return;
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  r.post_after(p, true);
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
  r.set_delay(static_cast<unsigned char>(5));
  // error: rubato: a number stands where a duration is expected: write 5ms, after using namespace
}
task<> of_a_clock() {
  co_await rubato::sleep_for(std::chrono::steady_clock::now());
  // error: rubato: a point in time must be one of std::chrono::steady_clock, and cannot stand where a
  auto const n = co_await rubato::with_deadline(one(), std::chrono::system_clock::now() + 1s);
  // error: rubato: a point in time must be one of std::chrono::steady_clock, and cannot stand where a
  static_cast<void>(n);
}
void swapped() {
  p.enqueue_after([] {}, [] {});
  // error: rubato: a std::chrono::duration is expected here, or, where the parameter is a deadline, a time
}
