// A real-time thread that waits for a step of a thread of lower priority, on the same CPU, lets it run.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/real_time.hpp"
#include "support/waiting.hpp"

namespace {

using rubato_test::gate;
using rubato_test::hang_guard;
using rubato_test::waits_asleep;

constexpr int rounds = 200;

class real_time : public rubato_test::on_one_cpu {
protected:
  rubato::pool_options options() const { return rubato::pool_options().cpus({cpu}); }
};

TEST_F(real_time, regression_the_end_waits_asleep_for_a_last_task) {
  hang_guard const guard;
  run_in_real_time([&] {
    bool well = true;
    for (int i = 0; i != rounds && well; ++i) {
      gate ran;
      std::optional<rubato::pool> pool(options()); // its worker is a real-time thread, too
      std::thread poster = ordinary([&] { pool->enqueue([&] { ran.open(); }); });
      ASSERT_TRUE(ran.wait());
      well = waits_asleep([&] { pool.reset(); }); // the worker has interrupted the poster in enqueue()
      poster.join();
    }
  });
}

TEST_F(real_time, regression_a_cancelled_task_waits_asleep) {
  hang_guard const guard;
  run_in_real_time([&] {
    bool well = true;
    rubato::pool pool(options());
    for (int i = 0; i != rounds && well; ++i) {
      rubato::promise<void> never;
      rubato::future<void> end = never.get_future();
      gate begun;
      auto waiter = pool.spawn([&] {
        begun.open();
        well = waits_asleep([&] { EXPECT_THROW(end.get(), rubato::cancelled); });
      });
      ASSERT_TRUE(begun.wait());
      std::thread canceller = ordinary([&] { waiter.cancel(); }); // the task interrupts it in there
      waiter.wait();
      canceller.join();
    }
  });
}

} // namespace
