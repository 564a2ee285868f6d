// The gate between a stolen half and its owner under the explorer: the owner asks what is there, or the half
// is skipped, and nothing that has gone is touched.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/stop_gate.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

using explore::execution;
using explore::policy;

/// In the thief's frame.
struct scope {
  policy::plain<int> built{0};
  policy::plain<int> asked{0};
};

/// In the owner's frame.
template<class Gate>
struct stolen {
  Gate gate;
  policy::plain<scope*> at{nullptr};
  policy::atomic<int> done{0};
};

/// As run_stolen() does. Tells whether the half has run, and whether it was asked to stop.
template<class Gate>
struct outcome {
  bool ran = false;
  int asked = 0;

  void run(stolen<Gate>& s) {
    {
      explore::frame<scope> mine;
      mine->built.set(1);
      s.at.set(&*mine);
      if (s.gate.open()) {
        ran = true;
        s.gate.close();
        asked = mine->asked.get();
      }
    }
    s.done.store(1, std::memory_order_release); // the last touch
  }
};

/// As stop_stolen() does.
template<class Gate>
bool ask(stolen<Gate>& s) {
  bool called = false;
  s.gate.call([&] {
    called = true;
    scope& there = *s.at.get();
    EXPLORE_ASSERT(there.built.get() == 1);
    there.asked.set(there.asked.get() + 1);
  });
  return called;
}

/// The owner fails, before, while or after the half runs.
template<class Gate>
void failing(execution& e) {
  auto const thief = std::make_shared<outcome<Gate>>();
  auto const called = std::make_shared<bool>(false);
  auto const frame = std::make_shared<std::unique_ptr<explore::frame<stolen<Gate>>>>(
      std::make_unique<explore::frame<stolen<Gate>>>());
  e.thread([=] {
    stolen<Gate>& s = ***frame;
    *called = ask(s);
    while (s.done.load(std::memory_order_acquire) == 0) policy::pause();
    frame->reset();
  });
  e.thread([=] { thief->run(***frame); });
  e.finally([=] {
    EXPLORE_ASSERT(thief->asked == (*called ? 1 : 0));
    if (*called) EXPLORE_ASSERT(thief->ran);
  });
}

/// The owner has no failure to tell of.
template<class Gate>
void succeeding(execution& e) {
  auto const thief = std::make_shared<outcome<Gate>>();
  auto const s = std::make_shared<stolen<Gate>>();
  e.thread([=] { thief->run(*s); });
  e.finally([=] { EXPLORE_ASSERT(thief->ran && thief->asked == 0); });
}

/// A gate that closes while the owner calls.
class does_not_wait {
  policy::atomic<int> word_{0};

public:
  bool open() {
    int expected = 0;
    return word_.compare_exchange_strong(expected, 1);
  }
  void close() { word_.store(2); }
  template<class F>
  void call(F f) {
    if (int expected = 0; !word_.compare_exchange_strong(expected, 2) && expected == 1) f();
  }
};

using shipped = rubato::detail::basic_stop_gate<policy>;
explore::tests const all{failing<shipped>, succeeding<shipped>};

TEST(stop_gate_protocol, asks_what_is_there) {
  explore::expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(stop_gate_protocol, would_touch_what_has_gone_without_waiting) {
  EXPECT_FALSE(explore::run({}, failing<does_not_wait>).ok);
}
TEST(stop_gate_protocol, needs_every_order) {
  explore::expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "stop_gate.hpp"}, all,
                                        {// For g++ 12, see there.
                                         "[acquire -> relaxed] close: if (word_.compare_exchange_strong"});
}

} // namespace
