#include "os/modules.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <elf.h>
#include <exception>
#include <link.h>
#include <span>
#include <unistd.h>
#include <utility>

namespace rubato::os {

namespace {

std::string path_of_program() {
  std::array<char, 4096> path;
  auto const n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : std::string();
}

std::string in_hexadecimal(std::span<unsigned char const> bytes) {
  constexpr auto digits = "0123456789abcdef";
  std::string text;
  for (unsigned char const b : bytes) {
    text += digits[b >> 4U];
    text += digits[b & 15U];
  }
  return text;
}

/// The build id among the notes of a part of the program; empty: it is not there.
std::string build_id_in(unsigned char const* notes, std::size_t bytes) {
  auto const aligned = [](std::size_t n) { return (n + 3) / 4 * 4; };
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    std::size_t const name = at + sizeof note;
    std::size_t const text = name + aligned(note.n_namesz);
    if (text + note.n_descsz > bytes) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0)
      return in_hexadecimal({notes + text, note.n_descsz});
    at = text + aligned(note.n_descsz);
  }
  return {};
}

loaded_module module_of(dl_phdr_info const& object) {
  loaded_module m{.load_address = object.dlpi_addr,
                  .first = ~std::uintptr_t{0},
                  .last = 0,
                  .build_id = {},
                  .path = object.dlpi_name[0] != '\0' ? std::string(object.dlpi_name) : path_of_program()};
  for (auto const& part : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    std::uintptr_t const at = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      m.first = std::min(m.first, at);
      m.last = std::max(m.last, at + part.p_memsz);
    } else if (part.p_type == PT_NOTE && m.build_id.empty()) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader has put it
      m.build_id = build_id_in(reinterpret_cast<unsigned char const*>(at), part.p_memsz);
    }
  }
  return m;
}

struct collection {
  std::vector<loaded_module> all;
  std::exception_ptr error;
};

} // namespace

std::vector<loaded_module> loaded_modules() {
  collection found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* into) {
        auto& c = *static_cast<collection*>(into);
        try {
          c.all.push_back(module_of(*object));
        } catch (...) { // not through the C library
          c.error = std::current_exception();
          return 1;
        }
        return 0;
      },
      &found);
  if (found.error != nullptr) std::rethrow_exception(found.error);
  return std::move(found.all);
}

} // namespace rubato::os
