#include "progress.hpp"

#include <algorithm>
#include <cstddef>

namespace pipeline {

std::string progress::text() const {
  constexpr std::size_t width = 30;
  const auto done = done_.load(std::memory_order_relaxed);
  const auto found = std::max(done, found_.load(std::memory_order_relaxed));
  const auto filled = found == 0 ? 0 : static_cast<std::size_t>(done * width / found);
  return '[' + std::string(filled, '#') + std::string(width - filled, '.') + "] " + std::to_string(done) +
         " of " + std::to_string(found) + " files, " +
         std::to_string(bytes_.load(std::memory_order_relaxed) / 1'000'000) + " MB";
}

} // namespace pipeline
