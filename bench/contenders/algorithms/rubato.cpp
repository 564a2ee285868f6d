// Rubato's algorithms, as a user writes them.
#include "../../harness/algorithms.hpp"

#include <rubato/rubato.hpp>

#include <functional>

namespace {

class rubato_pool {
  rubato::pool pool_;
  rubato::per_worker<bench::counts> counted_{pool_, [] { return bench::counts{}; }};

  /// The sums of what the threads have counted, which are nothing again afterwards.
  void take_counts(bench::counts& result) {
    result = {};
    counted_.for_each([&](bench::counts& part) {
      for (std::size_t i = 0; i != part.size(); ++i) result[i] += std::exchange(part[i], 0);
    });
  }

public:
#ifdef __clang__
  static constexpr const char* name = "rubato-clang";
#else
  static constexpr const char* name = "rubato";
#endif
  static std::string version() { return __VERSION__; }

  explicit rubato_pool(unsigned workers)
      : pool_(workers) {}

  template<class F>
  void run(F f) {
    pool_.run(f);
  }
  template<class T, class... Less>
  static void sort(T* first, T* last, Less... less) {
    rubato::sort(first, last, less...);
  }
  template<class T, class... Less>
  static void stable_sort(T* first, T* last, Less... less) {
    rubato::stable_sort(first, last, less...);
  }
  template<class T, class F>
  static std::size_t copy_if(std::span<const T> in, T* out, F f) {
    return static_cast<std::size_t>(rubato::copy_if(in, out, f).out - out);
  }
  template<class T, class F>
  static std::vector<T> filter(std::span<const T> in, F f) {
    return rubato::filter(in, f);
  }
  template<class T, class F>
  static std::size_t partition(std::span<T> all, F f) {
    return static_cast<std::size_t>(rubato::partition(all, f).begin() - all.begin());
  }
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    return static_cast<std::size_t>(rubato::min_element(in) - in.begin());
  }
  template<class T, class F>
  static std::size_t find_if(std::span<const T> in, F f) {
    return static_cast<std::size_t>(rubato::find_if(in, f) - in.begin());
  }
  template<class T>
  static void inclusive_scan(std::span<const T> in, T* out) {
    rubato::inclusive_scan(in, out);
  }
  template<class T, class F>
  static void transform(std::span<const T> in, T* out, F f) {
    rubato::transform(in, out, f);
  }
  template<class T, class F>
  static std::vector<T> map(std::span<const T> in, F f) {
    return rubato::map_to_vector(in, f);
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    return rubato::reduce(in, T{}, std::plus<>());
  }
  template<class T>
  static T reduce_deterministic(std::span<const T> in) {
    return rubato::reduce(rubato::deterministic, in, T{}, std::plus<>());
  }
  void histogram(std::span<const std::uint8_t> in, bench::counts& result) {
    rubato::for_each(in, [this](std::uint8_t b) { ++counted_.local()[b]; });
    take_counts(result);
  }
  void histogram_hoisted(std::span<const std::uint8_t> in, bench::counts& result) {
    rubato::for_range(std::size_t{0}, in.size(), [&](std::size_t begin, std::size_t end) {
      bench::counts& mine = counted_.local();
      for (std::size_t i = begin; i != end; ++i) ++mine[in[i]];
    });
    take_counts(result);
  }
  template<class T, class F>
  static void sweep(std::span<T> all, F f) {
    rubato::for_each(all, [f](T& x) { x = f(x); });
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<rubato_pool>(argc, argv); }
