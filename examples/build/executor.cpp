#include "executor.hpp"

#include "command.hpp"

#include <cstdio>

namespace build {

executor::executor(const std::vector<target>& targets, std::size_t at_once, bool verbose)
    : targets_(targets)
    , places_(at_once)
    , verbose_(verbose)
    , missing_(std::make_unique<std::atomic<std::size_t>[]>(targets.size())) {
  for (std::size_t i = 0; i != targets.size(); ++i) missing_[i] = targets[i].needs.size();
}

/// In one piece: the output of two commands is never mixed.
void executor::report(const target& about, const std::string& output) {
  const std::lock_guard one_at_a_time(printing_);
  ++made_;
  if (verbose_) std::printf("[%zu/%zu] %s\n", made_, targets_.size(), about.name.c_str());
  std::fwrite(output.data(), 1, output.size(), stdout);
  if (verbose_ || !output.empty()) std::fflush(stdout);
}

rubato::task<void> executor::make(std::size_t number, rubato::scope& rest) {
  const target& mine = targets_[number];
  command_end end;
  if (!mine.commands.empty()) {
    const rubato::async_permits place = co_await places_.scoped_acquire();
    end = co_await run_commands(mine.commands);
  }
  // The first exception of a task stops the scope: the others' waits end in `cancelled`, and their children
  // with them.
  if (end.status != 0)
    throw failure("target " + mine.name + " failed with status " + std::to_string(end.status) + "\n" +
                  end.output);
  report(mine, end.output);
  for (const std::size_t next : mine.needed_by)
    if (--missing_[next] == 0) rest.spawn(make(next, rest)); // this was the last that it needed
}

rubato::task<void> executor::run() {
  const auto all = [this](rubato::scope& targets) -> rubato::task<void> {
    for (std::size_t i = 0; i != targets_.size(); ++i)
      if (targets_[i].needs.empty()) targets.spawn(make(i, targets));
    co_await targets.join();
  };
  co_await rubato::with_async_scope(all);
}

} // namespace build
