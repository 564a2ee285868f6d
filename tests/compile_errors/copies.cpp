// Searches and copies that cannot be: each says what it takes.
#include <rubato/algorithm.hpp>

#include <string>
#include <vector>

struct nothing {};
extern std::vector<int> v;
extern std::vector<nothing> none;
extern int* out;

void transform_into_another_type(std::string* words) {
  rubato::transform(v, words, [](int) { return nothing(); });
  // error: rubato: transform(range, out, f, projection), transform(range1, range2, out, f, projection1
}
void generate_by_what_changes() {
  rubato::generate(v, [n = 0]() mutable { return n++; });
  // error: rubato: generate(range, f), generate(first, last, f), each also with a pool first
}
void copy_to_another_type() {
  rubato::copy(none, out);
  // error: rubato: copy(range, out), copy(first, last, out), each also with a pool first
}
void fill_with_another_type() {
  rubato::fill(v, nothing());
  // error: rubato: fill(range, value), fill(first, last, value), each also with a pool first
}
void choose_by_nothing() {
  rubato::copy_if(v, out, nothing());
  // error: rubato: copy_if(range, out, pred, projection), copy_if(first, last, out, pred, projection)
}
std::vector<int> filter_without_predicate() {
  return rubato::filter(v);
  // error: rubato: filter(range, pred, projection), the projection may be left out
}
std::vector<int> map_what_does_not_fit() {
  return rubato::map_to_vector(v, [](std::string const&) { return 1; });
  // error: rubato: map_to_vector(range, f), also with a pool first
}
auto find_without_comparison() {
  return rubato::find(none, nothing());
  // error: rubato: find(range, value, projection) or find(first, last, value, projection)
}
bool find_by_what_changes() {
  return rubato::any_of(v, [n = 0](int) mutable { return n++ == 3; });
  // error: rubato: any_of(range, pred, projection) or any_of(first, last, pred, projection)
}
bool compare_what_cannot_be() {
  return rubato::equal(none, none);
  // error: rubato: equal(range1, range2, pred, projection1, projection2)
}
auto least_of_what_has_no_order() {
  return rubato::min_element(none);
  // error: rubato: min_element(range, comparator, projection) or min_element(first, last, comparator
}
