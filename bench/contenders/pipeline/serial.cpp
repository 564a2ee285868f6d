// A loop: what the work itself costs.
#include "../../scenarios/pipeline.hpp"

#include <pipeline/digest.hpp>

namespace {

struct serial {
#ifdef __clang__
  static constexpr const char* name = "serial-clang";
#else
  static constexpr const char* name = "serial";
#endif
  static std::string version() { return __VERSION__; }

  explicit serial(unsigned) {}

  static pipeline::catalogue take(const std::string& root) {
    pipeline::catalogue all;
    pipeline::tree_walk tree(root);
    pipeline::digest sums;
    while (auto files = tree.next())
      for (auto& file : *files) {
        pipeline::source from(file);
        sums.begin();
        while (!from.over() && sums.feed(from.next())) {
        }
        all.add(sums.end(std::move(file.path)));
      }
    std::ranges::sort(all.files, pipeline::by_path);
    all.finish(tree.met());
    return all;
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_pipeline<serial>(argc, argv); }
