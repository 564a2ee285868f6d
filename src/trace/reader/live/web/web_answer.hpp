// What is answered to a request, before anything is sent. docs/design/live.md
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace rubato::detail {

inline constexpr std::size_t longest_head = 4'096;

/// What is served.
struct web_site {
  unsigned port = 0;
  std::string token;                  ///< the first part of every path
  std::function<std::string()> state; ///< JSON
};

/// A secret that no other process can guess. Throws std::system_error.
[[nodiscard]] std::string make_token();
/// Is this all of a request's head?
[[nodiscard]] bool is_whole_head(std::string_view received) noexcept;
/// The response to a request with this head; one that is not whole is too large.
[[nodiscard]] std::string answer_to(std::string_view head, web_site const& site);

} // namespace rubato::detail
