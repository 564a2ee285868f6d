// The same stages as Asio's coroutines with Asio's channels between them, on its thread_pool; the sort is
// oneTBB's. Two pools, for neither has what the other is for.
#include "../../scenarios/pipeline.hpp"

#include <pipeline/digest.hpp>
#include <pipeline/tree.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <asio/version.hpp>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <atomic>
#include <future>
#include <memory>
#include <utility>

namespace {

using asio::awaitable;
using asio::error_code;
template<class T>
struct channel : asio::experimental::concurrent_channel<void(error_code, std::unique_ptr<T>)> {
  using asio::experimental::concurrent_channel<void(error_code, std::unique_ptr<T>)>::concurrent_channel;
};

// What can be had without waiting is: it saves the way through the pool's queue. A null pointer is the end:
// close() of some versions of Asio forgets the buffered values.

template<class T>
awaitable<std::unique_ptr<T>> receive(channel<T>& from) {
  std::unique_ptr<T> value;
  const bool there = from.try_receive([&](error_code, std::unique_ptr<T> v) { value = std::move(v); });
  if (!there) value = co_await from.async_receive(asio::use_awaitable);
  co_return value;
}

template<class T>
awaitable<void> send(channel<T>& to, std::unique_ptr<T> value) {
  const bool sent = to.try_send(error_code(), std::move(value)); // leaves it alone if it fails
  if (!sent) co_await to.async_send(error_code(), std::move(value), asio::use_awaitable);
}

template<class T>
awaitable<void> send_ends(channel<T>& to, unsigned receivers) {
  for (unsigned i = 0; i != receivers; ++i) co_await send(to, std::unique_ptr<T>());
}

struct content {
  std::string path;
  pipeline::part first;
  std::shared_ptr<channel<pipeline::part>> rest;
};

class stages {
  asio::thread_pool::executor_type pool_;
  pipeline::tree_walk tree_;
  pipeline::catalogue result_;
  channel<pipeline::found_file> found_{pool_, 64};
  channel<content> contents_{pool_, 16};
  channel<pipeline::outcome> outcomes_{pool_, 64};
  const unsigned readers_;
  const unsigned summers_;
  std::atomic<unsigned> reading_{readers_};
  std::atomic<unsigned> summing_{summers_};

  awaitable<void> walk() {
    while (auto files = tree_.next())
      for (auto& file : *files) {
        auto sent = std::make_unique<pipeline::found_file>(std::move(file));
        co_await send(found_, std::move(sent));
      }
    co_await send_ends(found_, readers_);
  }

  awaitable<void> read() {
    for (;;) {
      const auto file = co_await receive(found_);
      if (!file) break;
      pipeline::source from(*file);
      auto next = std::make_unique<content>();
      next->path = file->path;
      next->first = from.next();
      std::shared_ptr<channel<pipeline::part>> rest;
      if (!from.over()) rest = std::make_shared<channel<pipeline::part>>(pool_, 4);
      next->rest = rest;
      co_await send(contents_, std::move(next));
      while (!from.over()) {
        auto more = std::make_unique<pipeline::part>(from.next());
        co_await send(*rest, std::move(more));
      }
      if (rest) co_await send_ends(*rest, 1);
    }
    if (--reading_ == 0) co_await send_ends(contents_, summers_);
  }

  awaitable<void> sum_up() {
    pipeline::digest sums;
    for (;;) {
      const auto file = co_await receive(contents_);
      if (!file) break;
      sums.begin();
      static_cast<void>(sums.feed(file->first));
      bool more = file->rest != nullptr;
      while (more) {
        const auto next = co_await receive(*file->rest);
        if (next) static_cast<void>(sums.feed(*next));
        more = next != nullptr;
      }
      auto about = std::make_unique<pipeline::outcome>(sums.end(std::move(file->path)));
      co_await send(outcomes_, std::move(about));
    }
    if (--summing_ == 0) co_await send_ends(outcomes_, 1);
  }

  awaitable<void> collect() {
    for (;;) {
      const auto about = co_await receive(outcomes_);
      if (!about) break;
      result_.add(std::move(*about));
    }
  }

public:
  stages(asio::thread_pool& pool, const std::string& root, unsigned readers, unsigned summers)
      : pool_(pool.get_executor())
      , tree_(root)
      , readers_(readers)
      , summers_(summers) {}

  pipeline::catalogue take(tbb::task_arena& arena) {
    std::vector<std::future<void>> all;
    const auto start = [&](awaitable<void> one) {
      all.push_back(asio::co_spawn(pool_, std::move(one), asio::use_future));
    };
    start(walk());
    for (unsigned i = 0; i != readers_; ++i) start(read());
    for (unsigned i = 0; i != summers_; ++i) start(sum_up());
    start(collect());
    for (auto& one : all) one.get();
    arena.execute([&] { tbb::parallel_sort(result_.files.begin(), result_.files.end(), pipeline::by_path); });
    result_.finish(tree_.met());
    return std::move(result_);
  }
};

class asio_onetbb {
  unsigned workers_;
  asio::thread_pool pool_;
  tbb::global_control threads_;
  tbb::task_arena arena_;

public:
  static constexpr const char* name = "asio-onetbb";
  static std::string version() {
    return "Asio " + std::to_string(ASIO_VERSION / 100000) + "." + std::to_string(ASIO_VERSION / 100 % 1000) +
           "." + std::to_string(ASIO_VERSION % 100) + ", oneTBB " + TBB_runtime_version();
  }

  explicit asio_onetbb(unsigned workers)
      : workers_(workers)
      , pool_(workers)
      , threads_(tbb::global_control::max_allowed_parallelism, workers + 1)
      , arena_(static_cast<int>(workers)) {}

  pipeline::catalogue take(const std::string& root) {
    return stages(pool_, root, pipeline::readers_for(workers_), workers_).take(arena_);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_pipeline<asio_onetbb>(argc, argv); }
