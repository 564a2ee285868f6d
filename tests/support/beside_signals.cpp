// With RUBATO_TEST_SIGNALS in the environment all tests run while signals interrupt their threads.
#include <cstdlib>

#include "support/signal_storm.hpp"

namespace {

// Never destroyed: the child of a fork has no thread that could be joined.
[[maybe_unused]] auto const* const storm =
    std::getenv("RUBATO_TEST_SIGNALS") != nullptr // NOLINT(concurrency-mt-unsafe): one thread
        ? new rubato_test::signal_storm
        : nullptr;

} // namespace
