// The symbol table of a program or a library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::detail {

class elf_file {
  struct symbol {
    std::uint64_t first, last;
    std::string_view name; // mangled; in bytes_
  };
  struct segment {
    std::uint64_t address, offset, bytes;
  };

  std::string bytes_;
  std::string build_id_;
  std::vector<symbol> symbols_; // sorted
  std::vector<segment> segments_;

  template<class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::string_view text_at(std::uint64_t offset) const noexcept;
  void read_segments(std::uint64_t offset, unsigned number, unsigned size);
  void read_sections(std::uint64_t offset, unsigned number, unsigned size);
  void read_notes(std::uint64_t offset, std::uint64_t bytes);

public:
  /// Of a file that is no ELF file, or cannot be read, it knows nothing.
  explicit elf_file(std::string const& path);

  [[nodiscard]] std::string const& build_id() const noexcept { return build_id_; }
  /// The mangled name of what lies at that address; empty: there is none.
  [[nodiscard]] std::string_view symbol_at(std::uint64_t address) const noexcept;
  /// The text at that address, up to its zero; empty: it is not in the file.
  [[nodiscard]] std::string_view literal_at(std::uint64_t address) const noexcept;
};

} // namespace rubato::detail
