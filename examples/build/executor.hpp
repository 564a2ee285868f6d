// Runs the commands of a recipe, as many at once as allowed, each after those that it needs.
#pragma once

#include "recipe.hpp"

#include <rubato/scope.hpp>
#include <rubato/sync.hpp>
#include <rubato/task.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace build {

/// A command has failed. The rest of the recipe was stopped.
struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// For one run of a recipe.
class executor {
  const std::vector<target>& targets_;
  rubato::async_semaphore places_;
  const bool verbose_;
  std::unique_ptr<std::atomic<std::size_t>[]> missing_; // of each target's needs
  std::mutex printing_;
  std::size_t made_ = 0; // guarded by printing_

  void report(const target& about, const std::string& output);
  rubato::task<void> make(std::size_t number, rubato::scope& rest);

public:
  /// At most `at_once` commands run at once. `verbose` prints the name of each target that was made. The
  /// targets must outlive this.
  executor(const std::vector<target>& targets, std::size_t at_once, bool verbose);

  /// Makes all targets. If one fails, nothing more is begun, what runs is ended, and then this throws
  /// `failure`. A stop of the task does the same, and ends in rubato::cancelled.
  rubato::task<void> run();

  /// When run() has ended.
  std::size_t made() const { return made_; }
};

} // namespace build
