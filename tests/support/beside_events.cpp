// With RUBATO_TEST_EVENTS in the environment all tests run in a process that has a reactor: one idle worker
// sleeps among the kernel's events instead of in its parker.
#include "timer/event_source.hpp"

#include <cstdlib>

namespace {

[[maybe_unused]] bool const started = [] {
  bool const wanted =
      std::getenv("RUBATO_TEST_EVENTS") != nullptr; // NOLINT(concurrency-mt-unsafe): one thread
  if (wanted) rubato::detail::try_to_start_events();
  return wanted;
}();

} // namespace
