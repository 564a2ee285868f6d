// The program `tail` reads from two replicas of the program `savegame`.
#include "examples/savegame.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;

class tail_replicas : public testing::Test {
protected:
  std::optional<redis_server> redis_[2];
  std::optional<savegame_server> servers_[2];

  void SetUp() override {
    if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
    if (!redis_server::is_installed())
      GTEST_SKIP() << "redis-server is not installed: scripts/setup savegame";
    const std::string time = std::to_string(patience.count());
    for (int i = 0; i != 2; ++i) {
      redis_[i].emplace();
      servers_[i].emplace(*redis_[i], std::vector<std::string>{"--workers", "1", "--deadline", time,
                                                               "--client-deadline", time});
      EXPECT_EQ(servers_[i]->ask("PUT", "/save/ada", "level=3\n").status, 200);
    }
  }
  outcome read(std::vector<std::string> strategies, const std::string& user = "ada") const {
    std::vector<std::string> command{TAIL_PROGRAM, "--calls", "40", "--workers", "2", "--user", user};
    for (const auto& server : servers_) {
      command.emplace_back("--replica");
      command.push_back("127.0.0.1:" + std::to_string(server->port()));
    }
    for (auto& strategy : strategies) {
      command.emplace_back("-s");
      command.push_back(std::move(strategy));
    }
    return run(std::move(command));
  }
};

TEST_F(tail_replicas, read_the_same_save_by_every_strategy) {
  const outcome end = read({"single", "race:2", "hedge:2", "after:100", "adaptive:0.5:1"});
  EXPECT_EQ(end.status, 0) << end.err;
  for (const char* name : {"single", "race:2", "hedge:2", "after:100", "adaptive:0.5:1"})
    EXPECT_THAT(end.out, HasSubstr(name));
}

TEST_F(tail_replicas, a_hedged_read_needs_one_replica_that_goes_on) {
  servers_[1]->send(SIGSTOP);
  const outcome end = read({"hedge:2", "after:1000", "race:2"});
  servers_[1]->send(SIGCONT);
  EXPECT_EQ(end.status, 0) << end.err;
}

TEST_F(tail_replicas, different_saves_are_noticed) {
  EXPECT_EQ(servers_[1]->ask("PUT", "/save/ada", "level=4\n").status, 200);
  const outcome end = read({"single"});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("different saves"));
}

TEST_F(tail_replicas, an_answer_without_a_save_is_told) {
  const outcome end = read({"hedge:2"}, "nemo");
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("404"));
}

} // namespace
