// pipeline DIR -o MANIFEST: reads, inflates and sums up every file of a tree, as coroutines on one pool.
#include "interrupts.hpp"
#include "manifest.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "shared/path.hpp"
#include "shared/workers.hpp"
#include "stages.hpp"

#include <rubato/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <system_error>

namespace pipeline {
namespace {

void print_problems(const catalogue& all, const std::string& root) {
  constexpr std::size_t most = 20; // the rest would scroll everything away; --json has them all
  const std::size_t shown = std::min(all.problems.size(), most);
  for (std::size_t i = 0; i != shown; ++i) {
    const auto& [path, reason] = all.problems[i];
    std::cerr << "pipeline: cannot read " << (path.empty() ? root : example::join_path(root, path)) << ": "
              << reason << '\n';
  }
  if (shown != all.problems.size())
    std::cerr << "pipeline: cannot read " << all.problems.size() - shown << " more; --json lists them all\n";
}

void print_summary(const catalogue& all, double seconds) {
  const auto megabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::cout << std::fixed << std::setprecision(2) << "read         " << all.files.size() << " files in "
            << all.around.directories << " directories, " << megabytes(all.size) << " MB, inflated "
            << megabytes(all.inflated) << " MB, in " << seconds << " s: " << megabytes(all.inflated) / seconds
            << " MB/s\n"
            << "skipped      " << all.around.symlinks << " symbolic links, " << all.around.special
            << " special files\n"
            << "problems     " << all.problems.size() << '\n';
}

int run(const options& asked) {
  const interrupts caught;
  rubato::pool pool(example::with_workers(asked.workers).name("pipeline"));
  const auto begin = std::chrono::steady_clock::now();
  catalogue all;
  {
    progress meter;
    all = take_catalogue(pool, asked.root, asked.readers, caught.token(), meter);
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string manifest = asked.json ? manifest_json(all) : manifest_text(all);

  if (const int number = caught.signal(); number != 0) {
    std::cerr << "pipeline: stopped; no manifest was written\n";
    return stopped + number;
  }
  if (asked.manifest.empty()) {
    if (!(std::cout << manifest).flush()) throw std::runtime_error("cannot write the manifest");
  } else {
    replace_file(asked.manifest, manifest);
    print_summary(all, seconds);
  }
  print_problems(all, asked.root);
  return all.problems.empty() ? all_read : incomplete;
}

} // namespace
} // namespace pipeline

int main(int argc, char** argv) {
  try {
    int status = pipeline::all_read;
    const auto asked = pipeline::parse_options(argc, argv, status);
    return asked ? pipeline::run(*asked) : status;
  } catch (const std::exception& error) {
    std::cerr << "pipeline: " << error.what() << '\n';
    return pipeline::incomplete;
  }
}
