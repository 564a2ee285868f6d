// What can never finish is reported: who waits for whom.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "pool/process.hpp"
#include "pool/waiting.hpp"

namespace {

using namespace pool_test;

[[noreturn]] void wait_for_oneself() {
  kill_this_process_if_it_hangs();
  rubato::pool pool(rubato::pool_options().workers(2).on_stall([](rubato::stall_report const& report) {
    auto const& all = report.waiters;
    leave(all.size() == 1 && std::string(all[0].waits_in) == "get" && all[0].waits_for == all[0].thread,
          "a thread waits for itself");
  }));
  rubato::shared_future<int> self;
  std::atomic<bool> known{false};
  self = pool.spawn([&] {
               while (!known) std::this_thread::yield();
               return self.get();
             })
             .share();
  known = true;
  gate never;
  never.wait();
  leave(false, "nobody was told");
}

using on_stall_of_a_future = fresh_process;

TEST_F(on_stall_of_a_future, tells_that_a_task_waits_for_itself) {
  EXPECT_EXIT(wait_for_oneself(), testing::ExitedWithCode(0), "a thread waits for itself");
}

} // namespace
