// The program `build`: the order of commands, how many run at once, and that nothing is left after a failure
// or a signal.
#include "examples/child.hpp"
#include "examples/temporary_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;
using testing::StartsWith;

/// A recipe in a folder that its commands find as $PLACE.
class recipe {
  temporary_tree folder_;

public:
  explicit recipe(const std::string& text) { folder_.write("recipe", expanded(text)); }

  std::string path(const std::string& name) const { return folder_.path(name); }
  std::vector<std::string> command(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{BUILD_PROGRAM, path("recipe")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  outcome build(std::vector<std::string> more = {}) const { return run(command(std::move(more))); }

private:
  std::string expanded(std::string text) const {
    const std::string name = "$PLACE";
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), folder_.path());
    return text;
  }
};

void wait_for_file(const std::string& path) {
  while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// The numbers of the processes that commands have written to the file.
bool all_gone(const std::string& path) {
  std::ifstream numbers(path);
  for (pid_t number = 0; numbers >> number;)
    // A process that has ended and was handed to init stays until that reaps it.
    if (std::ifstream state("/proc/" + std::to_string(number) + "/stat"); state) {
      std::string pid, name, letter;
      state >> pid >> name >> letter;
      if (state && letter != "Z" && letter != "X") return false;
    }
  return true;
}

TEST(build_example, runs_each_command_after_those_it_needs) {
  std::ostringstream text;
  constexpr int targets = 200;
  for (int i = 0; i != targets; ++i) {
    text << 't' << i << ':';
    for (int divisor = 2; i > 0 && divisor <= 4; ++divisor) text << " t" << i / divisor;
    text << "\n  echo t" << i << " >>$PLACE/log\n";
  }
  const recipe all(text.str());
  const outcome end = all.build({"-j", "7", "-w", "3"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, StartsWith("200 of 200 targets made in "));

  std::ifstream log(all.path("log"));
  std::map<std::string, int> order;
  int lines = 0;
  for (std::string name; log >> name;) order[name] = ++lines;
  EXPECT_EQ(lines, targets);
  ASSERT_EQ(order.size(), std::size_t{targets});
  for (int i = 1; i != targets; ++i)
    for (int divisor = 2; divisor <= 4; ++divisor)
      EXPECT_LT(order["t" + std::to_string(i / divisor)], order["t" + std::to_string(i)]) << i;
}

TEST(build_example, prints_the_output_of_a_command_in_one_piece) {
  const recipe all("a:\n  echo a1; echo a2 >&2; echo a3\nb:\n  echo b1\n  echo b2\n");
  const outcome end = all.build({"-v", "-j", "2"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("] a\na1\na2\na3\n"));
  EXPECT_THAT(end.out, HasSubstr("] b\nb1\nb2\n"));
}

TEST(build_example, runs_at_most_as_many_commands_at_once_as_told) {
  std::ostringstream text;
  for (int i = 0; i != 30; ++i)
    text << 't' << i
         << ":\n  touch $PLACE/runs.$$; ls $PLACE | grep -c runs >>$PLACE/log; rm $PLACE/runs.$$\n";
  const recipe all(text.str());
  EXPECT_EQ(all.build({"-j", "3"}).status, 0);
  std::ifstream log(all.path("log"));
  int most = 0, lines = 0;
  for (int seen = 0; log >> seen; ++lines) most = std::max(most, seen);
  EXPECT_EQ(lines, 30);
  EXPECT_LE(most, 3);
}

TEST(build_example, stops_everything_at_the_first_failure) {
  const recipe all(
      "slow:\n  echo $$ >>$PLACE/pids; sleep 1000 & echo $! >>$PLACE/pids; touch $PLACE/runs; wait\n"
      "wrong:\n  until test -e $PLACE/runs; do sleep 0.01; done; echo reason; exit 3\n"
      "after: wrong\n  touch $PLACE/after\n");
  const outcome end = all.build({"-j", "2"});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("build: target wrong failed with status 3\nreason\n0 of 3 targets made"));
  EXPECT_FALSE(std::filesystem::exists(all.path("after")));
  EXPECT_TRUE(all_gone(all.path("pids")));
}

TEST(build_example, the_first_failing_line_of_a_target_ends_it) {
  const recipe all("t:\n  false\n  touch $PLACE/later\n");
  EXPECT_EQ(all.build().status, 1);
  EXPECT_FALSE(std::filesystem::exists(all.path("later")));
}

TEST(build_example, a_signal_ends_all_commands) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const recipe all(
        "a:\n  trap 'touch $PLACE/tidied; exit 1' TERM; echo $$ >>$PLACE/pids; touch $PLACE/runs\n"
        "  while :; do sleep 0.01; done\nb: a\n  touch $PLACE/b\n");
    child program(all.command(), {});
    wait_for_file(all.path("runs"));
    program.send(signal);
    const outcome end = program.wait();
    EXPECT_EQ(end.status, 128 + signal) << end.err;
    EXPECT_THAT(end.err, HasSubstr("0 of 2 targets made"));
    EXPECT_TRUE(all_gone(all.path("pids")));
    EXPECT_TRUE(std::filesystem::exists(all.path("tidied"))) << "killed, and not asked before";
    EXPECT_FALSE(std::filesystem::exists(all.path("b")));
  }
}

TEST(build_example, names_the_targets_of_a_circle) {
  const outcome end = recipe("a: b d\nb: c\nc: b\nd:\n").build();
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("targets need each other in a circle: b -> c -> b"));
  EXPECT_THAT(recipe("self: self\n").build().err, HasSubstr("in a circle: self -> self"));
}

TEST(build_example, refuses_a_wrong_recipe_by_its_line) {
  EXPECT_THAT(recipe("  echo\n").build().err, HasSubstr("line 1: a command before the first target"));
  EXPECT_THAT(recipe("a:\n\nb c:\n").build().err, HasSubstr("line 3: a target has one name"));
  EXPECT_THAT(recipe("a:\na:\n").build().err, HasSubstr("line 2: a second target a"));
  EXPECT_THAT(recipe("# what\na: b\n").build().err, HasSubstr("line 2: no target b"));
  EXPECT_THAT(recipe("word\n").build().err, HasSubstr("line 1: neither a target"));
  EXPECT_EQ(run({BUILD_PROGRAM}).status, 2);
  EXPECT_THAT(run({BUILD_PROGRAM, "/nowhere"}).err, HasSubstr("cannot read /nowhere: No such file"));
}

TEST(build_example, makes_nothing_of_an_empty_recipe) {
  EXPECT_THAT(recipe("# nothing\n").build().out, StartsWith("0 of 0 targets made"));
}

} // namespace
