// The inner loops over contiguous elements. Above each function stands which packed instruction its loop has:
// that of the serial loop, or the one that the serial loop lacks because it keeps the order of floating-point
// additions.
#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

using doubles = std::span<double const>;
using floats = std::span<float const>;
using ints = std::span<int const>;

// packed: addpd
extern "C" double sum_of_doubles(doubles v) { return rubato::reduce(v, 0.0, std::plus<>()); }
// packed: addps
extern "C" float sum_of_floats(floats v) { return rubato::reduce(v, 0.0F, std::plus<>()); }
// packed: paddd
extern "C" int sum_of_ints(ints v) { return rubato::reduce(v, 0, std::plus<>()); }
// packed: pxor
extern "C" int parity_of_ints(ints v) { return rubato::reduce(v, 0, std::bit_xor<>()); }
// packed: mulpd
extern "C" double inner_product(doubles v, doubles w) {
  return rubato::reduce(v, w, 0.0, std::plus<>(), std::multiplies<>());
}
// packed: paddd
extern "C" int sum_by_a_lambda(ints v) {
  return rubato::reduce(v, 0, [](int a, int b) { return a + b; });
}
// packed: pcmpgtd|pminsd
extern "C" int least_by_a_lambda(ints v) {
  return rubato::reduce(v, 0, [](int a, int b) { return b < a ? b : a; });
}
// packed: paddd
extern "C" int sum_through_a_map(ints v) {
  return rubato::reduce(v, 0, std::plus<>(), [](int x) { return x & 7; });
}
// packed: mulpd
extern "C" void transformed(doubles v, double* out) {
  rubato::transform(v, out, [](double x) { return 3 * x + 1; });
}
// packed: paddd
extern "C" void transformed_ints(ints v, int* out) {
  rubato::transform(v, out, [](int x) { return 3 * x + 1; });
}
// packed: mulpd
extern "C" void transformed_pairs(doubles v, doubles w, double* out) {
  rubato::transform(v, w, out, [](double x, double y) { return x * y + 1; });
}
// packed: mulpd
extern "C" void mapped(doubles v, std::vector<double>& out) {
  out = rubato::map_to_vector(v, [](double x) { return 3 * x + 1; });
}
// packed: addpd
extern "C" void incremented(std::span<double> v) {
  rubato::for_each(v, [](double& x) { x = x + 1; });
}
// packed: mulpd
extern "C" void added_by_index(double* y, double const* x, int n) {
  rubato::for_index(0, n, [y, x](int i) { y[i] += 3 * x[i]; });
}
// packed: pcmpeqd
extern "C" std::ptrdiff_t counted(ints v) { return rubato::count(v, 7); }
// packed: pcmpeqd
extern "C" std::ptrdiff_t found(ints v) { return rubato::find(v, 7) - v.begin(); }
// packed: pcmpgtd|pcmpeqd
extern "C" bool has_negative(ints v) {
  return rubato::any_of(v, [](int x) { return x > 7; });
}
// packed: minps|cmpltps|cmpleps
extern "C" std::ptrdiff_t place_of_least(floats v) { return rubato::min_element(v) - v.begin(); }
