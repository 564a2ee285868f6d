// The target rubato::pstl alone: nothing here says that the algorithms run on Rubato, and there is no TBB.
#include <algorithm>
#include <execution>
#include <numeric>
#include <vector>

int main() {
  std::vector<int> v(100'000);
  std::iota(v.rbegin(), v.rend(), 1);
  std::sort(std::execution::par, v.begin(), v.end());
  return std::is_sorted(v.begin(), v.end()) && v.back() == 100'000 ? 0 : 1;
}
