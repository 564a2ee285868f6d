// Filters over pictures. Their rows are loops of Rubato's: a large picture alone keeps all workers busy, and
// where many pictures are under way the loops stay on the threads that run them.
#pragma once

#include "picture.hpp"

namespace images {

/// Each point becomes the mean of the square around it, `2 * radius + 1` points wide; beyond the edge lies
/// the edge.
picture blurred(const picture& from, std::size_t radius);
/// As wide as told, and as high as the proportions demand; at least one point. Each point is the mean of the
/// points that it covers, or the one that it lies in.
picture scaled(const picture& from, std::size_t width);

} // namespace images
