// Rubato, as the examples use it.
#include "../../harness/programs.hpp"

#include <rubato/rubato.hpp>

#include <functional>

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

  template<class F>
  void run(F f) {
    pool_.run(f);
  }
  template<class F, class G>
  static auto join(F f, G g) {
    return rubato::join(f, g);
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    return rubato::reduce(std::views::iota(std::uint64_t{0}, n), std::uint64_t{0}, std::plus<>(), f);
  }
  template<class F>
  static void for_index(std::size_t n, F f) {
    rubato::for_index(std::size_t{0}, n, f);
  }
  template<class F>
  static void for_rows(std::size_t n, std::size_t least, F f) {
    rubato::for_range(std::size_t{0}, n, rubato::min_chunk(least), [&](std::size_t lo, std::size_t hi) {
      for (std::size_t i = lo; i != hi; ++i) f(i);
    });
  }
  template<class Range, class F>
  static void bridge(Range& range, std::size_t least, F f) {
    rubato::for_each(range, rubato::min_chunk(least), f);
  }
  static void sort(std::span<std::uint64_t> all) { rubato::sort(all); }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_programs<rubato_pool>(argc, argv); }
