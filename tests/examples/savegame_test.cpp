// The program `savegame`: saves are kept, those of one user take turns, and a signal ends it in order.
#include "examples/savegame.hpp"
#include "support/scale.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(schedulers, savegame, testing::Values("rubato", "updater", "threads"),
                         [](const auto& scheduler) { return scheduler.param; });

TEST_P(savegame, keeps_what_was_saved) {
  EXPECT_EQ(server_->ask("GET", "/save/ada").status, 404);
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "gold=5\nlevel=2\n").body, "revision=1\n");
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "gold=\nplace=the well\n").body, "revision=2\n");
  const answer a = server_->ask("GET", "/save/ada");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body, "level=2\nplace=the well\nrevision=2\n");
  EXPECT_EQ(server_->count("saves"), 2u);
  EXPECT_EQ(redis_->locks(), 0);
}

TEST_P(savegame, keeps_a_megabyte_and_answers_requests_in_a_batch) {
  const std::string large = "text=" + std::string(1'000'000, 'x') + "\n";
  const client c = server_->connect();
  ASSERT_TRUE(c.send(request_text("PUT", "/save/ada", large)));
  EXPECT_EQ(receive_answer(c).status, 200);
  ASSERT_TRUE(c.send(request_text("GET", "/save/ada") + request_text("PUT", "/save/bob", "a=1")));
  EXPECT_EQ(receive_answer(c).body, "revision=1\n" + large);
}

TEST_P(savegame, saves_of_one_user_take_turns) {
  savers clients(*server_, 1);
  EXPECT_TRUE(eventually([&] { return clients.acknowledged() >= 20; }));
  clients.end();
  clients.expect_all_kept(*server_);
  EXPECT_THAT(clients.other_statuses(), testing::IsSubsetOf({503}));
  // Neither of two saves has read what the other was about to replace.
  EXPECT_THAT(server_->ask("GET", "/save/user0").body,
              HasSubstr("revision=" + std::to_string(clients.acknowledged()) + "\n"));
  EXPECT_EQ(redis_->locks(), 0);
}

TEST_P(savegame, ends_at_a_signal_and_loses_nothing) {
  if (rubato_test::under_tsan && GetParam() == "rubato")
    GTEST_SKIP() << "ThreadSanitizer holds the signal back";
  savers clients(*server_, 4);
  const client idle = server_->connect();
  EXPECT_TRUE(eventually([&] { return clients.acknowledged() >= 20; }));
  server_->send(SIGTERM);
  const outcome end = server_->wait();
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(redis_->locks(), 0);
  EXPECT_EQ(idle.receive(), "");
  clients.end();
  start();
  clients.expect_all_kept(*server_);
}

std::vector<std::string> script(const temporary_tree& directory, const std::string& more) {
  return {"/usr/bin/setsid",
          "env",
          "PATH=" + directory.path("programs") + ":" + std::getenv("PATH"),
          "DATA=" + directory.path(),
          "PROGRAM=" SAVEGAME_PROGRAM,
          SAVEGAME_SCRIPT,
          "--port",
          "0",
          more};
}

/// A second start on the same data would undo saves; a request for help has ended the Redis of the first; a
/// closed terminal left Redis behind.
TEST(savegame_script, regression_has_its_data_for_itself) {
  if (!redis_server::is_installed()) GTEST_SKIP() << "redis-server is not installed: scripts/setup savegame";
  const temporary_tree directory;
  const std::string socket = directory.path("socket"), said = directory.path("said");
  directory.write("said", "");
  const int out = ::open(said.c_str(), O_WRONLY | O_CLOEXEC);
  child first(script(directory, "--workers=2"), {.out = out});
  ::close(out);
  // Now the server is there: the signal below must reach it, too.
  ASSERT_TRUE(eventually([&] { return std::filesystem::file_size(said) != 0; }));
  EXPECT_EQ(ask_redis(socket, "PING"), "+PONG");
  const outcome second = run(script(directory, "--workers=2")), help = run(script(directory, "--help"));
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.err, HasSubstr("DATA=folder"));
  EXPECT_EQ(help.status, 0);
  EXPECT_EQ(ask_redis(socket, "PING"), "+PONG");
  ::kill(-first.process(), SIGHUP); // its session's: the script and the server
  EXPECT_NE(first.wait().status, 0);
  EXPECT_EQ(ask_redis(socket, "PING"), "");
}

/// The script passed the signal over, and then started the server, which nothing ended.
TEST(savegame_script, regression_an_early_signal_ends_it) {
  if (!redis_server::is_installed()) GTEST_SKIP() << "redis-server is not installed: scripts/setup savegame";
  const temporary_tree directory;
  directory.write("programs/redis-cli", "#!/bin/sh\n: >" + directory.path("asked") + "\necho LOADING\n");
  ASSERT_EQ(::chmod(directory.path("programs/redis-cli").c_str(), 0755), 0);
  child starting(script(directory, "--workers=2"), {});
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(directory.path("asked")); }));
  ::kill(-starting.process(), SIGHUP);
  EXPECT_NE(starting.wait().status, 0);
  EXPECT_EQ(ask_redis(directory.path("socket"), "PING"), "");
}

} // namespace
