// The example as it is.
#include "../../scenarios/pipeline.hpp"

#include <pipeline/stages.hpp>
#include <pipeline/tree.hpp>

namespace {

class rubato_pool {
  rubato::pool pool_;

public:
#ifdef __clang__
  static constexpr const char* name = "rubato-clang";
#else
  static constexpr const char* name = "rubato";
#endif
  static std::string version() { return __VERSION__; }

  explicit rubato_pool(unsigned workers)
      : pool_(workers) {}

  pipeline::catalogue take(const std::string& root) {
    pipeline::progress meter;
    return pipeline::take_catalogue(pool_, root, pipeline::readers_for(pool_.size()), {}, meter);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_pipeline<rubato_pool>(argc, argv); }
