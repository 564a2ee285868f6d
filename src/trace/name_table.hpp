// Texts that events refer to: each is kept once, for as long as the process lives, so that its offset means
// the same in every file. docs/design/trace.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rubato::detail {

class name_table {
public:
  static constexpr std::size_t bytes = std::size_t{64} << 10;

private:
  static constexpr std::size_t slots = 4096; // a power of two

  mutex guard_; // for what adds a text
  std::array<char, bytes> text_{};
  std::array<published<std::uint32_t>, slots> offsets_{}; // by the text's hash; 0: free, as all behind it
  std::uint32_t used_ RUBATO_GUARDED_BY(guard_) = 1;
  std::uint32_t count_ RUBATO_GUARDED_BY(guard_) = 0;
  char* copy_ RUBATO_GUARDED_BY(guard_) = nullptr; // in the file; null: there is none
  relaxed<std::uint64_t> missed_;

  [[nodiscard]] std::uint32_t find_from(std::size_t& slot, std::string_view text) const noexcept;

public:
  constexpr name_table() noexcept = default;

  /// The text's offset; 0: it is empty, or there is no room. No lock if it is known.
  [[nodiscard]] std::uint32_t offset_of(std::string_view text) noexcept;
  /// From now on the texts are kept there, too; null: nowhere.
  void copy_to(char* memory) noexcept;
  /// How many found no room.
  [[nodiscard]] std::uint64_t missed() const noexcept { return missed_.get(); }
  /// In the child of a fork(), in which no other thread runs: one may have held the lock.
  void forget_lock() noexcept RUBATO_NOT_ANALYSED;
};

} // namespace rubato::detail
