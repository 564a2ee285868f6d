// Options of race() and hedge(), and their reports.
//
//   #include <rubato/race.hpp>
//   #include <rubato/race_options.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::race_report report;
//     auto const options = rubato::race_options().runners(2).pin(false).report(&report);
//     int const n = rubato::race(options, [] { return 6; });
//     std::printf("%d by one of %zu copies\n", n, report.copies.size()); // -> 6 by one of 2 copies
//     std::printf("%d\n", report.winner.has_value()); // -> 1
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/deadline.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace rubato {

class hedge_policy;

namespace detail {
class call_copies;
class call_stops; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final
} // namespace detail

/// What became of the copies of one call. It is written before race() or hedge() returns or throws, unless
/// the call throws before a copy could begin: std::invalid_argument, std::bad_alloc, or what copying the
/// callable throws. A loser that still runs afterwards does not write to it.
struct race_report {
  /// What became of a copy.
  enum class outcome : unsigned char {
    withdrawn, ///< it has not begun: the call was decided before, or it was not due
    running,   ///< of a hedge: it had not ended when hedge() returned
    returned,
    threw
  };
  /// One copy.
  struct copy {
    outcome what = outcome::withdrawn; ///< how it ended, or why it did not
    int cpu = -1;                      ///< where it began; -1: it has not begun, or the system does not tell
    bool pinned = false;               ///< false also if the system has refused the pin
    bool queued = false;    ///< it waited in the pool's queue: no thread could be had, or no worker was free
    bool on_caller = false; ///< the first copy: in race(), and in hedge() if no thread could be had for it
    std::chrono::steady_clock::time_point began{}; ///< if it has begun
    std::chrono::steady_clock::time_point ended{}; ///< if it has ended
  };
  unsigned asked = 0;             ///< race_options::runners()
  std::vector<copy> copies;       ///< fewer than `asked` if CPUs are too few; a race's first is the caller's
  std::optional<unsigned> winner; ///< its place in `copies`; empty: the call threw
};

/// The options of a call, a value type. Setters return the object, so they chain. *Unset* is the default of
/// an option.
class race_options {
  friend class detail::call_copies;
  friend class detail::call_stops;
  unsigned runners_ = 2;
  bool pin_ = true, cross_ = true;
  std::vector<int> cpus_;
  std::chrono::nanoseconds after_{0};
  hedge_policy* policy_ = nullptr;
  std::stop_token stop_;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  race_report* report_ = nullptr;

public:
  /// How many copies run, from 1 to 1,024; otherwise the call throws std::invalid_argument. Pinned copies are
  /// at most as many as usable CPUs: with one usable CPU there is one copy. Unset: 2.
  race_options& runners(unsigned n = 2) & { return runners_ = n, *this; }
  race_options&& runners(unsigned n = 2) && { return std::move(runners(n)); }
  /// Each copy runs on a CPU of its own: distinct physical cores first, then their second hardware threads.
  /// The caller's core comes last. The caller of race() stays on its CPU, and its affinity mask is restored
  /// afterwards. If the system refuses a pin, the report says so. Coroutines are never pinned. Unset: true.
  race_options& pin(bool on = true) & { return pin_ = on, *this; }
  race_options&& pin(bool on = true) && { return std::move(pin(on)); }
  /// Pinned copies use the memory nodes in turn, so that a stall of one node does not affect all of them.
  /// False: they use the caller's node first. Unset: true.
  race_options& prefer_cross_numa(bool on = true) & { return cross_ = on, *this; }
  race_options&& prefer_cross_numa(bool on = true) && { return std::move(prefer_cross_numa(on)); }
  /// Copy i is pinned to c[i]; there are at most c.size() copies. In race() the caller is copy 0. If the
  /// pool's threads may not use one of these CPUs, the call throws std::invalid_argument. Ignored if copies
  /// are not pinned. Unset: pin() and prefer_cross_numa() decide.
  race_options& cpus(std::vector<int> c) & { return cpus_ = std::move(c), *this; }
  race_options&& cpus(std::vector<int> c) && { return std::move(cpus(std::move(c))); }
  /// The second copy begins only when the first has run that long, the third after as long again, and so on.
  /// If all copies that have begun have thrown before that, the call fails and the others do not begin.
  /// Unset, or not positive: all begin at once.
  race_options& hedge_after(detail::delay t) & { return after_ = t.in_clock, *this; }
  race_options&& hedge_after(detail::delay t) && { return std::move(hedge_after(t)); }
  /// The policy decides how long the first copy may run before the second begins, and whether the budget
  /// permits the second. While the policy has seen too few calls, hedge_after() applies instead; without
  /// that, one copy runs. race() does not use the policy after its return. For the other calls the policy
  /// must live until the pool is idle, because a timer that fires may still ask it: make it `static`. Unset:
  /// none.
  race_options& policy(hedge_policy& p) & { return policy_ = &p, *this; }
  race_options&& policy(hedge_policy& p) && { return std::move(policy(p)); }
  /// A stop request to this token ends the call: no copy wins any more, and the call throws cancelled. Unset:
  /// none.
  race_options& stop(std::stop_token t) & { return stop_ = std::move(t), *this; }
  race_options&& stop(std::stop_token t) && { return std::move(stop(std::move(t))); }
  /// A copy that returns at this time or later does not win, and the call throws cancelled. Unset: never.
  race_options& deadline(std::chrono::steady_clock::time_point t) & { return deadline_ = t, *this; }
  race_options&& deadline(std::chrono::steady_clock::time_point t) && { return std::move(deadline(t)); }
  /// Where the call reports. Null or unset: nowhere.
  race_options& report(race_report* r) & { return report_ = r, *this; }
  race_options&& report(race_report* r) && { return std::move(report(r)); }
};

} // namespace rubato
