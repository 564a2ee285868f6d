#include "http.hpp"

#include <cstdint>

#include <strings.h>

namespace savegame {

namespace {

constexpr std::size_t longest_target = 256;
constexpr std::size_t largest_headers = 8 * 1024;

} // namespace

request_parser::request_parser(std::size_t largest_body)
    : largest_body_(largest_body) {
  ::http_parser_init(&parser_, HTTP_REQUEST);
  parser_.data = this;
  ::http_parser_settings_init(&calls_);
  calls_.on_url = [](http_parser* p, const char* at, std::size_t size) {
    request_parser& me = self(p);
    if (me.request_.target.size() + size > longest_target) return me.refuse(414);
    return me.add_to_header(me.request_.target, {at, size});
  };
  calls_.on_header_field = [](http_parser* p, const char* at, std::size_t size) {
    request_parser& me = self(p);
    if (!me.value_.empty()) me.end_header();
    return me.add_to_header(me.field_, {at, size});
  };
  calls_.on_header_value = [](http_parser* p, const char* at, std::size_t size) {
    request_parser& me = self(p);
    return me.add_to_header(me.value_, {at, size});
  };
  calls_.on_headers_complete = [](http_parser* p) { return self(p).end_headers(); };
  calls_.on_body = [](http_parser* p, const char* at, std::size_t size) {
    return self(p).add_to_body({at, size});
  };
  calls_.on_message_complete = [](http_parser* p) {
    self(p).complete_ = true;
    ::http_parser_pause(p, 1); // the bytes behind it are those of the next request
    return 0;
  };
}

int request_parser::add_to_header(std::string& part, std::string_view text) {
  header_size_ += text.size();
  if (header_size_ > largest_headers) return refuse(431);
  part += text;
  return 0;
}

void request_parser::end_header() {
  if (::strcasecmp(field_.c_str(), "expect") == 0 && ::strcasecmp(value_.c_str(), "100-continue") == 0)
    expects_ = true;
  field_.clear();
  value_.clear();
}

int request_parser::end_headers() {
  end_header();
  constexpr auto unknown = ~std::uint64_t{0};
  const auto length = parser_.content_length;
  if (length != unknown && length > largest_body_) return refuse(413);
  request_.method = ::http_method_str(static_cast<http_method>(parser_.method));
  go_ahead_ = std::exchange(expects_, false);
  request_.keep_alive = ::http_should_keep_alive(&parser_) != 0 && parser_.upgrade == 0;
  return 0;
}

int request_parser::add_to_body(std::string_view text) {
  if (request_.body.size() + text.size() > largest_body_) return refuse(413);
  request_.body += text;
  go_ahead_ = false;
  return 0;
}

std::size_t request_parser::feed(std::string_view bytes) {
  const std::size_t taken = ::http_parser_execute(&parser_, &calls_, bytes.data(), bytes.size());
  const http_errno e = HTTP_PARSER_ERRNO(&parser_);
  if (e != HPE_OK && e != HPE_PAUSED && refused_ == 0) refused_ = e == HPE_HEADER_OVERFLOW ? 431 : 400;
  return taken;
}

request request_parser::take() {
  ::http_parser_pause(&parser_, 0);
  complete_ = go_ahead_ = false;
  header_size_ = 0;
  return std::exchange(request_, request());
}

std::string answer(int status, std::string_view body, bool keep_alive) {
  std::string all =
      "HTTP/1.1 " + std::to_string(status) + ' ' + ::http_status_str(static_cast<http_status>(status)) +
      "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: " + std::to_string(body.size());
  if (status == 405) all += "\r\nAllow: GET, PUT";
  if (status == 503) all += "\r\nRetry-After: 1";
  all += keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n";
  return all.append(body);
}

} // namespace savegame
