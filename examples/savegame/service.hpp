// What the server does with a connection: reads requests, serves them, and writes the answers.
#pragma once

#include "failure.hpp"
#include "http.hpp"
#include "idle_connections.hpp"
#include "options.hpp"
#include "saves.hpp"
#include "schedulers.hpp"
#include "statistics.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

namespace savegame {

template<class S>
class service {
  template<class T>
  using task = typename S::template task<T>;
  using socket = typename S::socket;

  const options& limits_;
  saves<S> saves_{limits_};
  statistics counts_;
  idle_connections<socket> idle_;

  static time_point after(std::chrono::milliseconds d) { return std::chrono::steady_clock::now() + d; }

  /// The name in "/save/NAME".
  static std::string user_of(const request& r) {
    constexpr std::string_view prefix = "/save/";
    const std::string_view target = r.target;
    if (!target.starts_with(prefix)) throw failure(404, "there are /save/USER and /stats");
    const auto name = target.substr(prefix.size());
    if (!is_user_name(name)) throw failure(400, "a user has 1 to 64 letters, digits, - and _");
    return std::string(name);
  }

  /// The body of the answer 200.
  task<std::string> serve(const request& r) {
    const bool put = r.method == "PUT";
    if (!put && r.method != "GET") throw failure(405, "there are GET and PUT");
    if (!put && r.target == "/stats") co_return counts_.text();
    const std::string user = user_of(r);
    if (put) {
      const auto revision = co_await saves_.save(user, r.body, after(limits_.deadline));
      ++counts_.saves;
      co_return "revision=" + std::to_string(revision) + "\n";
    }
    std::string text = co_await saves_.load(user, after(limits_.deadline));
    if (text.empty()) throw failure(404, "there is no save of this user");
    ++counts_.loads;
    co_return text;
  }

  /// Serves a request, come what may, and makes the answer.
  task<std::string> answer_to(const request& r, bool keep_alive) {
    int status = 500;
    std::string text;
    try {
      text = co_await serve(r);
      status = 200;
    } catch (const failure& f) {
      status = f.status();
      text = std::string(f.what()) + "\n";
    } catch (const rubato::cancelled&) {
      status = 503;
      text = "the server ends\n";
    } catch (const std::exception& e) {
      text = std::string(e.what()) + "\n";
    }
    counts_.count_answer(status);
    co_return answer(status, text, keep_alive);
  }

  /// True: all was sent.
  task<bool> send(const socket& client, const std::string& bytes) {
    std::error_code error;
    co_await client.write_all(bytes, after(limits_.client_deadline), error);
    if (error) ++counts_.abandoned;
    co_return !error;
  }

  /// Refuses what cannot be understood. The client may still be sending: closed now, the connection would be
  /// reset, and the client might not see the answer.
  task<void> refuse(socket& client, int status) {
    counts_.count_answer(status);
    const char* const text = status == 408   ? "the request did not come in time\n"
                             : status == 503 ? "there are too many connections\n"
                                             : "this is no request, or too large\n";
    const std::string bytes = answer(status, text, false);
    const bool sent = co_await send(client, bytes);
    std::error_code error;
    if (sent) co_await client.close_gracefully(after(limits_.client_deadline), error);
  }

  /// Serves the request that begins with these bytes, and those behind it that are there. True: the client
  /// may send another one.
  task<bool> serve_requests(socket& client, std::string_view first) {
    request_parser parser(limits_.largest_body);
    std::string bytes(first);
    auto deadline = after(limits_.client_deadline);
    for (;;) {
      bytes.erase(0, parser.feed(bytes));
      if (parser.error() != 0) {
        co_await refuse(client, parser.error());
        co_return false;
      }
      if (parser.complete()) {
        const request r = parser.take();
        const bool keep_alive = r.keep_alive && !idle_.closing();
        const std::string text = co_await answer_to(r, keep_alive);
        const bool sent = co_await send(client, text);
        if (!sent || !keep_alive) co_return false;
        if (bytes.empty()) co_return true;
        deadline = after(limits_.client_deadline);
        continue;
      }
      if (parser.must_say_continue()) {
        const bool sent = co_await send(client, "HTTP/1.1 100 Continue\r\n\r\n");
        if (!sent) co_return false;
      }
      bytes.resize(16 * 1024);
      std::error_code error;
      const std::size_t n = co_await client.read_some(bytes, deadline, error);
      bytes.resize(n);
      if (error == std::errc::timed_out) co_await refuse(client, 408);
      if (error || n == 0) {
        ++counts_.abandoned;
        co_return false;
      }
    }
  }

public:
  explicit service(const options& limits)
      : limits_(limits) {}

  /// Serves a client to the end of its connection. Throws nothing. An idle connection has this frame and
  /// the socket's, and no other memory.
  task<void> serve(socket client) {
    ++counts_.accepted;
    const bool too_many = ++counts_.connections > limits_.connections;
    try {
      if (too_many) co_await refuse(client, 503);
      std::array<char, 256> first;
      for (bool open = !too_many; open;) {
        std::error_code error;
        std::size_t n = 0;
        {
          const typename idle_connections<socket>::listing idle(idle_, client);
          n = co_await client.read_some(first, after(limits_.idle), error);
        }
        open = !error && n != 0;
        if (open) open = co_await serve_requests(client, std::string_view(first.data(), n));
      }
    } catch (const std::exception& e) { // there is no memory
      std::fprintf(stderr, "savegame: a connection was dropped: %s\n", e.what());
    }
    --counts_.connections;
  }

  /// From any thread: no further requests. Those that are under way are served.
  void close() { idle_.close(); }
};

} // namespace savegame
