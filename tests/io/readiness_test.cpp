// readable(), writable(), forget(), exited(): levels, deadlines, stops, the end of a descriptor.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/byte_streams.hpp"
#include "io/descriptors.hpp"
#include "io/io_wait.hpp"
#include "support/loopback.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class readiness : public on_workers {};
RUBATO_TEST_WITH_WORKERS(readiness, all_counts);

TEST_P(readiness, of_what_is_ready_is_told_at_once) {
  ends const p = make_pipe();
  rubato_test::put(p.b, "x");
  EXPECT_EQ(pool.block_on(rubato::readable(p.a.get())), std::errc());
  EXPECT_EQ(pool.block_on(rubato::writable(p.b.get())), std::errc());
}

TEST_P(readiness, of_what_becomes_ready_resumes_the_task) {
  ends const p = make_pipe();
  auto f = pool.spawn(rubato::readable(p.a.get()));
  auto writer = [&]() -> rubato::task<void> {
    co_await until_awaited(p.a.get());
    rubato_test::put(p.b, "x");
  };
  auto g = pool.spawn(writer);
  EXPECT_EQ(f.get(), std::errc());
  g.get();
  EXPECT_EQ(rubato_test::get(p.a), 'x');
  rubato::forget(p.a.get());
}

TEST_P(readiness, is_a_level_what_is_left_unread_ends_the_next_wait) {
  ends const p = make_pipe();
  auto const reader = [&]() -> rubato::task<int> {
    int got = 0;
    while (got != 3) {
      std::errc const e = co_await rubato::readable(p.a.get());
      if (e != std::errc()) co_return -1;
      if (rubato_test::get(p.a) >= 0) ++got;
    }
    co_return got;
  };
  auto f = pool.spawn(reader);
  rubato_test::put(p.b, "abc");
  EXPECT_EQ(f.get(), 3);
  rubato::forget(p.a.get());
}

/// As from a thread that took the event of an earlier wait, and delivers it only now.
bool deliver_late(rubato::detail::descriptor_slot& slot) {
  using namespace rubato::detail;
  auto const never = [](descriptor_slot::registration&) { return true; }; // no other direction is awaited
  auto const taken = slot.deliver(slot.generation(), bit(direction::reading), never);
  return taken.reader != nullptr && taken.reader->end(std::errc());
}

TEST_P(readiness, regression_is_not_told_by_events_of_earlier_waits) {
  ends const p = make_pipe();
  auto f = pool.spawn(rubato::readable(p.a.get()));
  auto const late = [&]() -> rubato::task<void> {
    for (int i = 0; i != 3; ++i) {
      co_await until_awaited(p.a.get());
      static_cast<void>(deliver_late(*rubato::detail::find_slot(p.a.get())));
    }
    co_await until_awaited(p.a.get());
  };
  pool.spawn(late).get();
  EXPECT_FALSE(f.ready());
  rubato_test::put(p.b, "x");
  EXPECT_EQ(f.get(), std::errc());
  rubato::forget(p.a.get());
}

TEST_P(readiness, of_both_directions_is_awaited_by_two_tasks) {
  ends const s = make_pair();
  std::vector<char> const full(1U << 20U, 'x');
  while (::write(s.a.get(), full.data(), full.size()) > 0) {
  }
  auto r = pool.spawn(rubato::readable(s.a.get()));
  auto w = pool.spawn(rubato::writable(s.a.get()));
  auto other = [&]() -> rubato::task<void> {
    co_await until_awaited(s.a.get());
    co_await until_awaited(s.a.get(), rubato_test::direction::writing);
    rubato_test::put(s.b, "y");
    std::vector<char> room(1U << 20U);
    while (::read(s.b.get(), room.data(), room.size()) > 0) {
    }
  };
  auto o = pool.spawn(other);
  EXPECT_EQ(r.get(), std::errc());
  EXPECT_EQ(w.get(), std::errc());
  o.get();
  rubato::forget(s.a.get());
}

TEST_P(readiness, ends_at_the_deadline_and_not_before) {
  ends const p = make_pipe();
  auto const until = steady_clock::now() + 5ms;
  EXPECT_EQ(pool.block_on(rubato::readable(p.a.get(), until)), std::errc::timed_out);
  EXPECT_GE(steady_clock::now(), until);
  EXPECT_EQ(pool.block_on(rubato::readable(p.a.get(), steady_clock::now() - 1s)), std::errc::timed_out);
  rubato::forget(p.a.get());
}

TEST_P(readiness, takes_any_point_in_time_or_duration_for_a_deadline) {
  ends const p = make_pipe();
  auto const until = steady_clock::now() + 2ms;
  EXPECT_EQ(pool.block_on(rubato::readable(p.a.get(), 2ms)), std::errc::timed_out);
  EXPECT_GE(steady_clock::now(), until);
  EXPECT_EQ(pool.block_on(rubato::writable(p.b.get(), std::chrono::hours::max())), std::errc()); // saturates
  // Points in time of any precision, and none: the clock's epoch has passed.
  EXPECT_EQ(pool.block_on(rubato::readable(p.a.get(), std::chrono::floor<std::chrono::seconds>(until))),
            std::errc::timed_out);
  EXPECT_EQ(pool.block_on(rubato::readable(p.a.get(), {})), std::errc::timed_out);
  rubato::forget(p.a.get());
  rubato::forget(p.b.get());
}

TEST_P(readiness, of_a_second_reader_is_refused) {
  ends const p = make_pipe();
  std::atomic<int> ready{0}, refused{0};
  auto const reader = [&]() -> rubato::task<void> {
    std::errc const e = co_await rubato::readable(p.a.get());
    if (e == std::errc()) ++ready;
    if (e != std::errc::device_or_resource_busy) co_return;
    ++refused;
    rubato_test::put(p.b, "x"); // ends the wait of the other
  };
  auto a = pool.spawn(reader), b = pool.spawn(reader);
  a.get();
  b.get();
  EXPECT_EQ(ready, 1);
  EXPECT_EQ(refused, 1);
  rubato::forget(p.a.get());
}

TEST_P(readiness, ends_when_the_descriptor_is_forgotten) {
  ends const p = make_pipe();
  auto f = pool.spawn(rubato::readable(p.a.get()));
  auto const forgets = [&]() -> rubato::task<void> {
    co_await until_awaited(p.a.get());
    rubato::forget(p.a.get());
  };
  auto g = pool.spawn(forgets);
  EXPECT_EQ(f.get(), std::errc::operation_canceled);
  g.get();
}

TEST_P(readiness, ends_when_the_task_is_stopped) {
  ends const p = make_pipe();
  auto f = pool.spawn(rubato::readable(p.a.get(), steady_clock::now() + 1h));
  auto const stops = [&]() -> rubato::task<void> {
    co_await until_awaited(p.a.get());
    f.cancel();
  };
  auto g = pool.spawn(stops);
  EXPECT_EQ(f.get(), std::errc::operation_canceled);
  g.get();
  rubato::forget(p.a.get());
}

TEST_P(readiness, of_a_file_or_of_no_descriptor_is_an_error) {
  fd const file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(pool.block_on(rubato::readable(file.get())), std::errc::operation_not_permitted);
  EXPECT_EQ(pool.block_on(rubato::readable(-1)), std::errc::bad_file_descriptor);
  EXPECT_EQ(pool.block_on(rubato::writable(999'999)), std::errc::bad_file_descriptor);
  EXPECT_EQ(pool.block_on(rubato::readable(1 << 20)), std::errc::bad_file_descriptor);
  rubato::forget(-1);
}

TEST_P(readiness, shows_that_the_other_end_is_gone) {
  ends p = make_pipe();
  auto f = pool.spawn(rubato::readable(p.a.get()));
  auto const closes = [&]() -> rubato::task<void> {
    co_await until_awaited(p.a.get());
    p.b.close();
  };
  auto g = pool.spawn(closes);
  EXPECT_EQ(f.get(), std::errc());
  EXPECT_EQ(rubato_test::get(p.a), -1);
  g.get();
  rubato::forget(p.a.get());
}

TEST_P(readiness, counts_as_armed_until_the_task_goes_on) {
  if (pool.size() == 0) return; // then the waiting thread runs the task
  ends const p = make_pipe();
  pool.enqueue([&] { return rubato::readable(p.a.get()); });
  EXPECT_FALSE(pool.wait_idle(5ms));
  rubato_test::put(p.b, "x");
  EXPECT_TRUE(pool.wait_idle());
  rubato::forget(p.a.get());
}

TEST_P(readiness, of_a_reused_number_is_that_of_the_new_descriptor) {
  for (int i = 0; i != 20; ++i) {
    int const number = [&] {
      ends const old = make_pipe();
      EXPECT_EQ(pool.block_on(rubato::readable(old.a.get(), steady_clock::now() + 100us)),
                std::errc::timed_out);
      return old.a.get();
    }();
    ends const fresh = make_pipe();
    if (fresh.a.get() != number) continue;
    auto f = pool.spawn(rubato::readable(number));
    rubato_test::put(fresh.b, "n");
    EXPECT_EQ(f.get(), std::errc());
    rubato::forget(number);
  }
}

TEST_P(readiness, races_with_deadlines_stops_and_forget) {
  std::size_t const rounds = scaled(3'000);
  auto const one = [](std::size_t i) -> rubato::task<int> {
    fd const e(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    int ended = 0;
    co_await rubato::with_async_scope([&](rubato::scope& s) -> rubato::task<void> {
      auto reader = [&, i]() -> rubato::task<void> {
        auto const until =
            i % 3 == 0 ? rubato::never : steady_clock::now() + std::chrono::microseconds(i % 50);
        std::errc const got = co_await rubato::readable(e.get(), until);
        if (got == std::errc() || got == std::errc::timed_out || got == std::errc::operation_canceled)
          ++ended;
      };
      s.spawn(reader);
      if (i % 2 == 0) co_await rubato::yield();
      std::uint64_t const n = 1;
      if (i % 5 == 0)
        rubato::forget(e.get());
      else if (i % 5 == 1)
        s.request_stop();
      if (i % 5 != 1 && ::write(e.get(), &n, sizeof n) < 0) std::abort();
      co_await s.join();
    });
    rubato::forget(e.get());
    bool const may_not_have_begun = i % 5 == 1;
    co_return may_not_have_begun ? 1 : ended;
  };
  for (std::size_t i = 0; i < rounds; i += 4) {
    auto a = pool.spawn(one(i)), b = pool.spawn(one(i + 1)), c = pool.spawn(one(i + 2)),
         d = pool.spawn(one(i + 3));
    EXPECT_EQ(a.get() + b.get() + c.get() + d.get(), 4);
  }
}

TEST_P(readiness, ends_in_a_pool_that_drains) {
  ends const p = make_pipe();
  auto f = pool.spawn(rubato::readable(p.a.get()));
  pool.shutdown();
  EXPECT_EQ(f.get(), std::errc::operation_canceled);
  rubato::forget(p.a.get());
}

TEST_P(readiness, exited_yields_the_status_of_a_child) {
  auto const child = [](auto body) {
    pid_t const p = ::fork();
    if (p == 0) body();
    return p;
  };
  fd const ends_well = open_pidfd(child([] { ::usleep(2'000), ::_exit(7); }));
  fd const is_killed = open_pidfd(child([] {
    for (;;) ::pause();
  }));
  auto a = pool.spawn(rubato::exited(ends_well.get()));
  auto b = pool.spawn(rubato::exited(is_killed.get()));
  EXPECT_EQ(a.get(), 7);
  ASSERT_EQ(::syscall(SYS_pidfd_send_signal, is_killed.get(), SIGKILL, nullptr, 0), 0);
  EXPECT_EQ(b.get(), 128 + SIGKILL);
  EXPECT_THROW(static_cast<void>(pool.block_on(rubato::exited(ends_well.get()))), std::system_error);
  rubato::forget(ends_well.get());
  rubato::forget(is_killed.get());
}

/// The number of a descriptor is used anew while a task is suspended that was told of the old one.
class reused_number : public on_workers {
protected:
  /// Closes both ends, and makes a pipe whose reading end has the number of the old one.
  static ends use_anew(ends old) {
    int const number = old.a.get();
    rubato::forget(number);
    old.a.close();
    ends made = make_pipe();
    EXPECT_EQ(made.a.get(), number);
    return made;
  }
};
RUBATO_TEST_WITH_WORKERS(reused_number, counts_alone);

TEST_P(reused_number, regression_forget_ends_a_wait_with_its_event) {
  ends p = make_pipe();
  auto told = pool.spawn(rubato::readable(p.a.get()));
  auto const meanwhile = [&]() -> rubato::task<ends> {
    co_await until_awaited(p.a.get());
    rubato_test::put(p.b, "x");
    while (rubato_test::is_awaited(p.a.get()))
      std::this_thread::yield(); // until the event has been delivered
    co_return use_anew(std::move(p));
  };
  ends const next = pool.spawn(meanwhile).get();
  EXPECT_EQ(told.get(), std::errc::operation_canceled);
  EXPECT_EQ(pool.block_on(rubato::readable(next.a.get(), 0s)), std::errc::timed_out);
  rubato::forget(next.a.get());
}

TEST_P(reused_number, regression_forget_ends_a_wait_beside_others) {
  constexpr int turns = 64; // one of so many calls lets others run
  for (int before = 0; before != turns; ++before) {
    ends p = make_pipe(), next;
    rubato_test::put(p.b, "x");
    bool forgotten = false;
    auto const waits = [&]() -> rubato::task<std::errc> {
      rubato::event set;
      set.set();
      pool.enqueue([&] {
        forgotten = true;
        next = use_anew(std::move(p));
      });
      for (int i = 0; i != before; ++i) co_await set.wait();
      if (forgotten) co_return std::errc();
      int const number = p.a.get();
      co_return co_await rubato::readable(number);
    };
    auto f = pool.spawn(waits);
    std::errc const e = f.get();
    ASSERT_TRUE(e == std::errc() || e == std::errc::operation_canceled) << before;
    pool.wait_idle();
    rubato::forget(next.a.get());
  }
}

TEST_P(readiness, regression_of_library_sockets_includes_urgent_data) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  auto c = rubato_test::connect_tcp(pool);
  std::array<char, 8> bytes{};
  std::error_code late;
  pool.block_on(c.server.read_some(bytes, 1ms, late)); // from now on it is registered for edges
  EXPECT_EQ(late, std::errc::timed_out);
  ASSERT_EQ(::send(c.client.native_handle(), "!", 1, MSG_OOB), 1);
  EXPECT_EQ(pool.block_on(rubato::readable(c.server.native_handle(), 1h)), std::errc());
}

} // namespace
