// A thread from outside copies a callable, in order to queue it, while the pool closes.
#include <gtest/gtest.h>

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace {

/// A callable whose copy waits, and then throws.
struct throws_in_copy {
  std::atomic<bool>* copied;
  std::atomic<bool>* go;

  throws_in_copy(std::atomic<bool>& c, std::atomic<bool>& g)
      : copied(&c)
      , go(&g) {}
  throws_in_copy(throws_in_copy const& other)
      : copied(other.copied)
      , go(other.go) {
    *copied = true;
    while (!*go) std::this_thread::yield();
    throw std::runtime_error("no copy");
  }
  throws_in_copy(throws_in_copy&&) = default;
  void operator()() const {}
};

TEST(closing_pool, regression_a_shutdown_ends_beside_a_restart) {
  rubato::pool mine(1U);
  std::atomic<bool> copied = false, go = false;
  std::thread caller([&] {
    throws_in_copy const f(copied, go);
    EXPECT_THROW(mine.enqueue(f), std::runtime_error);
  });
  while (!copied) std::this_thread::yield();
  std::atomic<bool> begun = false;
  std::thread closer([&] {
    begun = true;
    mine.shutdown();
  });
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20)); // it most likely waits now
  mine.resize(1);
  go = true;
  caller.join();
  closer.join();
}

TEST(closing_pool, regression_a_shutdown_within_a_copy_is_refused) {
  struct closes {
    rubato::pool* of;
    explicit closes(rubato::pool& p)
        : of(&p) {}
    closes(closes const& other)
        : of(other.of) {
      of->shutdown();
    }
    closes(closes&&) = default;
    void operator()() const {}
  };
  rubato::pool mine(1U);
  closes const f(mine);
  EXPECT_THROW(mine.enqueue(f), std::system_error);
}

} // namespace
