// Each name once, and its number: what was recorded with the same name is found together. The timeline keeps
// the numbers.
#pragma once

#include "trace/reader/file/symbols.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rubato::detail {

class name_numbers {
  using by_address = std::unordered_map<std::uint64_t, std::uint32_t>;

  symbols symbols_;
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;
  by_address code_, waits_, literals_;

  std::uint32_t look_up(by_address& known, std::uint64_t address,
                        std::string (symbols::*name)(std::uint64_t) const) {
    auto const [at, is_new] = known.try_emplace(address);
    if (is_new) at->second = of((symbols_.*name)(address));
    return at->second;
  }

public:
  /// Adds the names to `names`, of which number 0 is the empty one.
  name_numbers(std::vector<recorded_module> const& modules, std::vector<std::string>& names)
      : symbols_(modules)
      , names_(names) {
    static_cast<void>(of(""));
  }

  std::uint32_t of(std::string_view name) {
    auto const at = numbers_.find(name);
    if (at != numbers_.end()) return at->second;
    auto const n = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(name, n);
    return n;
  }
  std::uint32_t of_code(std::uint64_t address) {
    return address == 0 ? 0 : look_up(code_, address, &symbols::name);
  }
  /// By the table of virtual functions of a wait.
  std::uint32_t of_wait(std::uint64_t type) { return look_up(waits_, type, &symbols::wait); }
  std::uint32_t of_literal(std::uint64_t address) { return look_up(literals_, address, &symbols::literal); }
  /// As of symbols.
  [[nodiscard]] std::vector<std::string> changed() const { return symbols_.changed(); }
};

} // namespace rubato::detail
