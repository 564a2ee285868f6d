// The sweep: every operation with the n-th allocation failing, for each n: once, and from then on. It throws
// std::bad_alloc, or does what it always does. It never ends the program, hangs, or leaves something behind
// in its pool.
#pragma once

#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include "memory/failing.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace rubato_test {

/// Without memory for a message.
struct wrong : std::exception {
  [[nodiscard]] char const* what() const noexcept override { return "a wrong result"; }
};
inline void require(bool b) {
  if (!b) throw wrong();
}

/// For what refers to local variables: they outlive it, also if a wait found no memory.
class idle_at_end {
  rubato::pool& in_;

public:
  explicit idle_at_end(rubato::pool& p)
      : in_(p) {}
  idle_at_end(idle_at_end const&) = delete;
  idle_at_end& operator=(idle_at_end const&) = delete;
  ~idle_at_end() {
    failing_allocation::end();
    static_cast<void>(in_.wait_idle());
  }
};

struct operation {
  std::string_view name;
  std::function<void(rubato::pool&)> run;
  bool needs_workers = false;
};

class failing_sweep : public testing::TestWithParam<unsigned> {
  hang_guard guard_;
  std::mutex changes_;
  std::string wrong_; ///< what the pool's on_unhandled got, other than bad_alloc

  void note(std::exception_ptr const& e) {
    try {
      std::rethrow_exception(e);
    } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): as it should be
    } catch (std::exception const& other) {
      std::lock_guard const guard(changes_);
      wrong_ = other.what();
    }
  }

  /// True: it has met the failure.
  bool try_with_failure(rubato::pool& p, operation const& op, std::int64_t n, bool once) {
    std::string thrown;
    bool met = false;
    {
      failing_allocation const failing(n, once);
      std::exception_ptr caught;
      try {
        op.run(p);
      } catch (...) {
        caught = std::current_exception();
      }
      met = failing_allocation::has_failed();
      failing_allocation::end();
      if (caught) note(caught);
    }
    EXPECT_TRUE(p.wait_idle());
    std::lock_guard const guard(changes_);
    EXPECT_EQ(wrong_, "") << op.name << ", call " << n << (once ? ", once" : ", from then on");
    wrong_.clear();
    return met;
  }

protected:
  void sweep(std::vector<operation> const& all) {
    auto const most = static_cast<std::int64_t>(sized(60));
    for (operation const& op : all) {
      if (op.needs_workers && GetParam() == 0) continue;
      SCOPED_TRACE(op.name);
      rubato::pool p(with_workers(GetParam()).on_unhandled([this](std::exception_ptr const& e) { note(e); }));
      op.run(p); // reads the topology, starts the reactor: those have tests of their own
      for (bool const once : {true, false})
        for (std::int64_t n = 1; n <= most && try_with_failure(p, op, n, once);) ++n;
      op.run(p); // nothing is left behind
    }
  }
};
} // namespace rubato_test
