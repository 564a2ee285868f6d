// Callables that do not fit into joins, loops, reductions and scopes.
#include <rubato/rubato.hpp>

#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <ranges>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

struct other {};
extern rubato::pool p;
extern std::vector<int> v;

int join_f() {
  auto [a, b] = rubato::join([](int n) { return n; }, [] { return 2; });
  // error: rubato: join(f, g): f must be callable as f()
  return a;
}
void join_g() {
  rubato::join([] {}, other());
  // error: rubato: join(f, g): g must be callable as g()
}
void join_on_a_pool() {
  rubato::join(p, [](std::string const&) {}, [] {});
  // error: rubato: join(pool, f, g): f must be callable as f()
}
void join_with_context(rubato::context& c) {
  rubato::join(c, [](rubato::context&) {}, [] {});
  // error: rubato: join(context, f, g): g must be callable as g(context&)
}
int first_context() {
  return rubato::with_context([] { return 1; });
  // error: rubato: with_context(f): f must be callable as f(context&)
}
void invoke_third() {
  auto [a, b, c] = rubato::invoke([] { return 1; }, [] { return 2; }, [](int n) { return n; });
  // error: rubato: invoke(f, g, ...): each must be callable as f()
}
void loop_over_indices() {
  rubato::for_index(0, 10, [] {});
  // error: rubato: for_index(first, last, f): f must be callable as f(index)
}
void loop_over_indices_of_a_pool(std::string& s) {
  rubato::for_index(p, 0U, 10U, [&s](std::string const& t) { s += t; });
  // error: rubato: for_index(first, last, f): f must be callable as f(index)
}
void loop_over_pieces() {
  rubato::for_range(0, 10, [](int) {});
  // error: rubato: for_range(first, last, f): f must be callable as f(lo, hi)
}
void loop_over_elements() {
  rubato::for_each(v, [](std::vector<int>&) {});
  // error: rubato: for_each(range, f): f must be callable as f(element)
}
void loop_over_constant_elements(std::list<std::unique_ptr<int>> const& l) {
  rubato::for_each(p, l, [](std::unique_ptr<int>& owner) { owner.reset(); });
  // error: rubato: for_each(range, f): f must be callable as f(element)
}
void loop_over_input(std::istringstream& in) {
  rubato::for_each(std::istream_iterator<int>(in), std::istream_iterator<int>(), [](std::string&) {});
  // error: rubato: for_each(range, f): f must be callable as f(element)
}
int sum() {
  return rubato::reduce(v, 0, [](int a) { return a; });
  // error: rubato: reduce(range, init, op, map): op must be callable as op(T, T) and as op(T, map(element))
}
std::size_t as_in_accumulate(std::vector<std::string> const& words) {
  return rubato::reduce(words, std::size_t{0},
                        [](std::size_t n, std::string const& s) { return n + s.size(); });
  // error: rubato: reduce(range, init, op, map): map must be callable as map(element), and its result must
  // convert to T
}
int mapped() {
  return rubato::reduce(rubato::deterministic, v, 0, std::plus<>(), [](other) { return 1; });
  // error: rubato: reduce(range, init, op, map): map must be callable as map(element), and its result must
  // convert to T
}
int scoped() {
  return rubato::with_scope([] { return 1; });
  // error: rubato: with_scope(f): f must be callable as f(scope&)
}
void child(rubato::task_group& g, rubato::task<int> t) {
  g.spawn([](int) {});
  // error: rubato: scope::spawn(f): f must be a task, or callable as f()
  g.spawn_on(0, other());
  // error: rubato: scope::spawn(f): f must be a task, or callable as f()
  g.spawn(t);
  // error: rubato: scope::spawn(t): a task with a name is moved: spawn(std::move(t))
}
void child_with_future(rubato::scope& s, rubato::task<int> t) {
  auto const a = s.async([](int) { return 1; });
  // error: rubato: scope::async(f, args...): f must be a task, or callable as f(args...)
  auto const b = s.async([](int& i) { return i; }, 1);
  // error: rubato: scope::async(f, args...): f must be a task, or callable as f(args...)
  auto const c = s.async(t);
  // error: rubato: scope::async(f, args...): f and the arguments are copied unless they are passed as
  // rvalues: std::move what cannot be copied, such as a task
}
