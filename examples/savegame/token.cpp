#include "saves.hpp"

#include <atomic>
#include <random>

namespace savegame {

std::string new_token() {
  static const std::string process = [] {
    std::random_device random;
    std::string digits;
    for (int i = 0; i != 4; ++i) digits += std::to_string(random()) + '-';
    return digits;
  }();
  static std::atomic<std::uint64_t> number{0};
  return process + std::to_string(++number);
}

} // namespace savegame
