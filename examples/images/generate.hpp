// Pictures to try the program with.
#pragma once

#include "picture.hpp"

namespace images {

/// Coloured rings and grain: a picture that compresses about as well as a photograph. Each number is another
/// one.
picture generated(std::size_t number, std::size_t width, std::size_t height);

} // namespace images
