// The manifest, which the program writes.
#pragma once

#include "catalogue.hpp"

#include <string>

namespace pipeline {

/// A line per file: checksum, size, inflated size, path. A backslash in a path is written \\ and a newline
/// \n, so that a line is a file.
std::string manifest_text(const catalogue& all);
/// The same as JSON, with all problems. Bytes of a path that are no UTF-8 become replacement characters.
std::string manifest_json(const catalogue& all);

/// Replaces a file as a whole: writes under another name, then renames. If this throws, the file is as it
/// was. A file that is not regular, such as a device, is written directly. Throws std::system_error.
void replace_file(const std::string& path, const std::string& content);

} // namespace pipeline
