// The program `tail`: what it prints and writes. No test looks at a latency, but for what must hold of each.
#include "examples/child.hpp"
#include "examples/temporary_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

/// By strategy, then by column.
using figures = std::map<std::string, std::map<std::string, double>>;

figures figures_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line, name;
  std::vector<std::string> columns;
  figures all;
  for (bool head = true; std::getline(lines, line); head = false) {
    std::istringstream cells(line);
    std::getline(cells, name, ',');
    std::size_t column = 0;
    for (std::string cell; std::getline(cells, cell, ',');) {
      if (head)
        columns.push_back(cell);
      else
        all[name][columns.at(column++)] = std::stod(cell);
    }
  }
  return all;
}

/// Short calls with many short stalls. CSV of the strategies.
figures measure(std::vector<std::string> more, const std::string& chance = "0.3") {
  const temporary_tree tree;
  std::vector<std::string> command{TAIL_PROGRAM,    "--calls",    "60",  "--compute", "0.05", "--chance",
                                   chance,          "--shortest", "0.5", "--longest", "1",    "--csv",
                                   tree.path("csv")};
  command.insert(command.end(), more.begin(), more.end());
  const outcome end = run(command);
  EXPECT_EQ(end.status, 0) << end.err;
  return figures_of(text_of(tree.path("csv")));
}

void expect_sound(const figures& all, std::size_t strategies) {
  EXPECT_EQ(all.size(), strategies);
  for (const auto& [name, of] : all) {
    EXPECT_EQ(of.at("calls"), 60) << name;
    EXPECT_GE(of.at("copies_per_call"), 1) << name;
    EXPECT_LE(of.at("p50_ms"), of.at("p99_ms")) << name;
    EXPECT_LE(of.at("p99_ms"), of.at("max_ms")) << name;
  }
}

TEST(tail, compares_all_strategies_with_polling_and_silent_stalls) {
  for (const char* workers : {"0", "1", "2", "33"}) {
    expect_sound(measure({"--workers", workers}), 7);
    expect_sound(measure({"--workers", workers, "--blind"}), 7);
  }
}

TEST(tail, a_single_call_takes_at_least_as_long_as_its_stall) {
  const auto all = measure({"-s", "single"}, "1");
  EXPECT_EQ(all.at("single").at("copies_per_call"), 1);
  EXPECT_GE(all.at("single").at("p50_ms"), 0.5);
}

TEST(tail, a_call_that_begins_late_has_waited_since_it_was_due) {
  // Calls take longer than the time between them, so the last one of 60 is late by half a millisecond for
  // each.
  const auto all = measure({"-s", "single", "--every", "0.001"}, "1");
  EXPECT_GE(all.at("single").at("max_ms"), 60 * 0.49);
}

TEST(tail, copies_stay_within_what_was_asked_for) {
  const auto all =
      measure({"-s", "race:3", "-s", "hedge:2", "-s", "after:1000000000", "-s", "adaptive:0.5:0.1"});
  EXPECT_LE(all.at("race:3").at("copies_per_call"), 3);
  EXPECT_LE(all.at("hedge:2").at("copies_per_call"), 2);
  EXPECT_EQ(all.at("after:1000000000").at("copies_per_call"), 1); // it is never due
  EXPECT_LE(all.at("adaptive:0.5:0.1").at("copies_per_call"), 1.1);
}

TEST(tail, draws_what_it_measures) {
  const temporary_tree tree;
  const outcome end =
      run({TAIL_PROGRAM, "--calls", "30", "--compute", "0.05", "--chance", "0", "-s", "single", "-s",
           "hedge:2", "--svg", tree.path("svg"), "--work-svg", tree.path("work")});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("p99.9"));
  EXPECT_THAT(end.out, HasSubstr("█")); // the histogram
  for (const char* name : {"svg", "work"}) {
    const std::string picture = text_of(tree.path(name));
    EXPECT_THAT(picture, StartsWith("<svg"));
    EXPECT_THAT(picture, EndsWith("</svg>\n"));
    EXPECT_THAT(picture, HasSubstr(">single</text>"));
    EXPECT_THAT(picture, HasSubstr(">hedge:2</text>"));
    EXPECT_THAT(picture, testing::Not(HasSubstr("nan")));
  }
}

TEST(tail, says_what_is_wrong_with_its_arguments) {
  for (const char* strategy :
       {"twice", "race", "race:", "race:x", "after:-1", "adaptive", "adaptive:0.5:0.1:1:1"}) {
    const outcome end = run({TAIL_PROGRAM, "-s", strategy});
    EXPECT_EQ(end.status, 2) << strategy;
    EXPECT_THAT(end.err, HasSubstr(strategy));
  }
  const outcome quantile = run({TAIL_PROGRAM, "-s", "adaptive:95"});
  EXPECT_EQ(quantile.status, 2);
  EXPECT_THAT(quantile.err, HasSubstr("pass 0.95"));
  EXPECT_EQ(run({TAIL_PROGRAM, "--calls", "0"}).status, 2);
  const outcome unwritable = run({TAIL_PROGRAM, "-n", "1", "-s", "single", "--svg", "/nowhere/svg"});
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("/nowhere/svg"));
}

} // namespace
