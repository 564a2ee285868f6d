#include "fetch.hpp"

#include <http_parser.h>

#include <array>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace https {

namespace {

struct target {
  std::string host;
  std::string port = "443";
  std::string path = "/";
};

target parse(const std::string& url) {
  http_parser_url u{};
  ::http_parser_url_init(&u);
  const auto part = [&](http_parser_url_fields which) {
    return std::string_view(url).substr(u.field_data[which].off, u.field_data[which].len);
  };
  const auto has = [&](http_parser_url_fields which) { return (u.field_set & (1U << which)) != 0; };
  if (::http_parser_parse_url(url.data(), url.size(), 0, &u) != 0 || part(UF_SCHEMA) != "https" ||
      !has(UF_HOST))
    throw std::invalid_argument("not a URL such as https://example.org/: " + url);
  target t{.host = std::string(part(UF_HOST))};
  if (has(UF_PORT)) t.port = part(UF_PORT);
  if (has(UF_PATH)) t.path = part(UF_PATH);
  if (has(UF_QUERY)) t.path.append("?").append(part(UF_QUERY));
  return t;
}

/// Takes the bytes of one answer.
class response_parser {
  http_parser parser_{};
  http_parser_settings calls_{};
  response response_;
  const std::size_t most_;
  bool complete_ = false, too_large_ = false;

  static response_parser& self(http_parser* p) { return *static_cast<response_parser*>(p->data); }

public:
  explicit response_parser(std::size_t most)
      : most_(most) {
    ::http_parser_init(&parser_, HTTP_RESPONSE);
    parser_.data = this;
    ::http_parser_settings_init(&calls_);
    calls_.on_body = [](http_parser* p, const char* at, std::size_t size) {
      response_parser& me = self(p);
      me.too_large_ = me.response_.body.size() + size > me.most_;
      if (!me.too_large_) me.response_.body.append(at, size);
      return me.too_large_ ? -1 : 0;
    };
    calls_.on_message_complete = [](http_parser* p) {
      self(p).complete_ = true;
      ::http_parser_pause(p, 1);
      return 0;
    };
  }
  response_parser(const response_parser&) = delete;
  response_parser& operator=(const response_parser&) = delete;

  /// Of no bytes: the stream has ended, which completes a body of unknown length.
  void feed(std::string_view bytes) {
    ::http_parser_execute(&parser_, &calls_, bytes.data(), bytes.size());
    const http_errno e = HTTP_PARSER_ERRNO(&parser_);
    if (too_large_) throw std::runtime_error("the body is larger than " + std::to_string(most_) + " bytes");
    if (e != HPE_OK && e != HPE_PAUSED)
      throw std::runtime_error(std::string("the answer is no HTTP: ") + ::http_errno_description(e));
    if (bytes.empty() && !complete_) throw std::runtime_error("the answer ends in the middle");
  }
  bool complete() const { return complete_; }
  response take() {
    response_.status = parser_.status_code;
    return std::move(response_);
  }
};

/// To the first of the host's addresses that can be reached.
rubato::task<tls_stream> connect(const target& to, const trust& trusted, time_point deadline) {
  std::exception_ptr why;
  const std::vector<rubato::address> addresses = co_await rubato::resolve(to.host, to.port);
  for (const rubato::address& a : addresses) {
    try {
      co_return co_await tls_stream::connect(a, to.host, trusted, deadline);
    } catch (const std::system_error&) {
      why = std::current_exception();
    }
  }
  if (why == nullptr) throw std::runtime_error(to.host + " has no address");
  std::rethrow_exception(why);
}

} // namespace

rubato::task<response> fetch(std::string url, const trust& trusted, std::size_t most, time_point deadline) {
  const target to = parse(url);
  tls_stream stream = co_await connect(to, trusted, deadline);
  const std::string request = "GET " + to.path + " HTTP/1.1\r\nHost: " + to.host + ':' + to.port +
                              "\r\nUser-Agent: rubato-example\r\nConnection: close\r\n\r\n";
  co_await stream.write_all(request, deadline);
  response_parser parser(most);
  std::array<char, 16 * 1024> bytes;
  while (!parser.complete()) {
    const std::size_t n = co_await stream.read_some(bytes, deadline);
    parser.feed({bytes.data(), n});
  }
  co_return parser.take();
}

} // namespace https
