// A server by OpenSSL alone, in a thread that blocks, with a certificate of its own for "localhost".
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace rubato_test {

/// A key and the certificate that it signs, as a file for clients that trust it.
class certificate {
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_{::EVP_RSA_gen(2048), &::EVP_PKEY_free};
  std::unique_ptr<X509, void (*)(X509*)> signed_{::X509_new(), &::X509_free};

public:
  explicit certificate(const char* name) {
    X509* const x = signed_.get();
    ::X509_set_version(x, 2);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(x), 1);
    ::X509_gmtime_adj(::X509_getm_notBefore(x), -3600);
    ::X509_gmtime_adj(::X509_getm_notAfter(x), 24 * 3600);
    ::X509_set_pubkey(x, key_.get());
    X509_NAME* const of = ::X509_get_subject_name(x);
    ::X509_NAME_add_entry_by_txt(of, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1,
                                 0);
    ::X509_set_issuer_name(x, of);
    const std::string also = std::string("DNS:") + name;
    const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> names{
        ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, also.c_str()), &::X509_EXTENSION_free};
    ::X509_add_ext(x, names.get(), -1);
    if (::X509_sign(x, key_.get(), ::EVP_sha256()) == 0)
      throw std::runtime_error("cannot sign a certificate");
  }
  void write(const std::filesystem::path& to) const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(to.c_str(), "w"), &std::fclose);
    if (!file || ::PEM_write_X509(file.get(), signed_.get()) != 1)
      throw std::runtime_error("cannot write " + to.string());
  }
  void use_in(SSL_CTX* c) const {
    if (::SSL_CTX_use_certificate(c, signed_.get()) != 1 || ::SSL_CTX_use_PrivateKey(c, key_.get()) != 1)
      throw std::runtime_error("the certificate does not fit");
  }
};

/// One connection of a client: what a server may do with it.
class served {
  SSL* ssl_;

public:
  explicit served(SSL* ssl)
      : ssl_(ssl) {}
  /// Up to the empty line; what came, if the client ends before.
  std::string request() const {
    std::string all;
    char c = 0;
    while (all.find("\r\n\r\n") == std::string::npos && ::SSL_read(ssl_, &c, 1) == 1) all += c;
    return all;
  }
  void say(std::string_view text) const { ::SSL_write(ssl_, text.data(), static_cast<int>(text.size())); }
  void say_goodbye() const { ::SSL_shutdown(ssl_); }
  /// Until the client has gone.
  void wait_for_the_end() const {
    char c = 0;
    while (::SSL_read(ssl_, &c, 1) == 1) {
    }
  }
};

/// Serves one connection after the other on a free port of the loopback interface.
class tls_server {
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_{::SSL_CTX_new(::TLS_server_method()),
                                                        &::SSL_CTX_free};
  int listens_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::function<void(const served&)> serve_;
  std::thread thread_;

  void work() const {
    for (;;) {
      const int client = ::accept(listens_, nullptr, nullptr);
      if (client < 0) return; // shut down
      const std::unique_ptr<SSL, void (*)(SSL*)> ssl(::SSL_new(context_.get()), &::SSL_free);
      ::SSL_set_fd(ssl.get(), client);
      if (::SSL_accept(ssl.get()) == 1) serve_(served(ssl.get()));
      ::close(client);
    }
  }

public:
  tls_server(const certificate& mine, std::function<void(const served&)> serve)
      : serve_(std::move(serve)) {
    std::signal(SIGPIPE, SIG_IGN); // a client may have gone
    mine.use_in(context_.get());
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(listens_, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(listens_, 64) != 0)
      throw std::runtime_error("cannot listen");
    thread_ = std::thread([this] { work(); });
  }
  tls_server(const tls_server&) = delete;
  tls_server& operator=(const tls_server&) = delete;
  ~tls_server() {
    ::shutdown(listens_, SHUT_RDWR);
    thread_.join();
    ::close(listens_);
  }
  std::uint16_t port() const {
    sockaddr_in a{};
    socklen_t size = sizeof a;
    ::getsockname(listens_, reinterpret_cast<sockaddr*>(&a), &size);
    return ntohs(a.sin_port);
  }
  std::string url(const std::string& path, const std::string& host = "localhost") const {
    return "https://" + host + ':' + std::to_string(port()) + path;
  }
};

} // namespace rubato_test
