#include "files.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace images {

std::vector<std::filesystem::path> pictures_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".png") all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

file_bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  file_bytes bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw std::system_error(errno, std::generic_category(), "cannot read");
  return bytes;
}

void write_file(const std::filesystem::path& path, const file_bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::system_error(errno, std::generic_category(), "cannot write");
}

} // namespace images
