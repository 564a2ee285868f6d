#include "tls.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdint>
#include <utility>

namespace https {

namespace {

/// Why the last call of OpenSSL by this thread failed.
std::string last_error() {
  std::array<char, 256> text{};
  const unsigned long code = ::ERR_get_error();
  if (code == 0) return "the connection ended in the middle";
  ::ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

[[noreturn]] void fail(SSL* ssl) {
  const long verified = ::SSL_get_verify_result(ssl);
  if (verified != X509_V_OK)
    throw tls_error(std::string("the certificate is refused: ") + ::X509_verify_cert_error_string(verified));
  throw tls_error(last_error());
}

bool is_numeric(const std::string& host) {
  try {
    rubato::address(host, 0);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

} // namespace

trust::trust(const std::string& file)
    : context_(::SSL_CTX_new(::TLS_client_method())) {
  if (context_ == nullptr) throw tls_error(last_error());
  ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  const int loaded = file.empty() ? ::SSL_CTX_set_default_verify_paths(context_.get())
                                  : ::SSL_CTX_load_verify_file(context_.get(), file.c_str());
  if (loaded != 1) throw tls_error("no certificates in " + file + ": " + last_error());
}

tls_stream::tls_stream(rubato::tcp_socket socket, const trust& trusted, const std::string& host)
    : socket_(std::move(socket))
    , ssl_(::SSL_new(trusted.context_.get())) {
  BIO* const in = ::BIO_new(::BIO_s_mem());
  BIO* const out = ::BIO_new(::BIO_s_mem());
  if (ssl_ == nullptr || in == nullptr || out == nullptr) {
    ::BIO_free(in);
    ::BIO_free(out);
    throw std::bad_alloc();
  }
  ::SSL_set_bio(ssl_.get(), in, out); // they are the SSL's now
  const bool named = is_numeric(host)
                         ? ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), host.c_str()) == 1
                         : ::SSL_set1_host(ssl_.get(), host.c_str()) == 1 &&
                               ::SSL_set_tlsext_host_name(ssl_.get(), host.c_str()) == 1;
  if (!named) throw tls_error("no host can be called " + host);
}

/// What OpenSSL has made for the server goes to the socket.
rubato::task<void> tls_stream::send_records(time_point deadline) {
  std::array<char, 16 * 1024> bytes;
  for (;;) {
    const int n = ::BIO_read(::SSL_get_wbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
    if (n <= 0) co_return; // nothing is left
    co_await socket_.write_all(std::string_view(bytes.data(), static_cast<std::size_t>(n)), deadline);
  }
}

rubato::task<void> tls_stream::receive_records(time_point deadline) {
  std::array<char, 16 * 1024> bytes;
  const std::size_t n = co_await socket_.read_some(bytes, deadline);
  BIO* const in = ::SSL_get_rbio(ssl_.get());
  if (n == 0) {
    truncated_ = true;
    ::BIO_set_mem_eof_return(in, 0); // OpenSSL says what the end means
  } else if (::BIO_write(in, bytes.data(), static_cast<int>(n)) != static_cast<int>(n)) {
    throw std::bad_alloc();
  }
}

/// Repeats a step of OpenSSL until it has succeeded. False: the server has closed the stream in order.
template<class Step>
rubato::task<bool> tls_stream::until_done(const Step& step, time_point deadline) {
  for (;;) {
    // The queue of errors is the thread's. No co_await stands between these three lines.
    ::ERR_clear_error();
    const int done = step();
    const int why = ::SSL_get_error(ssl_.get(), done);
    const bool wants_more = why == SSL_ERROR_WANT_READ && !truncated_;
    if (done <= 0 && !wants_more && why != SSL_ERROR_ZERO_RETURN) fail(ssl_.get());
    co_await send_records(deadline);
    if (done > 0) co_return true;
    if (!wants_more) co_return false;
    co_await receive_records(deadline);
  }
}

rubato::task<tls_stream> tls_stream::connect(rubato::address at, std::string host, const trust& trusted,
                                             time_point deadline) {
  rubato::tcp_socket socket = co_await rubato::tcp_socket::connect(at, deadline);
  tls_stream s(std::move(socket), trusted, host);
  const auto step = [&s] { return ::SSL_connect(s.ssl_.get()); };
  const bool connected = co_await s.until_done(step, deadline);
  if (!connected) throw tls_error("the server ended the handshake");
  co_return s;
}

rubato::task<std::size_t> tls_stream::read_some(rubato::bytes_to_fill into, time_point deadline) {
  std::size_t n = 0;
  const auto step = [&] { return ::SSL_read_ex(ssl_.get(), into.data(), into.size(), &n); };
  const bool any = co_await until_done(step, deadline);
  co_return any ? n : 0;
}

rubato::task<void> tls_stream::write_all(std::string_view what, time_point deadline) {
  std::size_t n = 0;
  const auto step = [&] { return ::SSL_write_ex(ssl_.get(), what.data(), what.size(), &n); };
  const bool written = co_await until_done(step, deadline);
  if (!written) throw tls_error("the server takes no more");
}

} // namespace https
