// What tests of hedged calls share.
#pragma once

#include <rubato/race.hpp>

#include <gtest/gtest.h>

namespace hedge_test {

inline rubato::race_options unpinned(unsigned n) { return rubato::race_options().runners(n).pin(false); }

/// Calls test(call) for race and for hedge.
template<class F>
void for_both(F const& test) {
  {
    SCOPED_TRACE("race");
    test(rubato::race);
  }
  {
    SCOPED_TRACE("hedge");
    test(rubato::hedge);
  }
}

} // namespace hedge_test
