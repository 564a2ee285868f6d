// asio::post on a pool by its asio_context, and on asio::thread_pool: from a thread outside, from several,
// and by handlers that post the next one. bench/executors.py
#include "rounds.hpp"

#include <rubato/asio.hpp>

#include <asio/bind_executor.hpp>
#include <asio/defer.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using bench::countdown;

template<class Executor>
struct link {
  Executor executor;
  countdown* all;
  std::size_t left;
  bool defers;
  void operator()() {
    if (left == 0) {
      all->arrive();
      return;
    }
    --left;
    if (defers)
      asio::defer(executor, *this);
    else
      asio::post(executor, *this);
  }
};

template<class Executor>
void post_all(Executor const& executor, std::string_view what, std::size_t n) {
  if (what == "outside") {
    countdown all(n);
    for (std::size_t i = 0; i != n; ++i) asio::post(executor, [&all] { all.arrive(); });
    all.wait();
  } else if (what == "producers") {
    constexpr std::size_t threads = 4;
    countdown all(threads * (n / threads));
    std::vector<std::jthread> producers;
    for (std::size_t t = 0; t != threads; ++t)
      producers.emplace_back([&] {
        for (std::size_t i = 0; i != n / threads; ++i) asio::post(executor, [&all] { all.arrive(); });
      });
    all.wait();
  } else if (what == "strand") {
    countdown all(n);
    auto const strand = asio::make_strand(executor);
    for (std::size_t i = 0; i != n; ++i) asio::post(strand, [&all] { all.arrive(); });
    all.wait();
  } else { // chain, chains, defer
    std::size_t const chains = what == "chains" ? 8 : 1;
    countdown all(chains);
    for (std::size_t c = 0; c != chains; ++c)
      asio::post(executor, link<Executor>{executor, &all, n / chains, what == "defer"});
    all.wait();
  }
}

} // namespace

int main(int argc, char** argv) {
  bench::arguments const with(argc, argv);
  rubato::pool pool(with.workers);
  rubato::asio_context context(pool);
  asio::thread_pool theirs(with.workers);
  bench::alternate(with, {"rubato", [&] { post_all(context.get_executor(), with.what, with.n); }},
                   {"asio-thread-pool", [&] { post_all(theirs.get_executor(), with.what, with.n); }});
}
