// Asio's awaitables on its thread_pool.
#include "../../harness/coroutines.hpp"

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <asio/version.hpp>

namespace {

class asio_pool {
  asio::thread_pool pool_;
  using channel = asio::experimental::concurrent_channel<void(asio::error_code, std::uint64_t)>;

public:
  static constexpr const char* name = "asio";
  static std::string version() {
    return std::to_string(ASIO_VERSION / 100000) + "." + std::to_string(ASIO_VERSION / 100 % 1000) + "." +
           std::to_string(ASIO_VERSION % 100);
  }
  template<class T>
  using task = asio::awaitable<T>;

  explicit asio_pool(unsigned workers)
      : pool_(workers) {}

  template<class T>
  T block_on(task<T> t) {
    return asio::co_spawn(pool_, std::move(t), asio::use_future).get();
  }
  void run_all(std::vector<task<void>> tasks) {
    std::vector<std::future<void>> all;
    for (auto& t : tasks) all.push_back(asio::co_spawn(pool_, std::move(t), asio::use_future));
    for (auto& f : all) f.get();
  }
  void start(task<void> t) { asio::co_spawn(pool_, std::move(t), asio::detached); }

  static task<std::uint64_t> fib(std::uint64_t n) {
    using namespace asio::experimental::awaitable_operators;
    if (n < 2) co_return n;
    auto [a, b] = co_await (fib(n - 1) && fib(n - 2));
    co_return a + b;
  }
  static task<std::uint64_t> skynet(std::uint64_t first, std::uint64_t leaves);

  template<std::size_t Capacity>
  auto make_channel() {
    return std::make_unique<channel>(pool_, Capacity);
  }
  static auto send(channel& c, std::uint64_t v) {
    return c.async_send(asio::error_code{}, v, asio::use_awaitable);
  }
  static auto receive(channel& c) { return c.async_receive(asio::use_awaitable); }
  static std::uint64_t value(std::uint64_t v) { return v; }
};

/// && of two at a time would need a tree: the ten are spawned one by one.
asio::awaitable<std::uint64_t> asio_pool::skynet(std::uint64_t first, std::uint64_t leaves) {
  using namespace asio::experimental::awaitable_operators;
  if (leaves == 1) co_return first;
  const std::uint64_t part = leaves / 10;
  auto child = [=](std::uint64_t i) { return skynet(first + i * part, part); };
  auto t = co_await (child(0) && child(1) && child(2) && child(3) && child(4) && child(5) && child(6) &&
                     child(7) && child(8) && child(9));
  co_return std::apply([](auto... v) { return (v + ...); }, t);
}

} // namespace

int main(int argc, char** argv) { return bench::drive_coroutines<asio_pool>(argc, argv); }
