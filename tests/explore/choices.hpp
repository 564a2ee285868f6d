// The decisions that make one execution differ from another: which thread goes next, which write a load
// reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace rubato_test {

/// Of one decision: each is one digit of a schedule's text.
inline constexpr unsigned most_options = 36;

/// Where execution after execution asks, in the same order, what to do. The first option is always the plain
/// one (go on with the same thread, read the newest write), so that a path may end where only first options
/// follow.
class choices {
public:
  /// `schedule` is what text() gave: its decisions come first.
  explicit choices(std::string_view schedule = {});

  /// A decision among `count` options. Those from `allowed` on would exceed a bound: they are counted, so
  /// that a schedule means the same under any bounds, but only a given schedule takes them.
  unsigned pick(unsigned count, unsigned allowed);

  /// Something was asked that was not asked the last time: the test is not deterministic.
  [[nodiscard]] bool diverged() const noexcept { return diverged_; }
  /// Whether everything was asked that was asked the last time.
  [[nodiscard]] bool complete() const noexcept { return next_ == path_.size(); }

  /// Starts over with the same decisions.
  void rewind() noexcept { next_ = 0; }
  /// Starts over with the next decisions, depth first; false: all have been made.
  [[nodiscard]] bool advance();
  /// From now on decisions that are not given are drawn at random.
  void seed(std::uint64_t s);
  /// Starts over with the next random decisions.
  void redraw();

  [[nodiscard]] std::string text() const;

private:
  struct decision {
    unsigned taken, count, allowed;
  };
  std::vector<unsigned> given_;
  std::vector<decision> path_;
  std::size_t next_ = 0;
  bool random_ = false;
  bool diverged_ = false;
  std::mt19937_64 generator_;
};

} // namespace rubato_test
