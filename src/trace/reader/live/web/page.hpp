// The page that a browser shows: one file, which loads nothing but `state`, the JSON beside it.
#pragma once

#include <string_view>

namespace rubato::detail {

extern std::string_view const live_page;

} // namespace rubato::detail
