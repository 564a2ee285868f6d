// From the name of a symbol to what the user has written.
#pragma once

#include <string>
#include <string_view>

namespace rubato::detail {

/// Cuts a symbol down to what the user has passed to the library:
/// `rubato::detail::closure_task<main::{lambda()#1}>::run` to `main::{lambda()#1}`. If that is nothing, to
/// the operation of the library.
[[nodiscard]] std::string user_name(std::string_view demangled);
/// The same for the type of a wait, whose arguments say nothing about what it waits for.
[[nodiscard]] std::string wait_name(std::string_view demangled);

/// The whole symbol, without what compilers add to the parts of a coroutine.
[[nodiscard]] std::string symbol_name(std::string_view demangled);

} // namespace rubato::detail
