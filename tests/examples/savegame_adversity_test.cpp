// The program `savegame` among clients and a Redis that fail: no save that was acknowledged is lost, no lock
// is left behind, and clients are told what is wrong.
#include "examples/savegame.hpp"
#include "support/scale.hpp"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rubato_test;

class savegame_adversity : public savegame {
protected:
  /// The server's memory, in KiB.
  std::size_t memory() const {
    std::ifstream status("/proc/" + std::to_string(server_->process()) + "/status");
    for (std::string word; status >> word;)
      if (word == "VmRSS:" && status >> word) return std::stoul(word);
    return 0;
  }
  answer answer_to(std::string_view bytes) const {
    const client c = server_->connect();
    return c.send(bytes) ? receive_answer(c) : answer{};
  }
};
INSTANTIATE_TEST_SUITE_P(schedulers, savegame_adversity, testing::Values("rubato"),
                         [](const auto& scheduler) { return scheduler.param; });

TEST_P(savegame_adversity, says_what_is_wrong_with_a_request) {
  const std::string large(2 << 20, 'x'), name(65, 'n');
  EXPECT_EQ(answer_to("\x16\x03\x01 this is no HTTP\r\n\r\n").status, 400);
  EXPECT_EQ(answer_to("GET\r\n\r\n").status, 400);
  EXPECT_EQ(answer_to("PUT /save/ada HTTP/1.1\r\nContent-Length: many\r\n\r\n").status, 400);
  EXPECT_EQ(answer_to("CONNECT here:80 HTTP/1.1\r\n\r\n").status, 405);
  EXPECT_EQ(answer_to(request_text("GET", "/" + large)).status, 414);
  EXPECT_EQ(answer_to("GET / HTTP/1.1\r\nX: " + large + "\r\n\r\n").status, 431);
  EXPECT_EQ(
      answer_to("PUT /save/ada HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n" + large).status,
      413);
  EXPECT_EQ(server_->ask("PUT", "/save/ada", large).status, 413);
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "no value").status, 400);
  EXPECT_EQ(server_->ask("PUT", "/save/" + name, "a=1").status, 400);
  EXPECT_EQ(server_->ask("PUT", "/save/../ada", "a=1").status, 400);
  EXPECT_EQ(server_->ask("GET", "/elsewhere").status, 404);
  EXPECT_EQ(server_->ask("DELETE", "/save/ada").status, 405);
  EXPECT_EQ(server_->ask("GET", "/save/ada").status, 404); // nothing of all that was saved
  EXPECT_EQ(server_->count("refused"), 14u);
  EXPECT_EQ(redis_->locks(), 0);
}

TEST_P(savegame_adversity, a_profile_has_a_largest_size) {
  for (char key = 'a'; key != 'd'; ++key)
    ASSERT_EQ(
        server_->ask("PUT", "/save/ada", std::string(1, key) + "=" + std::string(1'040'000, 'x')).status,
        200);
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "d=" + std::string(1'048'000, 'x')).status, 200);
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "e=" + std::string(1'048'000, 'x')).status, 413);
  EXPECT_EQ(redis_->locks(), 0);
}

TEST_P(savegame_adversity, a_damaged_profile_is_reported) {
  redis_->ask("SELECT 1\r\nSET profile:ada garbage");
  EXPECT_EQ(server_->ask("GET", "/save/ada").status, 500);
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "a=1").status, 500);
  EXPECT_EQ(redis_->locks(), 0);
}

TEST_P(savegame_adversity, serves_others_beside_clients_that_stop) {
  const std::string put = request_text("PUT", "/save/ada", "a=1");
  std::vector<client> halves;
  for (std::size_t size = 1; size != put.size(); ++size) {
    halves.push_back(server_->connect());
    ASSERT_TRUE(halves.back().send(std::string_view(put).substr(0, size)));
  }
  EXPECT_EQ(server_->ask("PUT", "/save/bob", "a=1").status, 200);
  for (std::size_t i = 0; i != halves.size(); ++i) {
    if (i % 2 == 0) {
      halves[i].reset();
    } else {
      halves[i].end_sending();
      EXPECT_EQ(halves[i].receive(), "");
    }
  }
  EXPECT_TRUE(eventually([&] { return server_->count("connections") == 1; })); // that of the question
  EXPECT_EQ(server_->ask("GET", "/save/ada").status, 404);
}

TEST_P(savegame_adversity, understands_a_request_byte_by_byte) {
  const client c = server_->connect();
  for (const char byte : request_text("PUT", "/save/ada", "a=1"))
    ASSERT_TRUE(c.send(std::string_view(&byte, 1)));
  EXPECT_EQ(receive_answer(c).status, 200);
}

TEST_P(savegame_adversity, tells_a_client_that_is_too_slow) {
  start({"--client-deadline", "1", "--deadline", "60"});
  const client c = server_->connect();
  ASSERT_TRUE(c.send("PUT /save/ada HTTP/1.1\r\n"));
  EXPECT_EQ(receive_answer(c).status, 408);
}

TEST_P(savegame_adversity, lets_go_of_a_client_that_never_reads) {
  ASSERT_EQ(server_->ask("PUT", "/save/ada", "a=" + std::string(1'000'000, 'x')).status, 200);
  start({"--client-deadline", "1", "--deadline", "60"});
  const client c = server_->connect();
  std::string many;
  for (int i = 0; i != 100; ++i) many += request_text("GET", "/save/ada");
  ASSERT_TRUE(c.send(many));
  EXPECT_TRUE(eventually([&] { return server_->count("abandoned") >= 1; }));
  EXPECT_TRUE(eventually([&] { return server_->ask("PUT", "/save/bob", "a=1").status == 200; }));
}

TEST_P(savegame_adversity, refuses_connections_beyond_the_limit) {
  start({"--connections", "2"});
  const client a = server_->connect(), b = server_->connect();
  for (const client* c : {&a, &b}) {
    ASSERT_TRUE(c->send(request_text("PUT", "/save/ada", "a=1")));
    EXPECT_EQ(receive_answer(*c).status, 200);
  }
  const client beyond = server_->connect();
  EXPECT_EQ(receive_answer(beyond).status, 503);
}

TEST_P(savegame_adversity, memory_stays_flat) {
  if (rubato_test::under_asan) GTEST_SKIP() << "AddressSanitizer keeps what was freed";
  const auto save_many = [&] {
    for (int i = 0; i != 100; ++i)
      EXPECT_EQ(server_->ask("PUT", "/save/ada", "a=" + std::string(100'000, static_cast<char>('a' + i % 26)))
                    .status,
                200);
  };
  save_many();
  const std::size_t before = memory();
  save_many();
  save_many();
  EXPECT_LT(memory(), before + 4 * 1024); // 20 MB were saved
}

TEST_P(savegame_adversity, says_that_redis_is_away_and_goes_on_later) {
  ASSERT_EQ(server_->ask("PUT", "/save/ada", "a=1").status, 200);
  redis_->kill();
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "a=2").status, 503);
  EXPECT_EQ(server_->ask("GET", "/save/ada").status, 503);
  EXPECT_EQ(server_->ask("GET", "/stats").status, 200);
  redis_->start();
  EXPECT_EQ(server_->ask("GET", "/save/ada").body, "a=1\nrevision=1\n");
  EXPECT_EQ(server_->ask("PUT", "/save/ada", "a=3").status, 200);
}

TEST_P(savegame_adversity, keeps_acknowledged_data_if_redis_dies) {
  start({"--deadline", "1"}); // and a lock lives for two
  savers clients(*server_, 4);
  for (int round = 1; round <= 3; ++round) {
    const std::size_t before = clients.acknowledged();
    EXPECT_TRUE(eventually([&] { return clients.acknowledged() >= before + 20; })) << "in round " << round;
    redis_->kill();
    EXPECT_TRUE(eventually([&] { return clients.saw(503); }));
    redis_->start();
  }
  const std::size_t before = clients.acknowledged();
  EXPECT_TRUE(eventually([&] { return clients.acknowledged() > before; }));
  clients.end();
  EXPECT_THAT(clients.other_statuses(), testing::IsSubsetOf({503, 504}));
  start(); // whose deadlines do not come
  clients.expect_all_kept(*server_);
  EXPECT_TRUE(eventually([&] { return redis_->locks() == 0; })); // those whose owners could not unlock
}

TEST_P(savegame_adversity, a_writer_without_its_lock_stores_nothing) {
  ASSERT_EQ(server_->ask("PUT", "/save/ada", "a=1").status, 200);
  redis_->ask("SET lock:ada another"); // without an end
  start({"--deadline", "1"});
  // 503: it has seen the lock to the end. 504: its last look came after the deadline.
  EXPECT_THAT(server_->ask("PUT", "/save/ada", "a=2").status, testing::AnyOf(503, 504));
  start();
  EXPECT_EQ(server_->ask("GET", "/save/ada").body, "a=1\nrevision=1\n");
  EXPECT_EQ(redis_->locks(), 1); // that of the other owner
}

} // namespace
