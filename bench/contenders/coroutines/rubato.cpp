// Rubato's coroutines.
#include "../../harness/coroutines.hpp"

#include <rubato/rubato.hpp>

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
  template<class T>
  using task = rubato::task<T>;
  using mutex = rubato::async_mutex;
  using semaphore = rubato::async_semaphore;

  explicit rubato_pool(unsigned workers)
      : pool_(workers) {}

  template<class T>
  T block_on(task<T> t) {
    return pool_.spawn(std::move(t)).get();
  }
  void run_all(std::vector<task<void>> tasks) {
    std::vector<rubato::future<void>> all;
    for (auto& t : tasks) all.push_back(pool_.spawn(std::move(t)));
    for (auto& f : all) f.get();
  }
  void start(task<void> t) { pool_.spawn(std::move(t)).detach(); }

  /// One of the two is spawned, the other called.
  static task<std::uint64_t> fib(std::uint64_t n) {
    if (n < 2) co_return n;
    auto other = rubato::spawn(fib(n - 2));
    const std::uint64_t a = co_await fib(n - 1);
    const std::uint64_t b = co_await std::move(other);
    co_return a + b;
  }
  static task<std::uint64_t> skynet(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) co_return first;
    const std::uint64_t part = leaves / 10;
    std::vector<rubato::future<std::uint64_t>> children;
    children.reserve(10);
    for (std::uint64_t i = 0; i != 10; ++i) children.push_back(rubato::spawn(skynet(first + i * part, part)));
    std::uint64_t sum = 0;
    for (auto& c : children) sum += co_await std::move(c);
    co_return sum;
  }

  /// The same with when_all: what is awaited are children, which stop with their parent.
  static task<std::uint64_t> fib_all(std::uint64_t n) {
    if (n < 2) co_return n;
    const auto both = co_await rubato::when_all(fib_all(n - 1), fib_all(n - 2));
    co_return std::get<0>(both) + std::get<1>(both);
  }
  static task<std::uint64_t> skynet_all(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) co_return first;
    const std::uint64_t part = leaves / 10;
    std::vector<task<std::uint64_t>> children;
    children.reserve(10);
    for (std::uint64_t i = 0; i != 10; ++i) children.push_back(skynet_all(first + i * part, part));
    const auto sums = co_await rubato::when_all(std::move(children));
    std::uint64_t sum = 0;
    for (const std::uint64_t s : sums) sum += s;
    co_return sum;
  }

  static auto make_mutex() { return std::make_unique<mutex>(); }
  static auto lock(mutex& m) { return m.scoped_lock(); }
  static auto make_semaphore(std::size_t n) { return std::make_unique<semaphore>(n); }
  static auto acquire(semaphore& s) { return s.acquire(); }
  static void release(semaphore& s) { s.release(); }

  template<std::size_t Capacity>
  static auto make_channel() {
    return std::make_unique<rubato::channel<std::uint64_t>>(Capacity);
  }
  static auto send(rubato::channel<std::uint64_t>& c, std::uint64_t v) { return c.send(v); }
  static auto receive(rubato::channel<std::uint64_t>& c) { return c.receive(); }
  static std::uint64_t value(const std::optional<std::uint64_t>& v) { return *v; }

  std::optional<bench::measurement> own_scenario(std::string_view scenario, std::uint64_t size);
};

struct with_when_all {
  rubato_pool& pool;
  auto block_on(rubato::task<std::uint64_t> t) { return pool.block_on(std::move(t)); }
  static auto fib(std::uint64_t n) { return rubato_pool::fib_all(n); }
  static auto skynet(std::uint64_t first, std::uint64_t leaves) {
    return rubato_pool::skynet_all(first, leaves);
  }
};

std::optional<bench::measurement> rubato_pool::own_scenario(std::string_view scenario, std::uint64_t size) {
  with_when_all r{*this};
  if (scenario == "cofiball") return bench::coroutine_fib(r, size);
  if (scenario == "coskynetall") return bench::coroutine_skynet(r, size);
  return std::nullopt;
}

} // namespace

int main(int argc, char** argv) { return bench::drive_coroutines<rubato_pool>(argc, argv); }
