// A directory that stands for "/", with whatever a test writes into it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rubato_test {

class made_up_root {
  std::filesystem::path path_;

public:
  made_up_root() {
    auto name = (std::filesystem::temp_directory_path() / "rubato-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  made_up_root(made_up_root const&) = delete;
  made_up_root& operator=(made_up_root const&) = delete;
  ~made_up_root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  /// Writes a file, given by its absolute path in the made-up machine.
  void write(std::string_view file, std::string_view text) const {
    auto const full = path_ / std::filesystem::path(file).relative_path();
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
};

} // namespace rubato_test
