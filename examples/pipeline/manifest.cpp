#include "manifest.hpp"

#include "shared/system.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace pipeline {
namespace {

namespace fs = std::filesystem;

std::string hexadecimal(std::uint32_t checksum) {
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", checksum);
  return digits.data();
}

void append_escaped(std::string& text, const std::string& path) {
  for (const char c : path) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
}

/// Removes the file at the end of a scope, unless it has its final name.
struct unfinished {
  fs::path path;
  bool kept = false;

  void rename(const fs::path& name) {
    fs::rename(path, name);
    kept = true;
  }
  ~unfinished() {
    std::error_code ignored;
    if (!kept) fs::remove(path, ignored);
  }
};

} // namespace

std::string manifest_text(const catalogue& all) {
  std::string text;
  for (const record& file : all.files) {
    text +=
        hexadecimal(file.crc32) + ' ' + std::to_string(file.size) + ' ' + std::to_string(file.inflated) + ' ';
    append_escaped(text, file.path);
    text += '\n';
  }
  return text;
}

std::string manifest_json(const catalogue& all) {
  using json = nlohmann::ordered_json;
  auto files = json::array();
  for (const record& file : all.files)
    files.push_back({{"path", file.path},
                     {"size", file.size},
                     {"inflated", file.inflated},
                     {"crc32", hexadecimal(file.crc32)}});
  auto problems = json::array();
  for (const problem& one : all.problems) problems.push_back({{"path", one.path}, {"reason", one.reason}});
  const json document = {{"size", all.size},
                         {"inflated", all.inflated},
                         {"directories", all.around.directories},
                         {"symlinks_skipped", all.around.symlinks},
                         {"special_skipped", all.around.special},
                         {"files", std::move(files)},
                         {"problems", std::move(problems)}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

void replace_file(const std::string& path, const std::string& content) try {
  const fs::file_status status = fs::status(path); // links followed
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    example::write_all(example::open_for_writing(path), content);
    return;
  }
  const fs::path name = fs::exists(status) ? fs::canonical(path) : fs::path(path);
  unfinished file{name.string() + ".partial-" + std::to_string(example::process_id())};
  example::write_all(example::create_file(file.path), content);
  file.rename(name);
} catch (const std::system_error& error) {
  throw std::system_error(error.code(), "cannot write " + path);
}

} // namespace pipeline
