// The names of code, and the texts of literals, from the files that were loaded. docs/design/trace.md
#pragma once

#include "trace/reader/file/recording.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::detail {

class elf_file;

class symbols {
  struct loaded;
  std::vector<std::unique_ptr<loaded>> modules_;

  [[nodiscard]] loaded* module_at(std::uint64_t address) const noexcept;
  [[nodiscard]] std::string look_up(std::uint64_t address, std::string (*form)(std::string_view)) const;

public:
  explicit symbols(std::vector<recorded_module> const& modules);
  symbols(symbols const&) = delete;
  symbols& operator=(symbols const&) = delete;
  ~symbols();

  /// What the user calls the code at that address: a function, or the callable of a task. Without a symbol
  /// `module+offset`.
  [[nodiscard]] std::string name(std::uint64_t address) const;
  /// The same for the table of virtual functions of a wait.
  [[nodiscard]] std::string wait(std::uint64_t address) const;
  /// The symbol at that address as a debugger shows it: a function, or of a table of virtual functions the
  /// class.
  [[nodiscard]] std::string symbol(std::uint64_t address) const;
  /// Files that names were looked for in, and that are not those that were loaded: they have another build
  /// id, or are gone.
  [[nodiscard]] std::vector<std::string> changed() const;
  /// The literal at that address; empty: it is in no file.
  [[nodiscard]] std::string literal(std::uint64_t address) const;
};

} // namespace rubato::detail
