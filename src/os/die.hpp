// The end, with a word of explanation.
#pragma once

#include <string_view>

namespace rubato::os {

/// Writes "rubato: MESSAGE\n" to the standard error output in one piece, without stdio or memory, then calls
/// std::terminate().
[[noreturn]] void die(std::string_view message) noexcept;

} // namespace rubato::os
