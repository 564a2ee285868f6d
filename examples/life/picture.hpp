// Boards as text.
#pragma once

#include "board.hpp"

#include <string>

namespace life {

/// A line for each row, `#` for each living cell.
std::string plain_picture(const board& b);
/// A line for each two rows, for a terminal, beginning at its upper left corner.
std::string terminal_picture(const board& b);

} // namespace life
