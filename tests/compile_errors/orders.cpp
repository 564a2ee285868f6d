// Algorithms that move elements about, with arguments that do not fit.
#include <rubato/rubato.hpp>

#include <list>
#include <vector>

struct other {};
extern rubato::pool p;
extern std::vector<int> v, out;
extern std::list<int> l;
extern std::vector<int> const fixed;

void sort_of_a_list() {
  rubato::sort(p, l);
  // error: rubato: sort(range, comparator, projection), sort(first, last, comparator, projection),
}
void sort_by_a_changing_comparator() {
  int calls = 0;
  rubato::sort(std::in_place, v.begin(), v.end(), [calls](int a, int b) mutable { return ++calls, a < b; });
  // error: rubato: sort(range, comparator, projection), sort(first, last, comparator, projection),
}
void is_sorted_of_others() {
  std::vector<other> const others;
  rubato::is_sorted(others);
  // error: rubato: is_sorted(range, comparator, projection), is_sorted(first, last, comparator,
}
void stable_sort_of_a_list() {
  rubato::stable_sort(l);
  // error: rubato: stable_sort(range, comparator, projection), stable_sort(first, last,
}
void stable_sort_by_a_predicate() {
  rubato::stable_sort(p, v, [](int x) { return x > 0; });
  // error: rubato: stable_sort(range, comparator, projection), stable_sort(first, last,
}
void nth_element_by_number() {
  rubato::nth_element(v, 3);
  // error: rubato: nth_element(range, nth, comparator, projection), nth_element(first, nth, last, comparator,
}
void merge_without_output() {
  rubato::merge(v, v);
  // error: rubato: merge(range1, range2, out, comparator, projection1, projection2), merge(first1,
}
void merge_of_others() {
  std::vector<other> const others;
  rubato::merge(others, others, v.begin());
  // error: rubato: merge(range1, range2, out, comparator, projection1, projection2), merge(first1,
}
void partition_by_a_changing_predicate() {
  int calls = 0;
  rubato::partition(v, [calls](int) mutable { return ++calls % 2 == 0; });
  // error: rubato: partition(range, pred, projection), partition(first, last,
}
void stable_partition_of_constants() {
  rubato::stable_partition(fixed, [](int x) { return x > 0; });
  // error: rubato: stable_partition(range, pred, projection), stable_partition(first, last,
}
void remove_by_value() {
  rubato::remove_if(v, 3);
  // error: rubato: remove_if(range, pred, projection), remove_if(first, last, pred, projection)
}
void unique_by_a_predicate() {
  rubato::unique(v, [](int x) { return x > 0; });
  // error: rubato: unique(range, comparator, projection), unique(first, last,
}
