#include "os/die.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <gtest/gtest.h>
#include <string>

namespace {

using rubato::os::die;

TEST(die_death_test, says_why_and_aborts) {
  EXPECT_EXIT(die("the reason"), testing::KilledBySignal(SIGABRT), "^rubato: the reason\n");
  EXPECT_DEATH(die(""), "^rubato: \n");
  EXPECT_DEATH(die(std::string_view("the reason why", 10)), "^rubato: the reason\n");
}

TEST(die_death_test, runs_the_terminate_handler) {
  EXPECT_EXIT((std::set_terminate([] { std::_Exit(7); }), die("x")), testing::ExitedWithCode(7),
              "^rubato: x\n$");
}

TEST(die_death_test, even_without_an_error_output) {
  EXPECT_DEATH((std::fclose(stderr), die("unheard")), "");
}

} // namespace
