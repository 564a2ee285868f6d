// TLS over a socket of Rubato's: OpenSSL makes and reads the records, and coroutines wait for the socket.
#pragma once

#include <openssl/ssl.h>
#include <rubato/rubato.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace https {

using time_point = std::chrono::steady_clock::time_point;

/// What OpenSSL refuses: a certificate, a record, a file.
class tls_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

/// The certificates that a client trusts. Read by any number of streams at the same time.
class trust {
  friend class tls_stream;
  struct free {
    void operator()(SSL_CTX* c) const noexcept { ::SSL_CTX_free(c); }
  };
  std::unique_ptr<SSL_CTX, free> context_;

public:
  /// The certificates of a file, or those of the system if it is empty. Throws tls_error.
  explicit trust(const std::string& file);
};

/// The client's end of a connection. One task at a time uses it. Operations throw tls_error, and what the
/// socket's operations throw: std::system_error, with `timed_out` at the deadline, and rubato::cancelled.
class tls_stream {
  struct free {
    void operator()(SSL* s) const noexcept { ::SSL_free(s); }
  };
  rubato::tcp_socket socket_;
  std::unique_ptr<SSL, free> ssl_; ///< reads and writes memory, never the socket
  bool truncated_ = false;         ///< the socket has ended

  tls_stream(rubato::tcp_socket socket, const trust& trusted, const std::string& host);

  rubato::task<void> send_records(time_point deadline);
  rubato::task<void> receive_records(time_point deadline);
  template<class Step>
  rubato::task<bool> until_done(const Step& step, time_point deadline);

public:
  /// Connects to that address, and makes sure that `host` is there: a name or a numeric address.
  static rubato::task<tls_stream> connect(rubato::address at, std::string host, const trust& trusted,
                                          time_point deadline);

  /// The next bytes. 0: the server has said that there are no more; an end without that throws tls_error.
  rubato::task<std::size_t> read_some(rubato::bytes_to_fill into, time_point deadline);
  rubato::task<void> write_all(std::string_view what, time_point deadline);
};

} // namespace https
