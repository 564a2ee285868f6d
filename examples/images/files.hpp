// The files of the pictures.
#pragma once

#include "picture.hpp"

#include <filesystem>
#include <vector>

namespace images {

/// The files `*.png` of a folder, sorted by their names. Throws std::filesystem::filesystem_error.
std::vector<std::filesystem::path> pictures_in(const std::filesystem::path& folder);
/// Both throw std::system_error.
file_bytes read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const file_bytes& bytes);

} // namespace images
