// With RUBATO_TEST_SIGNALS in the environment all tests run while signals interrupt their threads.
#include <cstdlib>
#include <memory>

#include "support/signal_storm.hpp"

namespace {

[[maybe_unused]] auto const storm =
    std::getenv("RUBATO_TEST_SIGNALS") != nullptr // NOLINT(concurrency-mt-unsafe): one thread
        ? std::make_unique<rubato_test::signal_storm>()
        : nullptr;

} // namespace
