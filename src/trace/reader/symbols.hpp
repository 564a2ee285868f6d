// The names of code, and the texts of literals, from the files that were loaded. docs/design/trace.md
#pragma once

#include "trace/reader/recording.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rubato::detail {

class elf_file;

class symbols {
  struct loaded;
  std::vector<std::unique_ptr<loaded>> modules_;
  std::unordered_map<std::uint64_t, std::string> known_;

  [[nodiscard]] loaded* module_at(std::uint64_t address) const noexcept;
  [[nodiscard]] std::string look_up(std::uint64_t address) const;

public:
  explicit symbols(std::vector<recorded_module> const& modules);
  symbols(symbols const&) = delete;
  symbols& operator=(symbols const&) = delete;
  ~symbols();

  /// What the user calls the code at that address: a function, or the callable of a task. Without a symbol
  /// `module+offset`. The text lives as long as this.
  [[nodiscard]] std::string_view name(std::uint64_t address);
  /// The literal at that address; empty: it is in no file.
  [[nodiscard]] std::string literal(std::uint64_t address) const;
};

/// Cuts a symbol down to what the user has written: `rubato::detail::closure_task<main::{lambda()#1}>::run` to
/// `main::{lambda()#1}`.
[[nodiscard]] std::string user_name(std::string_view demangled);

} // namespace rubato::detail
