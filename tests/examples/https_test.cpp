// The program `https`: what it fetches, what it refuses, and how it ends.
#include "examples/child.hpp"
#include "examples/temporary_tree.hpp"
#include "examples/tls_server.hpp"
#include "support/loopback.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <future>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;

std::string header(std::size_t size) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n";
}

class https_client : public testing::Test {
protected:
  temporary_tree tree;
  certificate mine{"localhost"};
  std::string trusted = tree.path("ca.pem");

  void SetUp() override {
    if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
    mine.write(trusted);
  }
  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> all{HTTPS_PROGRAM, "--ca", trusted};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  outcome fetch(const std::vector<std::string>& more) const { return run(command(more)); }
};

TEST_F(https_client, fetches_a_page_as_a_browser_would) {
  std::string request;
  const tls_server server(mine, [&](const served& client) {
    request = client.request();
    client.say(header(5) + "hello");
    client.say_goodbye();
  });
  const outcome end = fetch({server.url("/a?b=c")});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("200  5 bytes"));
  EXPECT_THAT(request, HasSubstr("GET /a?b=c HTTP/1.1\r\nHost: localhost:"));
}

TEST_F(https_client, takes_bodies_of_many_records_in_pieces) {
  const tls_server server(mine, [](const served& client) {
    static_cast<void>(client.request());
    client.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i != 20; ++i) client.say("10000\r\n" + std::string(0x10000, 'x') + "\r\n");
    client.say("0\r\n\r\n");
    client.say_goodbye();
  });
  const outcome end = fetch({server.url("/")});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("200  1310720 bytes"));
}

TEST_F(https_client, fetches_many_urls_and_tells_of_each) {
  const tls_server server(mine, [](const served& client) {
    const bool there = client.request().find("GET /there") == 0;
    client.say(there ? header(2) + "ok" : "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    client.say_goodbye();
  });
  std::vector<std::string> urls(20, server.url("/there"));
  urls.push_back(server.url("/nowhere"));
  const outcome end = fetch(urls);
  EXPECT_EQ(end.status, 1);
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(end.out, HasSubstr("404  0 bytes"));
  std::size_t lines = 0;
  for (const char c : end.out) lines += c == '\n' ? 1U : 0U;
  EXPECT_EQ(lines, 21U);
}

TEST_F(https_client, trusts_no_stranger_and_no_other_name) {
  const auto answer = [](const served& client) {
    static_cast<void>(client.request());
    client.say(header(0));
  };
  const certificate other("localhost");
  const tls_server stranger(other, answer);
  const outcome unknown = fetch({stranger.url("/")});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("the certificate is refused"));
  const tls_server server(mine, answer);
  const outcome misnamed = fetch({server.url("/", "127.0.0.1")});
  EXPECT_EQ(misnamed.status, 1);
  EXPECT_THAT(misnamed.err, HasSubstr("the certificate is refused"));
}

TEST_F(https_client, takes_no_truncated_answer_for_a_whole_one) {
  const tls_server server(mine, [](const served& client) {
    static_cast<void>(client.request());
    client.say("HTTP/1.1 200 OK\r\n\r\nup to the end"); // its length is unknown, and no goodbye follows
  });
  const outcome end = fetch({server.url("/")});
  EXPECT_EQ(end.status, 1);
  EXPECT_EQ(end.out, "");
  EXPECT_NE(end.err, "");
}

TEST_F(https_client, refuses_what_is_no_http_or_too_large) {
  const tls_server server(mine, [](const served& client) {
    const bool garbage = client.request().find("GET /garbage") == 0;
    client.say(garbage ? std::string("what?\r\n\r\n") : header(2 << 20) + std::string(2 << 20, 'x'));
    client.say_goodbye();
  });
  EXPECT_THAT(fetch({server.url("/garbage")}).err, HasSubstr("the answer is no HTTP"));
  EXPECT_THAT(fetch({"--most", "1", server.url("/large")}).err, HasSubstr("larger than 1048576 bytes"));
}

TEST_F(https_client, ends_at_its_deadline_and_at_a_signal) {
  std::promise<void> asked;
  const tls_server server(mine, [&](const served& client) {
    if (client.request().find("GET /waits") == 0) asked.set_value();
    client.wait_for_the_end(); // says nothing
  });
  const outcome late = fetch({"--timeout", "1", server.url("/")});
  EXPECT_EQ(late.status, 1);
  EXPECT_NE(late.err, "");
  child waiting(command({"--timeout", "3600", server.url("/waits")}), {});
  asked.get_future().wait();
  waiting.send(SIGINT);
  EXPECT_EQ(waiting.wait().status, 128 + SIGINT);
}

TEST_F(https_client, says_what_is_wrong_with_its_arguments) {
  EXPECT_THAT(fetch({"http://localhost/"}).err, HasSubstr("not a URL such as"));
  EXPECT_THAT(fetch({"https://"}).err, HasSubstr("not a URL such as"));
  EXPECT_NE(run({HTTPS_PROGRAM}).status, 0);
  tree.write("empty.pem", "");
  EXPECT_THAT(run({HTTPS_PROGRAM, "--ca", tree.path("empty.pem"), "https://localhost/"}).err,
              HasSubstr("no certificates in"));
}

} // namespace
