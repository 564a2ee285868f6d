// HTTP/1.1: requests are parsed by http-parser, answers are texts.
#pragma once

#include <http_parser.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace savegame {

struct request {
  std::string method;
  std::string target; ///< what the first line asks for, such as "/save/ada"
  std::string body;
  bool keep_alive = false; ///< the client may send another request
};

/// Takes the bytes of a connection and makes requests of them, within limits.
class request_parser {
  http_parser parser_{};
  http_parser_settings calls_{};
  request request_;
  std::string field_, value_; ///< of the header that is being parsed
  const std::size_t largest_body_;
  std::size_t header_size_ = 0;
  bool complete_ = false;
  bool expects_ = false;  ///< the header says so
  bool go_ahead_ = false; ///< the client waits for leave to send the body
  int refused_ = 0;

  static request_parser& self(http_parser* p) { return *static_cast<request_parser*>(p->data); }
  int refuse(int status) {
    refused_ = status;
    return -1;
  }
  int add_to_header(std::string& part, std::string_view text);
  void end_header();
  int end_headers();
  int add_to_body(std::string_view text);

public:
  explicit request_parser(std::size_t largest_body);
  request_parser(const request_parser&) = delete;
  request_parser& operator=(const request_parser&) = delete;

  /// Takes bytes up to the end of the request; returns how many. Call it again with the rest after take().
  std::size_t feed(std::string_view bytes);
  bool complete() const { return complete_; }
  /// The status to answer with, if what was fed is no request or too large; else 0.
  int error() const { return refused_; }
  /// True once, if the client waits for "100 Continue" before it sends the body.
  bool must_say_continue() { return std::exchange(go_ahead_, false); }
  /// The complete request. The next one may be fed.
  request take();
};

/// The bytes of an answer. The body is a text.
std::string answer(int status, std::string_view body, bool keep_alive);

} // namespace savegame
