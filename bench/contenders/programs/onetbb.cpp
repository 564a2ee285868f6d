// oneTBB: parallel_invoke, parallel_for, parallel_reduce, parallel_pipeline and parallel_sort in an arena
// that the caller enters.
#include "../../harness/programs.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <functional>

namespace {

class onetbb {
  tbb::global_control threads_;
  tbb::task_arena arena_;

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
  template<class F, class G>
  static auto join(F f, G g) {
    std::pair<decltype(f()), decltype(g())> both;
    tbb::parallel_invoke([&] { both.second = g(); },
                         [&] { both.first = f(); }); // the last is the one it calls itself
    return both;
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    using range = tbb::blocked_range<std::uint64_t>;
    const auto add = [&](const range& part, std::uint64_t total) {
      for (std::uint64_t i = part.begin(); i != part.end(); ++i) total += f(i);
      return total;
    };
    return tbb::parallel_reduce(range(0, n), std::uint64_t{0}, add, std::plus<>());
  }
  template<class F>
  static void for_index(std::size_t n, F f) {
    tbb::parallel_for(std::size_t{0}, n, f);
  }
  template<class F>
  static void for_rows(std::size_t n, std::size_t least, F f) {
    const auto each = [&](const tbb::blocked_range<std::size_t>& part) {
      for (std::size_t i = part.begin(); i != part.end(); ++i) f(i);
    };
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, least), each, tbb::simple_partitioner());
  }
  template<class Range, class F>
  static void bridge(Range& range, std::size_t /*least*/, F f) {
    // parallel_for_each() takes none of the iterators of views.
    using element = std::ranges::range_value_t<Range>;
    constexpr std::size_t in_flight = 64;
    auto i = std::ranges::begin(range);
    const auto next = [&i, &range](tbb::flow_control& flow) {
      if (i != std::ranges::end(range)) return *i++;
      flow.stop();
      return element{};
    };
    tbb::parallel_pipeline(in_flight,
                           tbb::make_filter<void, element>(tbb::filter_mode::serial_in_order, next) &
                               tbb::make_filter<element, void>(tbb::filter_mode::parallel, f));
  }
  static void sort(std::span<std::uint64_t> all) { tbb::parallel_sort(all.begin(), all.end()); }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_programs<onetbb>(argc, argv); }
