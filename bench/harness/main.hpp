// What the main() of a contender does: `bench-<contender> <scenario> <workers> <size>`.
#pragma once

#include "measure.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

namespace bench {

/// perform(runtime, scenario, workers, size): nothing if the contender has no part in this scenario.
template<class R, class F>
int run_scenario(int argc, char** argv, F perform) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench-%s SCENARIO WORKERS SIZE\n", R::name);
    return 2;
  }
  try {
    const auto workers = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    R runtime(workers);
    const auto measured = perform(runtime, argv[1], workers, std::strtoull(argv[3], nullptr, 10));
    if (!measured) {
      std::fprintf(stderr, "%s has no scenario %s\n", R::name, argv[1]);
      return 3;
    }
    print_json(R::name, R::version(), *measured);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}

} // namespace bench
