// The page of a live view: what it answers, and to which requests it does not.
#include <rubato/live.hpp>
#include <rubato/pool.hpp>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "support/scale.hpp"
#include "trace/reader/live/web/live_json.hpp"
#include "trace/reader/live/web/page.hpp"
#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

sockaddr_in address_of(std::uint32_t host, unsigned port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(host);
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  return a;
}

unsigned free_port() {
  int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a = address_of(INADDR_LOOPBACK, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
  socklen_t size = sizeof a;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size), 0);
  ::close(fd);
  return ntohs(a.sin_port);
}

/// -1: refused.
int connect_to(std::uint32_t host, unsigned port) {
  int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in const a = address_of(host, port);
  if (::connect(fd, reinterpret_cast<sockaddr const*>(&a), sizeof a) == 0) return fd;
  ::close(fd);
  return -1;
}

std::string received_from(int fd) {
  std::string all;
  std::array<char, 4'096> buffer{};
  for (ssize_t n = 0; (n = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(fd);
  return all;
}

class live_page : public testing::Test {
protected:
  unsigned const port = free_port();
  rubato::live_view const view{{.port = port}};
  std::string const host = "127.0.0.1:" + std::to_string(port);

  [[nodiscard]] std::string path() const { return view.url().substr(("http://" + host).size()); }
  [[nodiscard]] std::string ask(std::string const& text) const {
    int const fd = connect_to(INADDR_LOOPBACK, port);
    EXPECT_GE(fd, 0);
    EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    return received_from(fd);
  }
  [[nodiscard]] std::string get(std::string const& what, std::string const& of_host) const {
    return ask("GET " + what + " HTTP/1.1\r\nHost: " + of_host + "\r\n\r\n");
  }
};

TEST_F(live_page, answers_with_the_page_and_its_state) {
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  pool.spawn([] {}).get();
  std::string const page = get(path(), host);
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("Access-Control")));
  EXPECT_THAT(page, EndsWith("</html>\n"));
  std::string state;
  do state = get(path() + "state", "localhost:" + std::to_string(port));
  while (state.find("engine/0") == state.npos); // hangs if it never comes
  EXPECT_THAT(state, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(state, HasSubstr("application/json"));
  EXPECT_THAT(state, HasSubstr("\"state\":\""));
}

TEST_F(live_page, is_drawn_by_a_browser) {
  if (std::system("chromium --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "there is no chromium to draw the page";
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  pool.spawn([] {}).get();
  std::string state;
  do state = get(path() + "state", host);
  while (state.find("engine/0") == state.npos ||
         state.find("engine/1") == state.npos); // hangs if they never come
  trace_path const files;
  std::string const drawn = files.get() + ".html";
  // Of its time four seconds: it asks for the state again and again.
  std::string const run =
      "HOME=" + files.folder().string() +
      " timeout 100 chromium --headless=new --no-sandbox --disable-gpu --virtual-time-budget=4000"
      " --dump-dom '" +
      view.url() + "' >" + drawn + " 2>/dev/null";
  EXPECT_EQ(std::system(run.c_str()), 0);
  std::ifstream file(drawn);
  std::string const text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr(">engine/0<"));
  EXPECT_THAT(text, HasSubstr(">engine/1<"));
  EXPECT_THAT(text, HasSubstr("steals/s"));
  EXPECT_THAT(text, Not(HasSubstr("NaN")));
}

TEST_F(live_page, refuses_a_foreign_host) {
  for (std::string const& other : {std::string("evil.example"), "evil.example:" + std::to_string(port),
                                   std::string("127.0.0.1"), host + ".evil.example", std::string()})
    EXPECT_THAT(get(path(), other), StartsWith("HTTP/1.1 403 ")) << other;
  EXPECT_THAT(ask("GET " + path() + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("GET " + path() + " HTTP/1.1\r\nHost: " + host + "\r\nHost: evil\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
}

TEST_F(live_page, refuses_a_request_without_the_secret) {
  std::string wrong = path();
  wrong[1] = wrong[1] == 'a' ? 'b' : 'a';
  for (std::string const& other :
       {std::string("/"), std::string("/state"), wrong, wrong + "state", path() + "x",
        path().substr(0, path().size() - 1), std::string("//"), std::string("x")})
    EXPECT_THAT(get(other, host), StartsWith("HTTP/1.1 404 ")) << other;
}

TEST_F(live_page, refuses_what_is_no_get) {
  for (char const* const method : {"POST", "PUT", "HEAD", "OPTIONS", "get"})
    EXPECT_THAT(ask(std::string(method) + ' ' + path() + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"),
                StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
}

TEST_F(live_page, refuses_a_head_that_is_too_large) {
  std::string const head = "GET " + path() + " HTTP/1.1\r\nHost: " + host + "\r\nX: ";
  EXPECT_THAT(ask(head + std::string(4'096, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(ask(head + std::string(20'000, 'x')), StartsWith("HTTP/1.1 431 "));
}

// The listener stays readable: the thread of the view tried to accept again and again.
TEST_F(live_page, regression_rests_while_no_descriptor_is_free) {
  if (under_ubsan) GTEST_SKIP() << "a check of UndefinedBehaviorSanitizer needs a free descriptor";
  int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(fd) + 1; // those below are in use
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  sockaddr_in const a = address_of(INADDR_LOOPBACK, port);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr const*>(&a), sizeof a), 0); // the kernel accepts it
  std::clock_t const used = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_LT(std::clock() - used, CLOCKS_PER_SEC * 3 / 10);
  ::setrlimit(RLIMIT_NOFILE, &before);
  std::string const text = "GET " + path() + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  EXPECT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  EXPECT_THAT(received_from(fd), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(live_page, is_not_served_beyond_loopback) {
  int const fd = connect_to(INADDR_LOOPBACK, port);
  EXPECT_GE(fd, 0);
  ::close(fd);
  std::FILE* const sockets = std::fopen("/proc/net/tcp", "r");
  std::array<char, 512> line{};
  std::size_t listening = 0;
  std::array<char, 16> here{};
  std::snprintf(here.data(), here.size(), ":%04X", port);
  while (sockets != nullptr && std::fgets(line.data(), line.size(), sockets) != nullptr) {
    std::array<char, 32> local{}, remote{}, state{};
    if (std::sscanf(line.data(), " %*d: %31s %31s %31s", local.data(), remote.data(), state.data()) != 3)
      continue;
    if (!std::string_view(local.data()).ends_with(here.data()) || std::string_view(state.data()) != "0A")
      continue;
    ++listening;
    EXPECT_THAT(local.data(), StartsWith("0100007F:"));
  }
  if (sockets != nullptr) std::fclose(sockets);
  EXPECT_EQ(listening, 1U);
  ifaddrs* all = nullptr;
  ASSERT_EQ(::getifaddrs(&all), 0);
  for (ifaddrs const* i = all; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
    std::uint32_t const at = ntohl(reinterpret_cast<sockaddr_in const*>(i->ifa_addr)->sin_addr.s_addr);
    if (at != INADDR_LOOPBACK) {
      EXPECT_EQ(connect_to(at, port), -1);
    }
  }
  ::freeifaddrs(all);
}

TEST_F(live_page, outlives_clients_that_say_nothing) {
  std::vector<int> idle;
  for (int i = 0; i != 10; ++i) idle.push_back(connect_to(INADDR_LOOPBACK, port));
  EXPECT_THAT(get(path(), host), StartsWith("HTTP/1.1 200 "));
  for (int const fd : idle) ::close(fd);
}

TEST_F(live_page, needs_a_port_of_its_own) {
  EXPECT_THROW(rubato::live_view({.port = port}), std::system_error);
  EXPECT_NE(rubato::live_view({.port = free_port()}).url(), view.url());
}

TEST(live_json, escapes_what_names_may_contain) {
  rubato::detail::live_picture p;
  p.threads.push_back(
      {.name = "a\"b\\c\n\x1b<\xff", .what = {}, .in = {}, .waits_for = {}, .history = {0.5}, .rates = {}});
  std::string const text = rubato::detail::json_of(p);
  EXPECT_THAT(text, HasSubstr(R"("name":"a\"b\\c??<?")"));
  EXPECT_THAT(text, HasSubstr(R"("history":[0.500])"));
  EXPECT_THAT(text, HasSubstr(R"("cpu":-1.000)")); // unknown
}

/// As much of a browser as the page's script uses; what it has drawn is printed.
constexpr char const* small_browser = R"js(
const fs = require("fs");
class Node { constructor(name) { this.name = name; this.text = ""; this.children = []; this.attributes = {}; }
  setAttribute(k, v) { this.attributes[k] = v; } append(...c) { this.children.push(...c); }
  replaceChildren(...c) { this.children = c; } set textContent(t) { this.text = t; }
  all() { return this.text + this.children.map(c => c instanceof Node ? c.all() : c).join(" "); } }
const ids = {};
globalThis.document = { getElementById: id => ids[id] = ids[id] || new Node(id), createElement: n => new Node(n),
  createElementNS: (_, n) => new Node(n) };
globalThis.fetch = async () => ({ json: async () => JSON.parse(fs.readFileSync(process.argv[3], "utf8")) });
globalThis.setTimeout = () => {};
(0, eval)(/<script>([^]*)<\/script>/.exec(fs.readFileSync(process.argv[2], "utf8"))[1]);
setImmediate(() => setImmediate(() => console.log(Object.values(ids).map(n => n.all()).join("\n"))));
)js";

TEST(live_json, is_drawn_by_the_page) {
  if (std::system("node --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "there is no node to run the script";
  rubato::detail::live_picture p;
  p.process = 4'711;
  for (char const* const name : {"engine/0", "engine/1"}) {
    rubato::detail::live_thread t;
    t.name = name;
    t.is_worker = true;
    t.state = rubato::detail::live_state::runs;
    t.what = "parse(int)";
    t.history = {0.25, 1};
    t.cpu = name[7] == '0' ? 0.37 : -1;
    p.threads.push_back(t);
  }
  p.threads[1].state = rubato::detail::live_state::waits;
  p.threads[1].waits_for = "engine/0";
  p.steals.push_back({.by = "engine/1", .from = "engine/0", .what = "load()", .ago_ns = 5'000'000});
  p.waits.push_back({.what = "reply()", .reason = "a sleep", .number = 3, .longest_ns = 2'000'000'000});
  trace_path const path;
  std::ofstream(path.get() + ".html") << rubato::detail::live_page;
  std::ofstream(path.get() + ".json") << rubato::detail::json_of(p);
  std::ofstream(path.get() + ".js") << small_browser;
  std::string const base = path.get();
  std::string const run = "node " + base + ".js " + base + ".html " + base + ".json >" + base + ".txt 2>&1";
  EXPECT_EQ(std::system(run.c_str()), 0);
  std::ifstream drawn(base + ".txt");
  std::string const text((std::istreambuf_iterator<char>(drawn)), std::istreambuf_iterator<char>());
  for (char const* const part :
       {"process 4711", "engine/0", "parse(int)", "for engine/0", "engine/1 took from engine/0: load()",
        "5.0 ms ago", "37%", "3 \u00d7 reply(): a sleep"})
    EXPECT_THAT(text, HasSubstr(part));
  // The rate of all steals had the name of the list of steals.
  EXPECT_THAT(text, Not(HasSubstr("NaN")));
}

} // namespace
