// Asio's thread_pool: post() from outside.
#include "../harness/driver.hpp"

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <asio/version.hpp>

namespace {

class asio_pool {
  asio::thread_pool pool_;

public:
  static constexpr const char* name = "asio";
  static constexpr bool has_threads = true;
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
};

} // namespace

int main(int argc, char** argv) { return bench::drive<asio_pool>(argc, argv); }
