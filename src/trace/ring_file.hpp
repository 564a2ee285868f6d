// The file of a trace: its layout, and the mapping of its parts. docs/design/trace.md
#pragma once

#include "os/io/mapped_file.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "trace/name_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace rubato::detail {

/// Where the parts of the file are. All words are 64 bits, in the byte order of the machine.
struct ring_file_layout {
  static constexpr std::size_t part = std::size_t{64} << 10; ///< all begin at multiples of this
  static constexpr std::size_t header_at = 0, modules_at = part, texts_at = 2 * part, rings_at = 3 * part;
  static constexpr std::uint64_t magic = 0x5254'4f54'4142'5552; ///< "RUBATOTR"
  static constexpr std::uint64_t version = 2;
  static constexpr std::uint64_t most_events = std::uint64_t{1} << 24; ///< of a ring

  /// The words of the header.
  enum word : unsigned {
    magic_word,
    version_word,
    process,
    capacity,        ///< events in a ring
    stride,          ///< bytes from ring to ring
    start_ticks,     ///< at the start: the ticks,
    start_monotonic, ///< CLOCK_MONOTONIC
    start_realtime,  ///< and CLOCK_REALTIME, both in ns
    ns_per_tick,     ///< the bits of a double
    rings,           ///< how many there are
    untraced,        ///< threads for which there was no room
    unnamed,         ///< texts for which there was no room
    words
  };

  /// For rings of so many events.
  [[nodiscard]] static std::size_t stride_of(std::uint64_t events) noexcept;
};

static_assert(name_table::bytes == ring_file_layout::part);

/// The file while it is written, by one thread at a time.
class ring_file {
  os::mapped_file file_;
  std::byte* front_ = nullptr; // the parts before the rings: reserved at the first start, for ever
  std::uint64_t capacity_ = 0;
  std::size_t stride_ = 0;

  [[nodiscard]] relaxed<std::uint64_t>& at(ring_file_layout::word w) const noexcept {
    return reinterpret_cast<relaxed<std::uint64_t>*>(front_)[w];
  }

public:
  constexpr ring_file() noexcept = default;

  /// Makes the file, with rings of so many events; an empty path: in memory. Returns zero, or the error.
  /// Throws std::bad_alloc.
  [[nodiscard]] int open(std::string const& path, std::uint64_t events);
  /// Writes which modules are loaded at this moment. Throws std::bad_alloc.
  void write_modules();
  /// Maps a new ring at this address, of stride() bytes. Returns zero, or the error.
  [[nodiscard]] int add_ring(std::byte* at) noexcept;
  void count_untraced() noexcept { at(ring_file_layout::untraced).add(1); }
  void count_unnamed(std::uint64_t n) noexcept { at(ring_file_layout::unnamed).set(n); }
  /// The front is memory from now on, and the file is closed.
  void close() noexcept;
  /// In the child of a fork(), which has not inherited the mapping.
  void forget() noexcept;

  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  [[nodiscard]] char* texts() const noexcept {
    return reinterpret_cast<char*>(front_ + ring_file_layout::texts_at);
  }
  [[nodiscard]] std::string own_path() const { return file_.own_path(); }
};

} // namespace rubato::detail
