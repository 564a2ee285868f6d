// std::async: a thread per task.
#include "../../harness/futures.hpp"

#include <future>

namespace {

struct std_async {
  static constexpr const char* name = "std-async";
  static std::string version() { return __VERSION__; }
  using promise = std::promise<std::uint64_t>;

  explicit std_async(unsigned) {}

  template<class F>
  static auto spawn(F f) {
    return std::async(std::launch::async, f);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_futures<std_async>(argc, argv); }
