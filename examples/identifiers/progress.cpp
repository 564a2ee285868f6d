#include "progress.hpp"

#include <utility>

namespace identifiers {

progress::progress(std::string label)
    : label_(std::move(label)) {}

std::string progress::text() const {
  return label_ + ": " + std::to_string(files_.load(std::memory_order_relaxed)) + " files, " +
         std::to_string(bytes_.load(std::memory_order_relaxed) / 1'000'000) + " MB";
}

} // namespace identifiers
