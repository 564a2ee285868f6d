// A real-time thread that waits for a callback of lower priority, on the same CPU, lets it return.
#include <rubato/pool.hpp>
#include <rubato/routine.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "support/hang_guard.hpp"
#include "support/real_time.hpp"
#include "support/waiting.hpp"

namespace {

class real_time : public rubato_test::on_one_cpu {};

TEST_F(real_time, regression_a_destructor_waits_asleep_for_callbacks) {
  rubato_test::hang_guard const guard;
  std::unique_ptr<rubato::pool> pool;
  ordinary([&] { // whose class its worker gets
    pool = std::make_unique<rubato::pool>(rubato::pool_options().cpus({cpu}));
    pool->run([] {});
  })
      .join();
  run_in_real_time([&] {
    bool well = true;
    for (int i = 0; i != 2'000 && well; ++i) {
      rubato_test::gate ran;
      auto r = std::make_unique<rubato::routine>([&](rubato::routine&) { ran.open(); });
      r->post(*pool);
      ASSERT_TRUE(ran.wait());
      well = rubato_test::waits_asleep(
          [&] { r.reset(); }); // this thread has interrupted the worker in the callback
    }
  });
}

} // namespace
