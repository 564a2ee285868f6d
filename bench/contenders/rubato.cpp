// Rubato by its public headers, as a user writes it; and the two recursions once more with a context passed
// down.
#include "../harness/driver.hpp"

#include <rubato/rubato.hpp>

#include <array>

namespace {

[[gnu::noinline]] std::uint64_t fib_with(rubato::context& c, std::uint64_t n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join(
      c, [n](rubato::context& left) { return fib_with(left, n - 1); },
      [n](rubato::context& right) { return fib_with(right, n - 2); });
  return a + b;
}

[[gnu::noinline]] std::uint64_t sum_with(rubato::context& c, const bench::node* n) {
  auto [l, r] = rubato::join(
      c, [n](rubato::context& left) { return n->left ? sum_with(left, n->left) : 0; },
      [n](rubato::context& right) { return n->right ? sum_with(right, n->right) : 0; });
  return n->value + l + r;
}

/// f(first) + ... + f(last - 1) by joins, the range halved down to single numbers.
template<class F>
std::uint64_t sum_between(std::uint64_t first, std::uint64_t last, F& f) {
  if (last - first == 1) return f(first);
  const std::uint64_t middle = first + (last - first) / 2;
  auto [low, high] = rubato::join([&f, first, middle] { return sum_between(first, middle, f); },
                                  [&f, middle, last] { return sum_between(middle, last, f); });
  return low + high;
}

class rubato_pool {
  rubato::pool pool_;

public:
#ifdef __clang__
  static constexpr const char* name = "rubato-clang";
#else
  static constexpr const char* name = "rubato";
#endif
  static constexpr bool has_threads = true;
  static std::string version() { return __VERSION__; }

  explicit rubato_pool(unsigned workers)
      : pool_(workers) {}

  template<class F>
  void run(F f) {
    pool_.run(f);
  }
  template<class F, class G>
  [[gnu::always_inline]] static auto join(F&& f, G&& g) {
    return rubato::join(std::forward<F>(f), std::forward<G>(g));
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    return n == 0 ? 0 : sum_between(0, n, f);
  }
  template<class F>
  static void for_index(std::size_t n, F f) {
    rubato::for_index(std::size_t{0}, n, f);
  }
  template<class F>
  static void scope(std::size_t n, F f) {
    rubato::with_scope([&](rubato::scope& s) {
      for (std::size_t i = 0; i != n; ++i) s.spawn([&f, i] { f(i); });
    });
  }
  template<class F, class G>
  static void scope_of_two(F f, G g) {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&f] { f(); });
      g();
    });
  }
  template<class F>
  void enqueue(F f) {
    pool_.enqueue(f);
  }
  std::optional<bench::measurement> own_scenario(std::string_view scenario, std::uint64_t size);
};

/// The same pool with a loop for the children of a node, where the other has joins.
struct with_loops {
  rubato_pool& pool;

  template<class F>
  void run(F f) {
    pool.run(f);
  }
  template<class F, class G>
  [[gnu::always_inline]] static auto join(F&& f, G&& g) {
    return rubato::join(std::forward<F>(f), std::forward<G>(g));
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    std::array<std::uint64_t, 16> parts; // only the first n are written, and read
    rubato::for_index(std::uint64_t{0}, n, [&](std::uint64_t i) { parts[i] = f(i); });
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i != n; ++i) total += parts[i];
    return total;
  }
};

std::optional<bench::measurement> rubato_pool::own_scenario(std::string_view scenario, std::uint64_t size) {
  with_loops looping{*this};
  if (scenario == "skynetloop") return bench::skynet(looping, size);
  if (scenario == "nqueensloop") return bench::nqueens(looping, size);
  if (scenario == "fibctx") {
    bench::warm_up(*this);
    bench::measurement m;
    pool_.run([&] {
      rubato::with_context(
          [&](rubato::context& c) { m = bench::timed(1, [&] { return fib_with(c, size); }); });
    });
    return m;
  }
  if (scenario == "treectx")
    return bench::tree_with(*this, size, [](const bench::node* root) {
      return rubato::with_context([root](rubato::context& c) { return sum_with(c, root); });
    });
  return std::nullopt;
}

} // namespace

int main(int argc, char** argv) { return bench::drive<rubato_pool>(argc, argv); }
