// Public types can be members that braces initialise: no constructor that is not public is chosen then.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "io/byte_streams.hpp"
#include "support/loopback.hpp"

namespace {

using namespace std::chrono_literals;

struct pools {
  rubato::pool two{2};
  rubato::pool driven{rubato::no_workers};
  rubato::pool one{rubato::pool_options{}.workers(1)};
  rubato::pool by_machine{};
  rubato::strand strand{two};
  rubato::per_worker<int> per_worker{two};
  rubato::per_worker<int> made{two, [] { return 1; }};
  rubato::task_group group{two};
  rubato::task_group of_global{};
  rubato::hedge_policy usual{};
  rubato::hedge_policy chosen{0.9, 0.1};
  rubato::race_options race{};
  rubato::routine routine{[](rubato::routine&) {}};
  rubato::promise<int> promise{};
  rubato::future<int> future{};
  rubato::shared_future<int> shared{};
  rubato::task<int> task{};
  rubato::timer_handle timer{};
};

struct waits {
  rubato::channel<int> channel{4};
  rubato::async_mutex mutex{};
  rubato::async_semaphore semaphore{3};
  rubato::async_latch latch{1};
  rubato::async_barrier barrier{2};
  rubato::event event{};
  rubato::interval interval{1s};
  rubato::signal_set one{SIGUSR1};
  rubato::signal_set two{SIGUSR1, SIGUSR2};
};

struct sockets {
  rubato::address numeric{"127.0.0.1", 0};
  rubato::address none{};
  rubato::tcp_listener tcp{numeric};
  rubato::tcp_listener small{numeric, 16};
  rubato::unix_listener local{rubato_test::fresh_local_address()};
  rubato::udp_socket udp{numeric};
  rubato::tcp_socket closed{};
  rubato::buffered<int> of_descriptor{0};
  rubato::buffered<rubato::tcp_socket> of_own{rubato::tcp_socket{}};
  rubato::buffered<rubato::tcp_socket&> of_other{closed};
};

TEST(braces, regression_initialise_public_types) {
  pools const p{};
  EXPECT_EQ(p.two.size(), 2u);
  EXPECT_EQ(p.driven.size(), 0u);
  waits w{};
  EXPECT_EQ(w.channel.capacity(), 4u);
  ASSERT_EQ(::raise(SIGUSR2), 0);
  EXPECT_EQ(rubato::block_on(w.two.next()), SIGUSR2);
  if (!rubato_test::has_loopback()) return;
  sockets const s{};
  EXPECT_TRUE(s.small.is_open());
  EXPECT_FALSE(s.closed.is_open());
}

} // namespace
