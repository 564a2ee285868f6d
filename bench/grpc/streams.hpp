// A stream of small messages to the client, by coroutines and by gRPC's own reactors, at either end.
#pragma once

#include "measured.hpp"

#include <rubato/grpc_stream.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <future>
#include <string>

namespace bench {

/// Writes as many messages as the request says: "callback 100", "coroutine 100".
class stream_server final : public echo::CallbackService {
  rubato::pool& pool_;

  class writer final : public grpc::ServerWriteReactor<words> {
    words message_;
    int left_;

    void next() {
      if (left_-- == 0)
        Finish(grpc::Status::OK);
      else
        StartWrite(&message_);
    }
    void OnWriteDone(bool /*ok*/) override { next(); }
    void OnDone() override { delete this; }

  public:
    explicit writer(int n)
        : left_(n) {
      message_.set_text("how many messages a second?");
      next();
    }
  };
  static rubato::task<grpc::Status> write(rubato::grpc_writer<words>& out, int n) {
    words message;
    message.set_text("how many messages a second?");
    for (int i = 0; i != n; ++i) co_await out.write(message);
    co_return grpc::Status::OK;
  }
  grpc::ServerWriteReactor<words>* list(grpc::CallbackServerContext* context, words const* asked) override {
    int const n = std::atoi(asked->text().c_str() + asked->text().find(' '));
    if (asked->text().starts_with("callback")) return new writer(n);
    return rubato::grpc_handle(pool_, *context,
                               [n](rubato::grpc_writer<words>& out) { return write(out, n); });
  }

public:
  explicit stream_server(rubato::pool& p)
      : pool_(p) {}
};

inline words asked_for(std::string how, int n) {
  words w;
  w.set_text(how + ' ' + std::to_string(n));
  return w;
}

inline void read_by_callback(echo::Stub& stub, int n, char const* server) {
  class reader final : public grpc::ClientReadReactor<words> {
    grpc::ClientContext context_;
    words const asked_;
    words message_;

    void OnReadDone(bool ok) override {
      if (!ok) return;
      ++messages;
      StartRead(&message_);
    }
    void OnDone(grpc::Status const& s) override { over.set_value(s); }

  public:
    int messages = 0;
    std::promise<grpc::Status> over;

    reader(echo::Stub& s, words a)
        : asked_(std::move(a)) {
      s.async()->list(&context_, &asked_, this);
      StartRead(&message_);
      StartCall();
    }
  } r(stub, asked_for(server, n));
  check(r.over.get_future().get());
  if (r.messages != n) std::exit(1);
}

inline void read_awaited(rubato::pool& pool, echo::Stub& stub, int n, char const* server) {
  int messages = 0;
  auto const body = [&](rubato::grpc_reader<words>& in) -> rubato::task<void> {
    words message;
    for (bool more = co_await in.read(message); more; more = co_await in.read(message)) ++messages;
  };
  grpc::ClientContext context;
  words const asked = asked_for(server, n);
  check(pool.block_on(rubato::grpc_stream(stub, &echo::Stub::async::list, context, asked, body)));
  if (messages != n) std::exit(1);
}

} // namespace bench
