#include "os/die.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <gtest/gtest.h>
#include <string>

namespace {

using rubato::os::die;

TEST(DieDeathTest, SaysWhyAndAborts) {
  EXPECT_EXIT(die("the reason"), testing::KilledBySignal(SIGABRT), "^rubato: the reason\n");
  EXPECT_DEATH(die(""), "^rubato: \n");
  EXPECT_DEATH(die(std::string_view("the reason why", 10)), "^rubato: the reason\n");
}

TEST(DieDeathTest, RunsTheTerminateHandler) {
  EXPECT_EXIT((std::set_terminate([] { std::_Exit(7); }), die("x")), testing::ExitedWithCode(7),
              "^rubato: x\n$");
}

TEST(DieDeathTest, EvenWithoutAnErrorOutput) { EXPECT_DEATH((std::fclose(stderr), die("unheard")), ""); }

} // namespace
