// oneTBB: parallel_invoke, task_group and parallel_for in an arena that the caller enters.
#include "../harness/driver.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <array>

namespace {

class onetbb {
  tbb::global_control threads_;
  tbb::task_arena arena_;
  tbb::task_arena outside_; ///< no place reserved for a caller that never comes

public:
  static constexpr const char* name = "onetbb";
  static constexpr bool has_threads = true;
  static std::string version() { return TBB_runtime_version(); }

  explicit onetbb(unsigned workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers + 1)
      , arena_(static_cast<int>(workers))
      , outside_(static_cast<int>(workers), 0) {}

  template<class F>
  void run(F f) {
    arena_.execute(f);
  }
  template<class F, class G>
  static auto join(F f, G g) {
    std::pair<decltype(f()), decltype(g())> both;
    tbb::parallel_invoke([&] { both.second = g(); },
                         [&] { both.first = f(); }); // the last is the one it calls itself
    return both;
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    if (n == 0) return 0;
    std::array<std::uint64_t, 16> parts{};
    tbb::task_group group;
    for (std::uint64_t i = 1; i != n; ++i) group.run([&, i] { parts[i] = f(i); });
    parts[0] = f(0);
    group.wait();
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i != n; ++i) total += parts[i];
    return total;
  }
  template<class F>
  static void for_index(std::size_t n, F f) {
    tbb::parallel_for(std::size_t{0}, n, f);
  }
  template<class F>
  static void scope(std::size_t n, F f) {
    tbb::task_group group;
    for (std::size_t i = 0; i != n; ++i) group.run([&f, i] { f(i); });
    group.wait();
  }
  template<class F>
  void enqueue(F f) {
    outside_.enqueue(f);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive<onetbb>(argc, argv); }
