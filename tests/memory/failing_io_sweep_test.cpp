// The sweep over sockets, descriptors and signals, and over the start of a pool.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include "io/byte_streams.hpp"
#include "io/descriptors.hpp"
#include "memory/failing_sweep.hpp"
#include "support/loopback.hpp"
#include "support/process.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::pool;
using rubato::task;

template<class Socket, class Listener>
task<void> echo_one(Listener const& at) {
  Socket const from = co_await at.accept();
  std::array<char, 16> bytes;
  std::size_t const n = co_await from.read_some(bytes);
  co_await from.write_all(std::string_view(bytes.data(), n));
}
template<class Socket>
task<void> ask(rubato::address server) {
  Socket const to = co_await Socket::connect(server);
  co_await to.write_all("ping");
  std::array<char, 16> bytes;
  std::size_t const n = co_await to.read_some(bytes);
  require(n == 4);
}
/// An end that fails closes its connection before its failure is told: the other end may meet the loss first.
task<void> one_end(task<void> work, std::atomic<bool>& connection_lost) {
  try {
    co_await std::move(work);
  } catch (std::system_error const&) {
    connection_lost = true;
  } catch (wrong const&) {
    connection_lost = true;
  }
}
/// The failure of one end stops the other one.
void connect(pool& p, task<void> a, task<void> b) {
  std::atomic<bool> connection_lost{false};
  rubato::with_scope(p, [&](rubato::scope& s) {
    s.spawn(one_end(std::move(a), connection_lost));
    s.spawn(one_end(std::move(b), connection_lost));
  });
  require(!connection_lost); // a loss has its cause: the failure of the other end, which was thrown
}
template<class Socket, class Listener>
void echoes(pool& p, Listener const& at) {
  connect(p, echo_one<Socket>(at), ask<Socket>(at.local_address()));
}

task<void> reads_lines(rubato::unix_listener const& at) {
  rubato::buffered<rubato::unix_socket> lines(co_await at.accept());
  auto const first = co_await lines.read_line(100);
  auto const second = co_await lines.read_line(100);
  require(first == "one" && second == "two");
}
task<void> writes_lines(rubato::address server) {
  rubato::unix_socket to = co_await rubato::unix_socket::connect(server);
  co_await to.write_all("one\ntwo\n");
  std::error_code reset; // by a reader that has no memory
  co_await to.close_gracefully(1h, reset);
}

task<void> sends(rubato::address to) {
  rubato::udp_socket const from(rubato::address::loopback(0));
  co_await from.send_to("hello", to);
}
task<void> receives(rubato::udp_socket const& at) {
  std::array<char, 16> bytes;
  rubato::udp_socket::datagram const got = co_await at.receive_from(bytes);
  require(got.size == 5);
}

/// The end of a pipe that is read.
struct awaited_pipe {
  ends both = make_pipe();
  awaited_pipe() = default;
  awaited_pipe(awaited_pipe const&) = delete;
  awaited_pipe& operator=(awaited_pipe const&) = delete;
  ~awaited_pipe() { rubato::forget(both.a.get()); }
};

std::vector<operation> const local_io{
    {"an address", [](pool&) { require(rubato::address("127.0.0.1", 80).to_string() == "127.0.0.1:80"); }},
    {"a Unix listener", [](pool&) { rubato::unix_listener const l(fresh_local_address()); }},
    {"a Unix connection",
     [](pool& p) {
       rubato::unix_listener const at(fresh_local_address());
       echoes<rubato::unix_socket>(p, at);
     }},
    {"lines",
     [](pool& p) {
       rubato::unix_listener const at(fresh_local_address());
       connect(p, reads_lines(at), writes_lines(at.local_address()));
     }},
    {"an accept with a deadline",
     [](pool& p) {
       rubato::unix_listener const at(fresh_local_address());
       require(!p.block_on(rubato::with_deadline(at.accept(), 10us)));
     }},
    {"an accept that loses",
     [](pool& p) {
       p.block_on([]() -> task<void> {
         rubato::unix_listener const at(fresh_local_address());
         // when_any() would wait for the other one if there was no memory for the first.
         auto first = rubato::when_first(at.accept(), rubato::sleep_for(10us));
         auto const won = co_await std::move(first);
         require(won.index == 1);
       }());
     }},
    {"a ready descriptor",
     [](pool& p) {
       awaited_pipe const pipe;
       require(::write(pipe.both.b.get(), "x", 1) == 1);
       require(p.block_on(rubato::readable(pipe.both.a.get())) == std::errc());
     }},
    {"a descriptor that is not ready",
     [](pool& p) {
       awaited_pipe const pipe;
       require(p.block_on(rubato::readable(pipe.both.a.get(), 10us)) == std::errc::timed_out);
     }},
    {"signals",
     [](pool& p) {
       rubato::signal_set signals{SIGUSR2};
       ::raise(SIGUSR2);
       require(p.block_on(signals.next()) == SIGUSR2);
     }},
    {"the end of a child",
     [](pool& p) {
       pid_t const child = ::fork();
       if (child == 0) ::_exit(7);
       struct reaped {
         pid_t child;
         ~reaped() { ::waitpid(child, nullptr, 0); } // if it is still there
       } const at_end{child};
       fd const pidfd = open_pidfd(child);
       require(p.block_on(rubato::exited(pidfd.get())) == 7);
     }},
};

std::vector<operation> const network{
    {"a TCP connection",
     [](pool& p) {
       rubato::tcp_listener const at(rubato::address::loopback(0));
       echoes<rubato::tcp_socket>(p, at);
     }},
    {"datagrams",
     [](pool& p) {
       rubato::udp_socket const at(rubato::address::loopback(0));
       rubato::with_scope(p, [&](rubato::scope& s) {
         s.spawn(receives(at));
         s.spawn(sends(at.local_address()));
       });
     }},
    {"resolve",
     [](pool& p) {
       auto const found = p.block_on(rubato::resolve("127.0.0.1", "80"));
       require(!found.empty());
     }},
};

std::vector<operation> const starts{
    {"a pool",
     [](pool&) {
       pool own(2);
       require(own.spawn([] { return 1; }).get() == 1);
     }},
    {"a pool without workers",
     [](pool&) {
       pool own(rubato::no_workers);
       require(own.spawn([] { return 1; }).get() == 1);
     }},
    {"resize",
     [](pool&) {
       pool own(1);
       own.resize(3);
       own.resize(1);
     }},
};

class failing_io_sweep : public failing_sweep {};
RUBATO_TEST_WITH_WORKERS(failing_io_sweep, all_counts);

TEST_P(failing_io_sweep, regression_of_local_io) { sweep(local_io); }
TEST_P(failing_io_sweep, regression_of_the_network) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  sweep(network);
}
TEST_P(failing_io_sweep, regression_of_starts) { sweep(starts); }

/// In a child process, in which nothing has been started.
int first_use(std::int64_t n, bool once) {
  pid_t const child = ::fork();
  if (child != 0) return rubato_test::wait_for_child(child);
  rubato_test::kill_this_process_if_it_hangs();
  auto const use = [] {
    rubato::unix_listener const at(fresh_local_address());
    require(!rubato::block_on(rubato::with_deadline(at.accept(), 10us)));
  };
  bool failed = false;
  {
    failing_allocation const failing(n, once);
    try {
      use();
    } catch (std::bad_alloc const&) {
      failed = true;
    } catch (...) {
      ::_exit(1);
    }
  }
  bool const met = failing_allocation::has_failed();
  try {
    use(); // with memory, all is well
  } catch (...) {
    ::_exit(2);
  }
  ::_exit(met || failed ? 10 : 0);
}

/// The global pool and the reactor start with the first use.
TEST(failing_first_use, regression_throws_or_does_its_work) {
  for (bool const once : {true, false})
    for (std::int64_t n = 1, status = 10; status == 10 && n != 100; ++n) {
      status = first_use(n, once);
      ASSERT_TRUE(status == 10 || status == 0)
          << "call " << n << (once ? ", once: " : ", from then on: ") << status;
    }
}

} // namespace
