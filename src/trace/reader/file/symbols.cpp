#include "trace/reader/file/symbols.hpp"

#include "trace/reader/file/elf_file.hpp"
#include "trace/reader/file/user_name.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <optional>

namespace rubato::detail {

/// A module, whose file is read when a name is asked for.
struct symbols::loaded {
  recorded_module module;
  std::optional<elf_file> file;

  explicit loaded(recorded_module m)
      : module(std::move(m)) {}
  /// Null: the file is another one now.
  [[nodiscard]] elf_file const* contents() {
    if (!file) file.emplace(module.path);
    return file->build_id() == module.build_id ? &*file : nullptr;
  }
};

symbols::symbols(std::vector<recorded_module> const& modules) {
  for (recorded_module const& m : modules) modules_.push_back(std::make_unique<loaded>(m));
}
symbols::~symbols() = default;

symbols::loaded* symbols::module_at(std::uint64_t address) const noexcept {
  for (auto const& m : modules_)
    if (address >= m->module.first && address < m->module.last) return m.get();
  return nullptr;
}

namespace {

std::string demangled(std::string_view mangled) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(text.get()) : std::string(mangled);
}

std::string in_hexadecimal(std::uint64_t n) {
  std::array<char, 20> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(n));
  return text.data();
}

} // namespace

std::string symbols::look_up(std::uint64_t address, std::string (*form)(std::string_view)) const {
  loaded* const m = module_at(address);
  if (m == nullptr) return in_hexadecimal(address);
  std::uint64_t const offset = address - m->module.load_address;
  if (elf_file const* const file = m->contents())
    if (std::string_view const symbol = file->symbol_at(offset); !symbol.empty())
      return form(demangled(symbol));
  std::string const& path = m->module.path;
  return path.substr(path.rfind('/') + 1) + '+' + in_hexadecimal(offset);
}

std::string symbols::name(std::uint64_t address) const { return look_up(address, &user_name); }
std::string symbols::wait(std::uint64_t address) const { return look_up(address, &wait_name); }
std::string symbols::symbol(std::uint64_t address) const { return look_up(address, &symbol_name); }

std::vector<std::string> symbols::changed() const {
  std::vector<std::string> files;
  for (auto const& m : modules_)
    if (m->file && m->contents() == nullptr) files.push_back(m->module.path);
  return files;
}

std::string symbols::literal(std::uint64_t address) const {
  loaded* const m = module_at(address);
  elf_file const* const file = m != nullptr ? m->contents() : nullptr;
  if (file == nullptr) return {};
  constexpr std::size_t longest = 200;
  return std::string(file->literal_at(address - m->module.load_address).substr(0, longest));
}

} // namespace rubato::detail
