// The work of serverbox's loads, for scheduler.cpp. In a file of its own, with calls where serverbox has them
// and its optimisation: inlined, the same work took a tenth more or less, by compiler flags.
#pragma once

#include <cstddef>

/// Draws that many random bits, and stores each.
void draw_bits(int count);

/// An index below `size`.
[[nodiscard]] std::size_t draw_index(std::size_t size);
