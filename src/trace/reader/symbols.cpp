#include "trace/reader/symbols.hpp"

#include "trace/reader/elf_file.hpp"

#include <algorithm>
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

/// Behind the bracket that opens at `from`: where its partner is. A bracket of an operator is none.
std::size_t partner(std::string_view text, std::size_t from) noexcept {
  int depth = 0;
  for (std::size_t i = from; i != text.size(); ++i) {
    char const c = text[i];
    if (text.substr(i).starts_with("operator")) {
      i += 7;
      while (i + 1 != text.size() && (text[i + 1] == '<' || text[i + 1] == '>' || text[i + 1] == '-' ||
                                      text[i + 1] == '='))
        ++i;
    } else if (c == '<' || c == '(' || c == '{' || c == '[') {
      ++depth;
    } else if (c == '>' || c == ')' || c == '}' || c == ']') {
      if (--depth == 0) return i;
    }
  }
  return text.npos;
}

/// The arguments of a template, or of a function, between its brackets.
std::vector<std::string_view> arguments_in(std::string_view text) {
  std::vector<std::string_view> all;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      std::size_t const end = partner(text, i);
      if (end == text.npos) break;
      i = end;
    } else if (c == ',') {
      all.push_back(text.substr(begin, i - begin));
      begin = i + 1;
      while (begin < text.size() && text[begin] == ' ') ++begin;
      i = begin - 1;
    }
  }
  if (begin < text.size()) all.push_back(text.substr(begin));
  return all;
}

/// Is that a type or a function of the library itself, in whatever it is wrapped?
bool is_own(std::string_view text) noexcept { return text.starts_with("rubato::"); }

/// How likely a type is what the user has passed to the library.
enum class origin : unsigned char { none, standard, user, callable };

struct candidate {
  origin from = origin::none;
  std::string_view name;
};

origin origin_of(std::string_view type) noexcept {
  static constexpr std::array<std::string_view, 12> plain{"void",  "bool",     "char",   "signed", "unsigned", "short",
                                                          "int",   "long",     "float",  "double", "true",     "false"};
  std::string_view const first = type.substr(0, type.find(' '));
  if (type.empty() || (type.front() >= '0' && type.front() <= '9') || type.front() == '(' ||
      type.front() == '-' || std::ranges::find(plain, first) != plain.end())
    return origin::none;
  if (type.find('{') != type.npos || type.find('(') != type.npos) return origin::callable;
  return type.starts_with("std::") ? origin::standard : origin::user;
}

/// What the user has written in a type: for the library's own templates one of their arguments.
candidate written_in(std::string_view type) {
  if (!is_own(type)) return {.from = origin_of(type), .name = type};
  std::size_t const open = type.find('<');
  if (open == type.npos || type.substr(0, open).find('(') != type.npos) return {};
  std::size_t const close = partner(type, open);
  if (close == type.npos) return {};
  candidate best;
  for (std::string_view const a : arguments_in(type.substr(open + 1, close - open - 1)))
    if (candidate const c = written_in(a); c.from > best.from) best = c;
  return best;
}

bool drop_prefix(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// g++ calls the body of a coroutine f(int) `f(f(int)::_Z1fi.Frame*)`.
std::optional<std::string_view> coroutine_of(std::string_view text) noexcept {
  std::size_t const frame = text.find(".Frame*)");
  if (frame == text.npos) return {};
  std::size_t const end = text.rfind("::", frame);
  std::size_t const begin = text.find('(');
  if (end == text.npos || begin == text.npos || begin + 1 >= end) return {};
  return text.substr(begin + 1, end - begin - 1);
}

} // namespace

std::string user_name(std::string_view text) {
  if (std::size_t const clone = text.find(" [clone"); clone != text.npos) text = text.substr(0, clone);
  drop_prefix(text, "vtable for ");
  drop_prefix(text, "void ");
  if (auto const coroutine = coroutine_of(text)) text = *coroutine;
  if (candidate const c = written_in(text); c.from != origin::none) text = c.name;
  drop_prefix(text, "rubato::detail::");
  std::string name(text);
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = name.find(anonymous)) != name.npos;) name.erase(at, anonymous.size());
  return name;
}

std::string symbols::look_up(std::uint64_t address) const {
  loaded* const m = module_at(address);
  if (m == nullptr) return in_hexadecimal(address);
  std::uint64_t const offset = address - m->module.load_address;
  if (elf_file const* const file = m->contents())
    if (std::string_view const symbol = file->symbol_at(offset); !symbol.empty())
      return user_name(demangled(symbol));
  std::string const& path = m->module.path;
  return path.substr(path.rfind('/') + 1) + '+' + in_hexadecimal(offset);
}

std::string_view symbols::name(std::uint64_t address) {
  auto const [at, is_new] = known_.try_emplace(address);
  if (is_new) at->second = look_up(address);
  return at->second;
}

std::string symbols::literal(std::uint64_t address) const {
  loaded* const m = module_at(address);
  elf_file const* const file = m != nullptr ? m->contents() : nullptr;
  if (file == nullptr) return {};
  constexpr std::size_t longest = 200;
  return std::string(file->literal_at(address - m->module.load_address).substr(0, longest));
}

} // namespace rubato::detail
