#include "trace/reader/file/elf_file.hpp"

#include "os/io/file.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <tuple>

namespace rubato::detail {

elf_file::elf_file(std::string const& path)
    : bytes_(os::read_file(path).value_or(std::string())) {
  auto const header = at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64)
    return;
  read_segments(header->e_phoff, header->e_phnum, header->e_phentsize);
  read_sections(header->e_shoff, header->e_shnum, header->e_shentsize);
  std::ranges::sort(symbols_, {}, [](symbol const& s) { return std::tuple(s.first, s.last, s.name); });
}

/// Nothing: it lies beyond the end.
template<class T>
std::optional<T> elf_file::at(std::uint64_t offset) const noexcept {
  if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return {};
  T value;
  std::memcpy(&value, bytes_.data() + offset, sizeof value);
  return value;
}

std::string_view elf_file::text_at(std::uint64_t offset) const noexcept {
  if (offset >= bytes_.size()) return {};
  std::string_view const from = std::string_view(bytes_).substr(static_cast<std::size_t>(offset));
  return from.substr(0, from.find('\0'));
}

void elf_file::read_segments(std::uint64_t offset, unsigned number, unsigned size) {
  for (unsigned i = 0; i != number; ++i) {
    auto const part = at<Elf64_Phdr>(offset + std::uint64_t{i} * size);
    if (!part) return;
    if (part->p_type == PT_LOAD)
      segments_.push_back({.address = part->p_vaddr, .offset = part->p_offset, .bytes = part->p_filesz});
    else if (part->p_type == PT_NOTE && build_id_.empty())
      read_notes(part->p_offset, part->p_filesz);
  }
}

void elf_file::read_notes(std::uint64_t offset, std::uint64_t bytes) {
  auto const aligned = [](std::uint64_t n) { return (n + 3) / 4 * 4; };
  for (std::uint64_t const end = offset + bytes; offset < end;) {
    auto const note = at<Elf64_Nhdr>(offset);
    if (!note) return;
    std::uint64_t const name = offset + sizeof *note, text = name + aligned(note->n_namesz);
    if (note->n_type == NT_GNU_BUILD_ID && text_at(name) == "GNU") {
      for (std::uint64_t i = 0; i != note->n_descsz; ++i) {
        auto const byte = at<unsigned char>(text + i);
        if (!byte) return;
        build_id_ += "0123456789abcdef"[*byte >> 4U];
        build_id_ += "0123456789abcdef"[*byte & 15U];
      }
      return;
    }
    offset = text + aligned(note->n_descsz);
  }
}

/// Of the full table, which a stripped file lacks, and of that for the loader.
void elf_file::read_sections(std::uint64_t offset, unsigned number, unsigned size) {
  for (unsigned i = 0; i != number; ++i) {
    auto const table = at<Elf64_Shdr>(offset + std::uint64_t{i} * size);
    if (!table) return;
    if (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) continue;
    auto const names = at<Elf64_Shdr>(offset + std::uint64_t{table->sh_link} * size);
    if (!names) continue;
    for (std::uint64_t s = 0; s + sizeof(Elf64_Sym) <= table->sh_size; s += sizeof(Elf64_Sym)) {
      auto const one = at<Elf64_Sym>(table->sh_offset + s);
      if (!one) break;
      unsigned const type = ELF64_ST_TYPE(one->st_info);
      if (one->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT)) continue;
      std::string_view const name = text_at(names->sh_offset + one->st_name);
      if (!name.empty())
        symbols_.push_back({.first = one->st_value,
                            .last = one->st_value + std::max<std::uint64_t>(1, one->st_size),
                            .name = name});
    }
  }
}

std::string_view elf_file::symbol_at(std::uint64_t address) const noexcept {
  auto at = std::ranges::upper_bound(symbols_, address, {}, &symbol::first);
  // Several may begin there, and a shorter one may begin within a longer one.
  for (unsigned looks = 16; at != symbols_.begin() && looks != 0; --looks)
    if (--at; address < at->last) return at->name;
  return {};
}

std::string_view elf_file::literal_at(std::uint64_t address) const noexcept {
  for (segment const& s : segments_)
    if (address >= s.address && address - s.address < s.bytes) return text_at(s.offset + address - s.address);
  return {};
}

} // namespace rubato::detail
