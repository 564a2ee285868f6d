// Runs a small concurrent test under every schedule that the bounds allow, or under many random ones.
// docs/design/explorer.md
#pragma once

#include "explore/failure.hpp"
#include "explore/sites.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace rubato_test {

struct options {
  /// How often a schedule may leave a thread that could go on. To leave one that sleeps, spins or has ended
  /// is free.
  unsigned preemptions = 2;
  /// How often an execution may read an older write than the newest, or place a write before newer ones.
  unsigned stale = 3;
  /// How often a weak compare or a sleep may end for no reason.
  unsigned spurious = 1;
  /// How many writes of a location are kept for loads that read old ones.
  unsigned history = 8;
  /// More steps than this are taken for a livelock.
  unsigned max_steps = 5'000;
  std::uint64_t max_executions = 1'000'000;
  /// If not 0: so many random schedules, without a bound on preemptions, instead of all in order.
  std::uint64_t random = 0;
  std::uint64_t seed = 1;
  /// A schedule, as a failure prints it: that one alone. The variable EXPLORE_REPLAY of the environment does
  /// the same to every run.
  std::string replay{};
  std::optional<weakening> weaken{};
  /// If not empty: unnoticed_weakenings() tries only places in files whose names end like this.
  std::string weaken_in{};
};

struct result {
  bool ok = true;
  verdict what = verdict::ok;
  std::string message; ///< what went wrong, the schedule, and step by step what happened
  std::string schedule;
  std::uint64_t executions = 0;
  bool exhausted = false;  ///< every schedule within the bounds has been run
  std::vector<site> sites; ///< where the code under test accesses shared memory
};

/// What a test makes of one execution: it prepares its state, names the threads, and what holds at the end.
class execution {
  friend class scheduler;
  std::vector<std::function<void()>> threads_;
  std::vector<std::function<void()>> finals_;

public:
  void thread(std::function<void()> body) { threads_.push_back(std::move(body)); }
  /// Runs after all threads have ended.
  void finally(std::function<void()> body) { finals_.push_back(std::move(body)); }
};

using test = std::function<void(execution&)>;

/// A test, and the name that a failure shows; without one it shows the place in the list.
struct named_test {
  std::string name;
  test body;

  named_test(char const* n, test b)
      : name(n)
      , body(std::move(b)) {}
  template<std::invocable<execution&> F>
  named_test(F f) // NOLINT(google-explicit-constructor): a list of tests is a list of functions
      : body(std::move(f)) {}
};
using tests = std::vector<named_test>;

/// Runs the test again and again; it must behave the same whenever the decisions are the same.
result run(options const& o, test const& t);

/// Runs the tests once for each way to weaken one access by one step, and returns those that no test notices:
/// first `random` random schedules of each test, then all within the bounds. A line of the result names the
/// place, the change and the source text.
std::vector<std::string> unnoticed_weakenings(options const& o, tests const& all,
                                              std::uint64_t random = 2'000);

// As GoogleTest expectations

/// No test fails: neither in the schedules in order, at most `max_executions`, nor in `random` random ones.
void expect_all_pass(options const& o, tests const& all);
/// Every test fails: in one of `random` random schedules, or else in one of those in order. `how`: and like
/// that.
void expect_all_fail(tests const& faulty, std::optional<verdict> how = {},
                     options const& o = {.max_executions = 100'000, .random = 50'000});
/// Every weakening is noticed, but for those of which a line contains one of `allowed`; and each of `allowed`
/// is needed.
void expect_every_weakening_fails(options const& o, tests const& all,
                                  std::vector<std::string> const& allowed = {});

void check(bool condition, char const* text, std::source_location where = std::source_location::current());

/// An object whose end counts: a touch of its atomics or plain data afterwards fails, even if they have
/// no destructor, and no other object gets its memory. For what would lie in a stack frame.
template<class T>
class frame;

void* lend_frame(std::size_t size, std::align_val_t alignment);
void bury_frame(void const* address, std::size_t size);

template<class T>
class frame {
  T* object_;

public:
  template<class... Args>
  explicit frame(Args&&... args)
      : object_(new(lend_frame(sizeof(T), std::align_val_t{alignof(T)})) T(std::forward<Args>(args)...)) {}
  frame(frame const&) = delete;
  frame& operator=(frame const&) = delete;
  ~frame() {
    std::destroy_at(object_);
    bury_frame(object_, sizeof(T));
  }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  T* get() const noexcept { return object_; }
};

} // namespace rubato_test

#define EXPLORE_ASSERT(condition) ::rubato_test::check(static_cast<bool>(condition), #condition)
