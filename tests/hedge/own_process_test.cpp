// Hedged calls in a process of their own: where the system refuses to pin, and what a shutdown says.
#include <gtest/gtest.h>

#include "hedge/calls.hpp"
#include "support/own_words.hpp"
#include "support/process.hpp"
#include "support/rendezvous.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace rubato_test;
using rubato::race_options;
using rubato::race_report;

namespace {

/// From now on the system refuses to pin a thread of this process. It still permits longer masks: those of
/// the kernel's own size, with which a pin is undone. False: this system has no such filters.
bool refuse_pins() {
  constexpr unsigned bytes_of_the_kernels_mask = 128;
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_sched_setaffinity},
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args) + sizeof(__u64)}, // the length
      {BPF_JMP | BPF_JGE | BPF_K, 1, 0, bytes_of_the_kernels_mask},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  sock_fprog const program{.len = 6, .filter = filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

/// Without a permission to pin, copies run where the system puts them, and the report says so.
[[noreturn]] void call_where_pins_are_refused() {
  kill_this_process_if_it_hangs();
  if (!refuse_pins()) leave(true, "it ran unpinned: not tested, the system has no filters");
  auto const all_cpus = own_cpus();
  auto const n = static_cast<unsigned>(all_cpus.size());
  rubato::pool pool(2);
  for_both([&](auto const& call) {
    auto const all = std::make_shared<rendezvous>(n);
    race_report report;
    bool const met = call(pool, race_options().runners(n).report(&report),
                          [all, all_cpus] { return all->meet() && own_cpus() == all_cpus; });
    if (!met) leave(false, "a copy was pinned, or did not run");
    if (report.copies.size() != n || !report.winner) leave(false, "copies are missing");
    for (auto const& c : report.copies)
      if (c.pinned || c.cpu < 0) leave(false, "the report says that a copy was pinned");
  });
  if (own_cpus() != all_cpus) leave(false, "the caller has another affinity than before");
  leave(true, "it ran unpinned");
}

/// The thread that ran the first copy pinned does not stay there for the second one, whose pin is refused.
[[noreturn]] void refuse_the_second_pin() {
  kill_this_process_if_it_hangs();
  auto const all_cpus = own_cpus();
  rubato::pool pool(
      rubato::pool_options().workers(rubato::no_workers).spares(1)); // one thread for all copies
  race_report report;
  auto const call_on = [&](int cpu) {
    auto const cpus = rubato::hedge(pool, race_options().runners(1).cpus({cpu}).report(&report), own_cpus);
    static_cast<void>(pool.wait_idle()); // so that the next copy finds the thread idle
    return cpus;
  };
  if (call_on(all_cpus.front()) != std::vector{all_cpus.front()} || !report.copies.at(0).pinned)
    leave(false, "the first copy was not pinned");
  if (!refuse_pins()) leave(true, "it ran unpinned: not tested, the system has no filters");
  if (call_on(all_cpus.back()) != all_cpus || report.copies.at(0).pinned || report.copies.at(0).on_caller)
    leave(false, "the second copy was pinned");
  leave(true, "it ran unpinned");
}

/// A shutdown that waits for a loser says so after a second.
[[noreturn]] void end_with_a_straggler() {
  kill_this_process_if_it_hangs();
  own_words words;
  std::string heard;
  bool counted = false;
  {
    std::atomic<int> next{0};
    milestone stalled;
    gate open;
    rubato::pool pool(rubato::pool_options().workers(1).name("slow"));
    bool const well = rubato::hedge(pool, unpinned(2), [&] {
      if (next.fetch_add(1) == 0) return stalled.wait();
      stalled.reach();
      return open.wait();
    });
    counted = well && pool.stats().stragglers == 1;
    std::jthread const listener([&] {
      heard = words.up_to("ends the waits of tasks"); // its last line
      open.open();
    });
    pool.shutdown();
  }
  leave(counted && says(heard, "pool 'slow' has been ending for") && says(heard, "runs a task"),
        "it said that it waits");
}

using hedge_process = fresh_process;

TEST_F(hedge_process, run_unpinned_where_pins_are_refused) {
  EXPECT_EXIT(call_where_pins_are_refused(), testing::ExitedWithCode(0), "it ran unpinned");
}
TEST_F(hedge_process, regression_do_not_run_where_they_were_pinned) {
  if (own_cpus().size() < 2) GTEST_SKIP() << "there is one CPU";
  EXPECT_EXIT(refuse_the_second_pin(), testing::ExitedWithCode(0), "it ran unpinned");
}
TEST_F(hedge_process, leave_losers_that_a_shutdown_tells_of) {
  EXPECT_EXIT(end_with_a_straggler(), testing::ExitedWithCode(0), "it said that it waits");
}

} // namespace
