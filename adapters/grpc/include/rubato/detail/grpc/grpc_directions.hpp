// What gRPC's reactors, of clients and of servers, have in common: reads and writes. docs/design/grpc.md
#pragma once

#include "rubato/grpc_reader.hpp"
#include "rubato/task.hpp"

#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A reactor that reads.
template<class Reactor, class T>
class grpc_reading : public Reactor, public grpc_reader<T> {
  void start_read(T& message) final { this->StartRead(&message); }
  void OnReadDone(bool ok) final { reading().ended(ok); }

public:
  [[nodiscard]] grpc_flow& reading() noexcept { return grpc_reader<T>::flow(); }
  [[nodiscard]] grpc_reader<T>& reader() noexcept { return *this; }
};

/// A reactor that writes. `Writer`: grpc_writer, or that of clients.
template<class Reactor, class T, class Writer = grpc_writer<T>>
class grpc_writing : public Reactor, public Writer {
  void start_write(T const& message, ::grpc::WriteOptions o) final {
    // A server's gRPC holds the last message until Finish(), which comes after the end of the write.
    if constexpr (std::is_same_v<Writer, grpc_writer<T>>) o.clear_last_message();
    this->StartWrite(&message, o);
  }
  void OnWriteDone(bool ok) final { writing().ended(ok); }

public:
  [[nodiscard]] grpc_flow& writing() noexcept { return Writer::flow(); }
  [[nodiscard]] Writer& writer() noexcept { return *this; }
};

/// A client's reactor that writes.
template<class Reactor, class T>
class grpc_client_writing : public grpc_writing<Reactor, T, grpc_client_writer<T>> {
  void start_writes_done() final { this->StartWritesDone(); }
  void OnWritesDoneDone(bool ok) final { this->writing().ended(ok); }
};

template<class Reactor>
concept grpc_reads = requires(Reactor& r) { r.reader(); };
template<class Reactor>
concept grpc_writes = requires(Reactor& r) { r.writer(); };

/// f(reader), f(writer) or f(reader, writer).
template<class F, class Reactor>
[[nodiscard]] auto grpc_body(F& f, Reactor& r) {
  if constexpr (grpc_reads<Reactor> && grpc_writes<Reactor>)
    return f(r.reader(), r.writer());
  else if constexpr (grpc_reads<Reactor>)
    return f(r.reader());
  else
    return f(r.writer());
}

template<class F, class Reactor>
[[nodiscard]] consteval bool grpc_can_call() {
  if constexpr (grpc_reads<Reactor> && grpc_writes<Reactor>)
    return requires(F& f, Reactor& r) { f(r.reader(), r.writer()); };
  else if constexpr (grpc_reads<Reactor>)
    return requires(F& f, Reactor& r) { f(r.reader()); };
  else
    return requires(F& f, Reactor& r) { f(r.writer()); };
}

/// Whether f fits: it returns a task of void for a client, of a status for a server. If not, this tells.
template<class Result, class F, class Reactor>
[[nodiscard]] consteval bool grpc_fits() {
  constexpr bool called = grpc_can_call<F, Reactor>();
  static_assert(called, "rubato: grpc_stream() and grpc_handle() call f(reader) where messages only arrive, "
                        "f(writer) where they are only sent, and else f(reader, writer): f takes them by "
                        "reference, as grpc_reader<T>&; the writer of a client is a grpc_client_writer<T>&");
  if constexpr (called) {
    constexpr bool right = std::is_same_v<decltype(grpc_body(std::declval<F&>(), std::declval<Reactor&>())),
                                          rubato::task<Result>>;
    static_assert(right, "rubato: f returns a task<void> for grpc_stream(), and a task<grpc::Status> for "
                         "grpc_handle()");
    return right;
  }
  return false;
}

} // namespace rubato::detail
