#include "rubato/detail/base/assert.hpp"

#include "os/die.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace rubato::detail {

namespace {

/// A message of limited length: the rest is cut off.
class text {
  std::array<char, 1024> text_{};
  char* end_ = text_.data();

public:
  text& operator<<(std::string_view s) noexcept {
    auto const left = static_cast<std::size_t>(text_.data() + text_.size() - end_);
    end_ = std::copy_n(s.begin(), std::min(left, s.size()), end_);
    return *this;
  }
  text& number(asserted_value v) noexcept {
    std::array<char, 24> digits{};
    auto const magnitude = v.negative ? 0ULL - v.bits : v.bits;
    auto const r = std::to_chars(digits.data(), digits.data() + digits.size(), magnitude);
    if (v.negative) *this << "-";
    return *this << std::string_view(digits.data(), static_cast<std::size_t>(r.ptr - digits.data()));
  }
  [[nodiscard]] std::string_view view() const noexcept {
    return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
  }
};

/// The next of `a, f(b, c), d`; a comma inside brackets belongs to it.
std::string_view next_name(std::string_view& names) noexcept {
  int depth = 0;
  std::size_t i = 0;
  for (; i != names.size() && (names[i] != ',' || depth != 0); ++i) {
    if (names[i] == '(' || names[i] == '[' || names[i] == '{') ++depth;
    if (names[i] == ')' || names[i] == ']' || names[i] == '}') --depth;
  }
  std::string_view const name = names.substr(0, i);
  names.remove_prefix(std::min(names.size(), i + 1));
  while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
  return name;
}

} // namespace

void (*on_failed_assertion)(char const*, std::size_t) = nullptr;

void assertion_failed(assertion const& a, asserted_value const* values, std::size_t number) noexcept {
  text out;
  out << a.message << " [" << a.condition << " is false";
  std::string_view names = a.names;
  for (std::size_t i = 0; i != number; ++i) out << "; " << next_name(names) << " = ", out.number(values[i]);
  out << "; " << a.file << ":";
  out.number(a.line) << "]";
  if (on_failed_assertion != nullptr) on_failed_assertion(out.view().data(), out.view().size());
  os::die(out.view());
}

void misuse(char const* what) noexcept { os::die(what); }

} // namespace rubato::detail
