// Runs the programs of README.md, docs/ and the public headers, and compares what they print with what is
// shown.
#include "shown_program.hpp"
#include "support/loopback.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

// How a list of tests shows it.
static void PrintTo(shown_program const& p, std::ostream* to) { // NOLINT(readability-identifier-naming)
  *to << p.name;
}

namespace {

std::vector<shown_program>& programs() {
  static std::vector<shown_program> all;
  return all;
}

class shown : public testing::TestWithParam<shown_program> {};

TEST_P(shown, prints_what_is_shown) {
  std::string const name = GetParam().name;
  if ((name.starts_with("servers") || name == "rubato_socket" || name == "rubato_io") &&
      !rubato_test::has_loopback())
    GTEST_SKIP() << "no loopback interface is up";
  testing::internal::CaptureStdout();
  GetParam().run();
  std::fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), GetParam().output) << GetParam().where;
}

// Asked for in main(), when all sources have added theirs.
INSTANTIATE_TEST_SUITE_P(program, shown, testing::ValuesIn(programs()),
                         [](auto const& of) { return std::string(of.param.name); });

} // namespace

add_shown_program::add_shown_program(shown_program const& p) { programs().push_back(p); }
