// What one thread can do with loops written for the processor: no branch that depends on the data, and
// several sums side by side.
#include "../../harness/algorithms.hpp"

#include <array>

namespace {

struct serial_tuned {
  static constexpr const char* name = "serial-tuned";
  static std::string version() { return __VERSION__; }

  explicit serial_tuned(unsigned) {}

  template<class F>
  void run(F f) {
    f();
  }
  template<class T, class F>
  static std::size_t copy_if(std::span<const T> in, T* out, F f) {
    T* end = out;
    for (const T& x : in) {
      *end = x; // overwritten by the next one unless it is kept; there is room for all
      end += f(x) ? 1 : 0;
    }
    return static_cast<std::size_t>(end - out);
  }
  template<class T, class F>
  static std::vector<T> filter(std::span<const T> in, F f) {
    std::vector<T> out(in.size());
    out.resize(copy_if(in, out.data(), f));
    return out;
  }
  /// N. Lomuto's: each item changes places with the first that does not belong to the front.
  template<class T, class F>
  static std::size_t partition(std::span<T> all, F f) {
    std::size_t front = 0;
    for (std::size_t i = 0; i != all.size(); ++i) {
      const T x = all[i];
      all[i] = all[front];
      all[front] = x;
      front += f(x) ? 1U : 0U;
    }
    return front;
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    std::array<T, 8> sums{};
    std::size_t i = 0;
    for (; i + 8 <= in.size(); i += 8)
      for (std::size_t k = 0; k != 8; ++k) sums[k] += in[i + k];
    T total{};
    for (; i != in.size(); ++i) total += in[i];
    for (const T s : sums) total += s;
    return total;
  }
  /// First the value, which vectorises, then its place.
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    T least = in[0];
    for (const T x : in) least = std::min(least, x);
    return static_cast<std::size_t>(std::find(in.begin(), in.end(), least) - in.begin());
  }
  /// Looks for a block that has it, which vectorises, then into that block.
  template<class T, class F>
  static std::size_t find_if(std::span<const T> in, F f) {
    constexpr std::size_t block = 256;
    std::size_t i = 0;
    for (; i + block <= in.size(); i += block) {
      int there = 0;
      for (std::size_t k = 0; k != block; ++k) there |= f(in[i + k]) ? 1 : 0;
      if (there != 0) break;
    }
    return static_cast<std::size_t>(std::find_if(in.begin() + static_cast<std::ptrdiff_t>(i), in.end(), f) -
                                    in.begin());
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<serial_tuned>(argc, argv); }
