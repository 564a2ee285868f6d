// oneTBB: parallel_sort, parallel_reduce, parallel_scan and parallel_for over blocked ranges, in an arena
// that the caller enters.
#include "../../harness/algorithms.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/combinable.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <functional>
#include <numeric>

namespace {

using range = tbb::blocked_range<std::size_t>;

class onetbb {
  tbb::global_control threads_;
  tbb::task_arena arena_;

  /// The sum of a part by the loop that is as fast as a thread can be.
  template<class T>
  static auto summing(std::span<const T> in) {
    return
        [in](const range& r, T sum) { return std::reduce(in.data() + r.begin(), in.data() + r.end(), sum); };
  }

public:
  static constexpr const char* name = "onetbb";
  static std::string version() { return TBB_runtime_version(); }

  explicit onetbb(unsigned workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers)
      , arena_(static_cast<int>(workers)) {}

  template<class F>
  void run(F f) {
    arena_.execute(f);
  }
  template<class T, class... Less>
  static void sort(T* first, T* last, Less... less) {
    tbb::parallel_sort(first, last, less...);
  }
  template<class T>
  static void inclusive_scan(std::span<const T> in, T* out) {
    tbb::parallel_scan(
        range(0, in.size()), T{},
        [&](const range& r, T sum, bool is_final) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) {
            sum += in[i];
            if (is_final) out[i] = sum;
          }
          return sum;
        },
        std::plus<>());
  }
  template<class T, class F>
  static void transform(std::span<const T> in, T* out, F f) {
    tbb::parallel_for(range(0, in.size()), [&](const range& r) {
      std::transform(in.data() + r.begin(), in.data() + r.end(), out + r.begin(), f);
    });
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    return tbb::parallel_reduce(range(0, in.size()), T{}, summing(in), std::plus<>());
  }
  template<class T>
  static T reduce_deterministic(std::span<const T> in) {
    return tbb::parallel_deterministic_reduce(range(0, in.size(), 1024), T{}, summing(in), std::plus<>());
  }
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    const auto less = [&](std::size_t a, std::size_t b) { return in[b] < in[a] ? b : a; };
    return tbb::parallel_reduce(
        range(0, in.size()), std::size_t{0},
        [&](const range& r, std::size_t place) {
          const auto* const least = std::min_element(in.data() + r.begin(), in.data() + r.end());
          return less(place, static_cast<std::size_t>(least - in.data()));
        },
        less);
  }
  static void histogram(std::span<const std::uint8_t> in, bench::counts& result) {
    tbb::combinable<bench::counts> each([] { return bench::counts{}; });
    tbb::parallel_for(range(0, in.size()), [&](const range& r) {
      bench::counts& mine = each.local();
      for (std::size_t i = r.begin(); i != r.end(); ++i) ++mine[in[i]];
    });
    result = {};
    each.combine_each([&](const bench::counts& part) {
      for (std::size_t i = 0; i != part.size(); ++i) result[i] += part[i];
    });
  }
  template<class T, class F>
  static void sweep(std::span<T> all, F f) {
    tbb::parallel_for(
        range(0, all.size()),
        [&](const range& r) {
          for (std::size_t i = r.begin(); i != r.end(); ++i) all[i] = f(all[i]);
        },
        tbb::static_partitioner());
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<onetbb>(argc, argv); }
