// A server of tests that streams, and tasks that stream with it.
#pragma once

#include "echo_server.hpp"

#include <rubato/grpc_stream.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>

namespace rubato_test {

/// list: the texts "0", "1" and so on, as many as the request says, or without end for "forever"; "first "
/// and "last" for "last".
/// gather: the first ten characters of all texts, one behind the other. talk: each text.
/// A text that is a word of these does what it says, in each of them: "wait" waits for open(), "fail" ends
/// with OUT_OF_RANGE, "throw" throws, "leave" ends with OK.
class stream_server final : public echo_server {
  enum class then { go_on, end };

  static rubato::task<then> obey(stream_server& self, std::string const& text, grpc::Status& s) {
    if (text == "throw") throw std::runtime_error("not for clients");
    if (text == "wait") co_await self.open_.wait();
    if (text == "fail") s = grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "as asked");
    co_return text == "fail" || text == "leave" ? then::end : then::go_on;
  }
  static rubato::task<grpc::Status> write_all(stream_server& self, words const& asked,
                                              rubato::grpc_writer<words>& out) {
    words next;
    grpc::Status s;
    then const t = co_await obey(self, asked.text(), s);
    if (t == then::end) co_return s;
    bool const forever = asked.text() == "forever";
    int const n = forever || asked.text() == "wait" ? 1 : std::stoi(asked.text());
    for (int i = 0; forever || i != n; ++i) {
      next.set_text(std::to_string(i));
      bool const written = co_await out.write(next);
      if (!written) break;
      ++self.written;
    }
    co_return s;
  }
  /// With options that let gRPC hold a message.
  static rubato::task<grpc::Status> write_last(stream_server& self, rubato::grpc_writer<words>& out) {
    words next;
    next.set_text("first ");
    bool const first = co_await out.write(next, grpc::WriteOptions().set_buffer_hint());
    next.set_text("last");
    bool const last = co_await out.write(next, grpc::WriteOptions().set_last_message());
    bool const later = co_await out.write(next);
    self.written += (first ? 1 : 0) + (last ? 1 : 0) + (later ? 1 : 0);
    co_return grpc::Status::OK;
  }
  /// use(message) returns a task<bool>: whether to go on.
  template<class Use>
  static rubato::task<grpc::Status> read_each(stream_server& self, rubato::grpc_reader<words>& in, Use use) {
    words next;
    grpc::Status s;
    for (bool more = co_await in.read(next); more; more = co_await in.read(next)) {
      ++self.read;
      then const t = co_await obey(self, next.text(), s);
      if (t == then::end) break;
      bool const goes_on = co_await use(next);
      if (!goes_on) break;
    }
    co_return s;
  }
  static rubato::task<grpc::Status> read_all(stream_server& self, words* answer,
                                             rubato::grpc_reader<words>& in) {
    return read_each(self, in, [answer](words const& next) -> rubato::task<bool> {
      answer->set_text(answer->text() + next.text().substr(0, 10));
      co_return true;
    });
  }
  static rubato::task<grpc::Status> read_and_write(stream_server& self, rubato::grpc_reader<words>& in,
                                                   rubato::grpc_writer<words>& out) {
    return read_each(self, in, [&self, &out](words const& next) -> rubato::task<bool> {
      bool const written = co_await out.write(next);
      if (written) ++self.written;
      co_return written;
    });
  }
  static rubato::task<grpc::Status> counted(stream_server& self, rubato::task<grpc::Status> t) {
    ++self.begun;
    struct end {
      stream_server& s;
      ~end() { ++s.ended; }
    } const e{self};
    try {
      grpc::Status s = co_await std::move(t);
      co_return s;
    } catch (rubato::cancelled const&) {
      ++self.stopped;
      throw;
    }
  }

  grpc::ServerWriteReactor<words>* list(grpc::CallbackServerContext* context, words const* asked) override {
    return rubato::grpc_handle(pool_, *context, [this, asked](rubato::grpc_writer<words>& out) {
      return counted(*this, asked->text() == "last" ? write_last(*this, out) : write_all(*this, *asked, out));
    });
  }
  grpc::ServerReadReactor<words>* gather(grpc::CallbackServerContext* context, words* answer) override {
    return rubato::grpc_handle(pool_, *context, [this, answer](rubato::grpc_reader<words>& in) {
      return counted(*this, read_all(*this, answer, in));
    });
  }
  grpc::ServerBidiReactor<words, words>* talk(grpc::CallbackServerContext* context) override {
    return rubato::grpc_handle(pool_, *context,
                               [this](rubato::grpc_reader<words>& in, rubato::grpc_writer<words>& out) {
                                 return counted(*this, read_and_write(*this, in, out));
                               });
  }

public:
  std::atomic<int> ended{0};            ///< handlers
  std::atomic<int> read{0}, written{0}; ///< messages

  using echo_server::echo_server;
  ~stream_server() override { shut_down(); } // before the counters go
};

/// What all of a list's texts are, as they came.
inline rubato::task<answered> list(echo::Stub& stub, std::string text) {
  grpc::ClientContext context;
  words question;
  std::string all;
  question.set_text(std::move(text));
  auto const body = [&all](rubato::grpc_reader<words>& in) -> rubato::task<void> {
    words next;
    for (bool more = co_await in.read(next); more; more = co_await in.read(next)) all += next.text();
  };
  grpc::Status s = co_await rubato::grpc_stream(stub, &echo::Stub::async::list, context, question, body);
  co_return answered(std::move(s), std::move(all));
}

/// Sends that text n times.
inline rubato::task<answered> gather(echo::Stub& stub, int n, std::string text) {
  grpc::ClientContext context;
  words answer, part;
  part.set_text(std::move(text));
  auto const body = [&part, n](rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    for (int i = 0; i != n; ++i) {
      bool const written = co_await out.write(part);
      if (!written) break;
    }
  };
  grpc::Status s = co_await rubato::grpc_stream(stub, &echo::Stub::async::gather, context, answer, body);
  co_return answered(std::move(s), answer.text());
}

/// Sends that text n times, one task, and reads what comes, another one.
inline rubato::task<answered> talk(echo::Stub& stub, int n, std::string text) {
  grpc::ClientContext context;
  std::string all;
  words part;
  part.set_text(std::move(text));
  auto const writes = [&part, n](rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    for (int i = 0; i != n; ++i) {
      bool const written = co_await out.write(part);
      if (!written) break;
    }
    co_await out.writes_done();
  };
  auto const both = [&](rubato::grpc_reader<words>& in,
                        rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    auto const within = [&](rubato::scope& s) -> rubato::task<void> {
      s.spawn(writes(out));
      words next;
      for (bool more = co_await in.read(next); more; more = co_await in.read(next)) all += next.text();
    };
    co_await rubato::with_async_scope(within);
  };
  grpc::Status s = co_await rubato::grpc_stream(stub, &echo::Stub::async::talk, context, both);
  co_return answered(std::move(s), std::move(all));
}

} // namespace rubato_test
