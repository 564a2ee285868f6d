// rubato-trace: from what a process has recorded to a trace for a viewer, or to a report.
#include "options.hpp"

#include "trace/reader/live/live_session.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

rubato::detail::live_session* shown = nullptr;

void end_view(int /*signal*/) { shown->stop(); }

/// Until the process ends, or Ctrl-C: the last frame stays, and the cursor goes below it.
void watch(rubato_trace::options const& asked) {
  rubato::detail::live_session session(asked.view, asked.rings);
  shown = &session;
  std::signal(SIGINT, end_view);
  std::signal(SIGTERM, end_view);
  if (asked.view.port != 0) {
    std::printf("%s\n", session.url().c_str());
    std::fflush(stdout);
  }
  if (std::string const failure = session.wait(); !failure.empty()) throw std::runtime_error(failure);
}

} // namespace

int main(int argc, char** argv) {
  using namespace rubato_trace;
  try {
    options const asked = parse(std::vector<std::string>(argv + 1, argv + argc));
    switch (asked.wanted) {
    case command::help:
      std::fputs(usage, stdout);
      break;
    case command::convert:
      std::fputs(rubato::detail::convert_rings(asked.rings, asked.to, asked.how).c_str(), stderr);
      std::printf("%s\n", asked.to.c_str());
      break;
    case command::report:
      std::fputs(rubato::detail::report_of_rings(asked.rings, asked.how).c_str(), stdout);
      break;
    case command::live:
    case command::serve:
      watch(asked);
    }
  } catch (wrong_usage const& e) {
    std::fprintf(stderr, "rubato-trace: %s\n\n%s", e.what(), usage);
    return 2;
  } catch (std::exception const& e) {
    std::string_view what = e.what();
    constexpr std::string_view library = "rubato: "; // the program's name says it
    if (what.starts_with(library)) what.remove_prefix(library.size());
    std::fprintf(stderr, "rubato-trace: %.*s\n", static_cast<int>(what.size()), what.data());
    return 1;
  }
  return 0;
}
