// Arguments in the wrong order or place, or too many of them.
#include <rubato/rubato.hpp>

#include <functional>
#include <list>
#include <vector>

extern rubato::pool p;
extern std::vector<int> v;
rubato::task<int> one();
rubato::async_generator<int> numbers();

void f_first() {
  rubato::for_index([](int) {}, 0, 10);
  // error: rubato: for_index(first, last, f), for_index(pool, first, last, f): first and last are integers, f
  rubato::for_range([](int, int) {}, 0, 10);
  // error: rubato: for_range(first, last, f), for_range(pool, first, last, f): first and last are integers,
  rubato::for_each([](int) {}, v);
  // error: rubato: for_each(range, f), for_each(first, last, f), each also with a pool first: first and last
}
void a_grain_size() {
  rubato::for_index(0, 10, 4, [](int) {});
  // error: rubato: for_index(first, last, f), for_index(pool, first, last, f): first and last are integers, f
}
void one_bound() {
  rubato::for_index(p, 10, [](int) {});
  // error: rubato: for_index(first, last, f), for_index(pool, first, last, f): first and last are integers, f
}
void not_integers() {
  rubato::for_index(v.begin(), v.end(), [](int) {});
  // error: rubato: for_index(first, last, f), for_index(pool, first, last, f): first and last are integers, f
  rubato::for_range(v, [](int) {});
  // error: rubato: for_range(first, last, f), for_range(pool, first, last, f): first and last are integers,
  rubato::for_each(10, [](int) {});
  // error: rubato: for_each(range, f), for_each(first, last, f), each also with a pool first: first and last
}
void pool_elsewhere() {
  rubato::for_index(0, 10, [](int) {}, p);
  // error: rubato: a pool is the first argument of a function, by reference: f(pool, ...)
  rubato::for_each(v, [](int) {}, p);
  // error: rubato: a pool is the first argument of a function, by reference: f(pool, ...)
  rubato::for_range(&p, 0, 10, [](int, int) {});
  // error: rubato: a pool is the first argument of a function, by reference: f(pool, ...)
  rubato::spawn([] { return 1; }, p).get();
  // error: rubato: a pool is the first argument of a function, by reference: f(pool, ...)
  rubato::with_scope([](rubato::scope&) {}, p);
  // error: rubato: a pool is the first argument of a function, by reference: f(pool, ...)
}
int pool_behind_deterministic() {
  return rubato::reduce(rubato::deterministic, p, v, 0, std::plus<>());
  // error: rubato: a pool is the first argument of a function, by reference: f(pool, ...)
}
int op_before_init() {
  return rubato::reduce(v, std::plus<>(), 0);
  // error: rubato: reduce(range, init, op, map) or reduce(first, last, init, op, map), map may be left out
}
int no_op() {
  return rubato::reduce(v, 0);
  // error: rubato: reduce(range, init, op, map) or reduce(first, last, init, op, map), map may be left out
}
int deterministic_last() {
  return rubato::reduce(v, 0, std::plus<>(), rubato::deterministic);
  // error: rubato: reduce(range, init, op, map) or reduce(first, last, init, op, map), map may be left out
}
int of_a_list(std::list<int> const& l) {
  return rubato::reduce(rubato::deterministic, l, 0, std::plus<>());
  // error: rubato: reduce(range, init, op, map) or reduce(first, last, init, op, map), map may be left out
}
void not_two() {
  rubato::join([] {});
  // error: rubato: join(f, g), join(pool, f, g), join(context, f, g): two callables
  rubato::join([] {}, [] {}, [] {});
  // error: rubato: join(f, g), join(pool, f, g), join(context, f, g): two callables
  rubato::join([] {}, [] {}, p);
  // error: rubato: join(f, g), join(pool, f, g), join(context, f, g): two callables
}
void with_arguments(rubato::scope& s, rubato::strand& in_order) {
  p.enqueue([](int) {}, 5);
  // error: rubato: enqueue(f) passes no arguments: capture them
  rubato::enqueue([](int) {}, 5);
  // error: rubato: enqueue(f) passes no arguments: capture them
  in_order.enqueue([](int) {}, 5);
  // error: rubato: enqueue(f) passes no arguments: capture them
  s.spawn([](int) {}, 5);
  // error: rubato: scope::spawn(f) passes no arguments: capture them
}
void late_priority() {
  p.spawn([] {}, rubato::priority::high).get();
  // error: rubato: spawn(priority, f, args...): the priority comes before f
}
int late_options() {
  return rubato::race([] { return 1; }, rubato::race_options());
  // error: rubato: race(options, f): the options come before f
}
int late_options_of_a_hedge() {
  return rubato::hedge([] { return 1; }, rubato::race_options());
  // error: rubato: hedge(options, f): the options come before f
}
int of_a_task() {
  return one().get();
  // error: rubato: a task has not begun, so there is nothing to get()
}
rubato::task<int> of_a_generator() {
  int sum = 0;
  for (int const x : numbers()) sum += x;
  // error: rubato: an async_generator is no range
  co_return sum;
}
// These are right, also where a parameter would bind better to something else.
struct own_pool : rubato::pool {
  using pool::pool;
};
void right(own_pool& own, rubato::race_options o, rubato::priority high) {
  int const first = 0;
  rubato::for_index(own, first, 10, [](int) {});
  rubato::join(own, [] {}, [] {});
  rubato::race(o, [] { return 1; });
  rubato::enqueue(own, high, [] {});
  int const list[] = {1, 2};
  rubato::reduce(list, first, std::plus<>());
  rubato::reduce(own, rubato::deterministic, v, first, std::plus<>());
}
