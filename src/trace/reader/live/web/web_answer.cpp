#include "trace/reader/live/web/web_answer.hpp"

#include "os/random.hpp"
#include "trace/reader/live/web/page.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace rubato::detail {

namespace {

constexpr std::string_view end_of_head = "\r\n\r\n";

std::string response(std::string_view status, std::string_view type, std::string_view body,
                     std::string_view more = {}) {
  std::string r = "HTTP/1.1 ";
  r.append(status).append("\r\nContent-Type: ").append(type);
  r += "\r\nContent-Length: " + std::to_string(body.size());
  // The page loads nothing from elsewhere, and nothing elsewhere may contain or read it.
  r += "\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff"
       "\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin"
       "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src "
       "'unsafe-inline'; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n";
  r.append(more).append("\r\n").append(body);
  return r;
}

std::string refusal(std::string_view status, std::string_view more = {}) {
  return response(status, "text/plain", std::string(status) + '\n', more);
}

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_same(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Nothing: there is none, or more than one.
std::optional<std::string_view> host_in(std::string_view lines) noexcept {
  std::optional<std::string_view> host;
  while (!lines.empty()) {
    std::size_t const end = std::min(lines.find("\r\n"), lines.size());
    std::string_view const line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    std::size_t const colon = line.find(':');
    if (colon == line.npos || !is_same(line.substr(0, colon), "host")) continue;
    if (host) return {};
    host = trimmed(line.substr(colon + 1));
  }
  return host;
}

/// Takes the same time wherever they differ.
bool is_secret(std::string_view given, std::string_view secret) noexcept {
  if (given.size() != secret.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i != given.size(); ++i) differs |= static_cast<unsigned char>(given[i] ^ secret[i]);
  return differs == 0;
}

} // namespace

std::string make_token() {
  std::array<std::byte, 16> bytes{};
  os::fill_with_random(bytes);
  std::string token;
  for (std::byte const b : bytes)
    for (unsigned const digit : {std::to_integer<unsigned>(b) >> 4U, std::to_integer<unsigned>(b) & 15U})
      token += "0123456789abcdef"[digit];
  return token;
}

bool is_whole_head(std::string_view received) noexcept { return received.find(end_of_head) != received.npos; }

std::string answer_to(std::string_view head, web_site const& site) {
  std::size_t const end = head.find(end_of_head);
  if (end == head.npos || end + end_of_head.size() > longest_head)
    return refusal("431 Request Header Fields Too Large");
  head = head.substr(0, end + 2);
  std::string_view const line = head.substr(0, head.find("\r\n"));
  std::size_t const first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || last == first || !line.substr(last + 1).starts_with("HTTP/1."))
    return refusal("400 Bad Request");
  // A name of another site that leads here (DNS rebinding) is that of a page which may not read this one.
  auto const host = host_in(head.substr(line.size() + 2));
  std::string const port = ':' + std::to_string(site.port);
  if (!host || (!is_same(*host, "127.0.0.1" + port) && !is_same(*host, "localhost" + port)))
    return refusal("403 Forbidden");
  if (line.substr(0, first) != "GET") return refusal("405 Method Not Allowed", "Allow: GET\r\n");
  std::string_view path = line.substr(first + 1, last - first - 1);
  if (!path.starts_with('/')) return refusal("404 Not Found");
  path.remove_prefix(1);
  std::size_t const slash = path.find('/');
  if (slash == path.npos || !is_secret(path.substr(0, slash), site.token)) return refusal("404 Not Found");
  path.remove_prefix(slash + 1);
  if (path.empty()) return response("200 OK", "text/html; charset=utf-8", live_page);
  if (path == "state") return response("200 OK", "application/json", site.state());
  return refusal("404 Not Found");
}

} // namespace rubato::detail
