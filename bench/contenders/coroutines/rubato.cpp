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

  void enqueue(task<void> t) { pool_.enqueue(std::move(t)); }

  static task<std::uint64_t> fib(std::uint64_t n) {
    if (n < 2) co_return n;
    const auto both = co_await rubato::when_all(fib(n - 1), fib(n - 2));
    co_return std::get<0>(both) + std::get<1>(both);
  }
  static task<std::uint64_t> skynet(std::uint64_t first, std::uint64_t leaves) {
    if (leaves == 1) co_return first;
    const std::uint64_t part = leaves / 10;
    std::vector<task<std::uint64_t>> children;
    children.reserve(10);
    for (std::uint64_t i = 0; i != 10; ++i) children.push_back(skynet(first + i * part, part));
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
};

} // namespace

int main(int argc, char** argv) { return bench::drive_coroutines<rubato_pool>(argc, argv); }
