// The program and its libraries, as they lie in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::os {

struct loaded_module {
  std::uintptr_t load_address = 0;    ///< to be added to an address of its symbol table
  std::uintptr_t first = 0, last = 0; ///< of what is mapped; `last` is behind it
  std::string build_id;               ///< in hexadecimal; empty: it has none
  std::string path;
};

/// Throws std::bad_alloc.
[[nodiscard]] std::vector<loaded_module> loaded_modules();

} // namespace rubato::os
