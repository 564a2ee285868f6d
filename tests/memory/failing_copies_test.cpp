// The sweep over searches, copies and their kin.
#include <rubato/algorithm.hpp>

#include <gtest/gtest.h>

#include "memory/failing_sweep.hpp"
#include "support/values.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using rubato::pool;

std::vector<int> const& numbers() {
  static std::vector<int> const made = [] {
    std::vector<int> v(200'000);
    std::iota(v.begin(), v.end(), 0);
    return v;
  }();
  return made;
}
bool is_odd(int x) { return x % 2 != 0; }

std::vector<operation> const searches_and_copies{
    {"find", [](pool& p) { require(*rubato::find(p, numbers(), 150'000) == 150'000); }},
    {"count_if", [](pool& p) { require(rubato::count_if(p, numbers(), is_odd) == 100'000); }},
    {"minmax_element", [](pool& p) { require(*rubato::minmax_element(p, numbers()).max == 199'999); }},
    {"filter", [](pool& p) { require(rubato::filter(p, numbers(), is_odd).size() == 100'000); }},
    {"filter of strings",
     [](pool& p) {
       std::vector<std::string> const words(300, "one that is too long for its own buffer");
       require(rubato::filter(p, words, [](std::string const&) { return true; }) == words);
     }},
    {"map_to_vector",
     [](pool& p) {
       auto const made = rubato::map_to_vector(p, numbers(), [](int x) { return only_constructible(x); });
       require(made.size() == numbers().size() && made[77].value == 77);
     }},
    {"map_to_vector of bits", [](pool& p) { require(rubato::map_to_vector(p, numbers(), is_odd)[77]); }},
};

class failing_copies : public failing_sweep {};
RUBATO_TEST_WITH_WORKERS(failing_copies, all_counts);

TEST_P(failing_copies, throw_bad_alloc_or_succeed) { sweep(searches_and_copies); }

TEST_P(failing_copies, copy_if_needs_no_memory_to_succeed) {
  rubato::pool p(with_workers(GetParam()));
  std::vector<int> out(100'000);
  p.run([&] {
    rubato::copy_if(numbers(), out.begin(), is_odd);
    for (std::int64_t n = 1; n <= 3; ++n) {
      std::fill(out.begin(), out.end(), 0);
      failing_allocation const failing(n, false);
      try {
        require(rubato::copy_if(numbers(), out.begin(), is_odd).out == out.end());
        require(out.back() == 199'999 && out[500] == 1'001);
      } catch (std::bad_alloc const&) { // of the pool: nothing is wrong with the output's elements
      }
    }
  });
}

} // namespace
