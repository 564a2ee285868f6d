// Asio's thread_pool, with asio::use_future for results.
#include "../../harness/futures.hpp"

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>
#include <asio/version.hpp>

namespace {

class asio_pool {
  asio::thread_pool pool_;

public:
  static constexpr const char* name = "asio";
  static std::string version() {
    return std::to_string(ASIO_VERSION / 100000) + "." + std::to_string(ASIO_VERSION / 100 % 1000) + "." +
           std::to_string(ASIO_VERSION % 100);
  }

  explicit asio_pool(unsigned workers)
      : pool_(workers) {}

  template<class F>
  void enqueue(F f) {
    asio::post(pool_, f);
  }
  template<class F>
  auto spawn(F f) {
    return asio::post(pool_, asio::use_future(f));
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_futures<asio_pool>(argc, argv); }
