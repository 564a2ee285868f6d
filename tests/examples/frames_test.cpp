// The program `frames`: a game goes the same way with any number of workers. No test looks at a time.
#include "examples/child.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

outcome play(const std::vector<std::string>& options) {
  std::vector<std::string> command{FRAMES_PROGRAM};
  command.insert(command.end(), options.begin(), options.end());
  return run(command);
}

std::string state_after(const std::string& workers, const std::string& frames) {
  const outcome end = play({"--workers", workers, "--frames", frames, "--entities", "800", "--rate", "0"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, StartsWith("800 entities, " + workers + " workers, " + frames + " frames\n"));
  const auto at = end.out.find("state  ");
  return at == std::string::npos ? end.out : end.out.substr(at);
}

TEST(frames_example, goes_the_same_way_with_any_number_of_workers) {
  const std::string state = state_after("0", "50");
  for (const char* workers : {"1", "2", "7"}) EXPECT_EQ(state_after(workers, "50"), state) << workers;
  EXPECT_NE(state_after("1", "51"), state);
}

TEST(frames_example, keeps_the_rate_and_counts_late_frames) {
  const outcome end = play({"--frames", "20", "--rate", "500", "--entities", "100"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("frame  p50 "));
  EXPECT_THAT(end.out, HasSubstr(", at 500 Hz\n"));
}

TEST(frames_example, prints_the_graph_of_its_systems) {
  const outcome end = play({"--dot"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, StartsWith("digraph"));
  for (const char* name : {"input", "ai", "physics", "collisions", "animation", "render"})
    EXPECT_THAT(end.out, HasSubstr(name));
  EXPECT_THAT(end.out, Not(HasSubstr("state")));
}

TEST(frames_example, plays_no_frame_and_refuses_nonsense) {
  EXPECT_EQ(play({"--frames", "0"}).status, 0);
  EXPECT_NE(play({"--entities", "0"}).status, 0);
  EXPECT_NE(play({"--workers", "many"}).status, 0);
}

} // namespace
