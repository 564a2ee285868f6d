// GET of HTTP/1.1 over TLS. Texts are parsed by http-parser.
#pragma once

#include "tls.hpp"

#include <cstddef>
#include <string>

namespace https {

struct response {
  int status = 0;
  std::string body;
};

/// The answer to GET of a URL such as "https://example.org/index.html". Throws as tls_stream does;
/// std::invalid_argument if it is no such URL; std::runtime_error if the answer is no HTTP, or its body is
/// larger than `most` bytes.
rubato::task<response> fetch(std::string url, const trust& trusted, std::size_t most, time_point deadline);

} // namespace https
