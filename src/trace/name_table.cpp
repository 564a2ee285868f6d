#include "trace/name_table.hpp"

#include <algorithm>
#include <new>

namespace rubato::detail {

namespace {

std::size_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf2'9ce4'8422'2325; // FNV-1a
  for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3;
  return static_cast<std::size_t>(h);
}

} // namespace

/// The text's offset. 0: it is not there, and `slot` is where it would be.
std::uint32_t name_table::find_from(std::size_t& slot, std::string_view text) const noexcept {
  for (;; ++slot) {
    std::uint32_t const at = offsets_[slot % slots].get();
    if (at == 0 || std::string_view(text_.data() + at) == text) return at;
  }
}

std::uint32_t name_table::offset_of(std::string_view text) noexcept {
  text = text.substr(0, text.find('\0'));
  if (text.empty()) return 0;
  std::size_t slot = hash_of(text);
  if (std::uint32_t const known = find_from(slot, text); known != 0) return known;
  lock_guard const guard(guard_);
  if (std::uint32_t const known = find_from(slot, text); known != 0) return known;
  // Three quarters of the slots, so that a search meets a free one soon.
  if (count_ == slots / 4 * 3 || text.size() + 1 > bytes - used_) {
    missed_.add(1);
    return 0;
  }
  std::uint32_t const at = used_;
  used_ += static_cast<std::uint32_t>(text.size()) + 1;
  ++count_;
  std::copy(text.begin(), text.end(), text_.begin() + at);
  if (copy_ != nullptr) std::copy(text.begin(), text.end(), copy_ + at);
  offsets_[slot % slots].publish(at);
  return at;
}

void name_table::copy_to(char* memory) noexcept {
  lock_guard const guard(guard_);
  copy_ = memory;
  if (memory != nullptr) std::copy_n(text_.begin(), used_, memory);
}

void name_table::forget_lock() noexcept {
  ::new (&guard_) mutex;
  copy_ = nullptr;
}

} // namespace rubato::detail
