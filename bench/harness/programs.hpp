// The same as driver.hpp for the programs of examples/: `bench-<contender>-programs <scenario> <workers>
// <size>`. What one thread does is the code of the examples; how they share it is the contender's.
//
// A contender is a class R, made with the number of threads that may compute at once, the caller included:
//
//   r.run(f)              f() inside the pool; returns when it is done. What follows is called inside of it.
//   R::join(f, g)         both, perhaps at once
//   R::sum(n, f)          f(0) + ... + f(n - 1)
//   R::for_index(n, f)    f(i) for all i < n
//   R::for_rows(n, least, f)    the same where less than `least` of them are not worth another thread
//   R::bridge(range, f)   f(x) for all x of a range without random access
//   R::sort(numbers)      a span of 64-bit numbers, by the contender's own sort
//
// plus R::name and R::version().
#pragma once

#include "../scenarios/programs/bvh.hpp"
#include "../scenarios/programs/life.hpp"
#include "../scenarios/programs/matmul.hpp"
#include "../scenarios/programs/mergesort.hpp"
#include "../scenarios/programs/quicksort.hpp"
#include "../scenarios/programs/sieve.hpp"
#include "main.hpp"

namespace bench {

template<class R>
std::optional<measurement> perform_program(R& r, std::string_view scenario, std::uint64_t size) {
  if (scenario == "mergesort") return mergesort(r, size);
  if (scenario == "quicksort") return quicksort(r, size);
  if (scenario == "sieve") return sieve(r, size);
  if (scenario == "matmul") return matmul(r, size);
  if (scenario == "bvh") return bvh_of(r, size);
  if (scenario == "life") return life_at_60_hz<false>(r, size);
  if (scenario == "lifebridged") return life_at_60_hz<true>(r, size);
  return std::nullopt;
}

template<class R>
int drive_programs(int argc, char** argv) {
  return run_scenario<R>(argc, argv, [](R& r, std::string_view scenario, unsigned, std::uint64_t size) {
    return perform_program(r, scenario, size);
  });
}

} // namespace bench
