// In-place Parallel Super Scalar Samplesort, with its threads kept from one sort to the next.
#include "../../harness/algorithms.hpp"

#include <functional>
#include <ips4o.hpp>

namespace {

class ips4o_pool {
  ips4o::DefaultThreadPool threads_;

public:
  static constexpr const char* name = "ips4o";
  static std::string version() { return __VERSION__; }

  explicit ips4o_pool(unsigned workers)
      : threads_(static_cast<int>(workers)) {}

  template<class F>
  void run(F f) {
    f();
  }
  template<class T, class Less = std::less<>>
  void sort(T* first, T* last, Less less = {}) {
    ips4o::parallel::sort(first, last, less, threads_);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<ips4o_pool>(argc, argv); }
