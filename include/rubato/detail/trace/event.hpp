// What a trace records: 24 bytes an event. docs/design/trace.md has the table: where each kind is noted, and
// what its fields mean.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

enum class event_kind : unsigned char {
  none, ///< no event: a slot that was never written
  thread,
  clock,
  begin,
  end,
  became,
  resume,
  suspend,
  stands_at,
  ready,
  got,
  search,
  park,
  unparked,
  wake,
  wait,
  wait_over,
  timer,
  io,
  relief,
  joined,
  left,
  resized,
  look,
  calls,
  seats,
  unseated
};
inline constexpr unsigned event_kinds = static_cast<unsigned>(event_kind::unseated) + 1;

/// What a thread runs between `begin` and `end`.
enum class activity : unsigned char { task, claimed, latent, child, node, copy, member, span };
/// Added to the activity of a `begin`: the one before has ended at this moment.
inline constexpr unsigned char follows = 128;
/// How a task was made ready. direct: the caller's seat runs it next.
enum class made_ready : unsigned char { queued, direct, event, bound, aside };
/// How work came from another thread.
enum class transfer : unsigned char { stolen, handed, taken };
/// `aux` of a `got`: how, and how many came at once, at most 63.
[[nodiscard]] constexpr unsigned char pack_transfer(transfer how, std::size_t number = 1) noexcept {
  constexpr std::size_t most = 63;
  return static_cast<unsigned char>(static_cast<std::size_t>(how) | (number < most ? number : most) << 2U);
}
[[nodiscard]] constexpr transfer transfer_in(unsigned char aux) noexcept {
  return static_cast<transfer>(aux & 3U);
}
[[nodiscard]] constexpr unsigned number_in(unsigned char aux) noexcept { return aux >> 2U; }

/// The levels, as bits: a trace records the events of all levels whose bit is set.
namespace trace_level {
inline constexpr unsigned char low = 1, normal = 2, high = 4;
} // namespace trace_level

[[nodiscard]] constexpr unsigned char level_of(event_kind k) noexcept {
  switch (k) {
  case event_kind::begin:
  case event_kind::end:
  case event_kind::ready:
  case event_kind::search:
  case event_kind::timer:
  case event_kind::io:
  case event_kind::calls:
    return trace_level::normal;
  case event_kind::look:
    return trace_level::high;
  default:
    return trace_level::low;
  }
}

struct trace_event {
  static constexpr unsigned name_bits = 48;

  std::uint64_t ticks = 0;
  std::uint64_t id = 0;
  std::uint64_t what = 0; ///< the kind in the lowest byte, aux in the next one, the name above

  [[nodiscard]] static constexpr std::uint64_t pack(event_kind k, unsigned char aux,
                                                    std::uint64_t name) noexcept {
    return static_cast<std::uint64_t>(k) | std::uint64_t{aux} << 8U | name << (64 - name_bits);
  }
  [[nodiscard]] constexpr event_kind kind() const noexcept { return static_cast<event_kind>(what & 0xFFU); }
  [[nodiscard]] constexpr unsigned char aux() const noexcept {
    return static_cast<unsigned char>(what >> 8U & 0xFFU);
  }
  [[nodiscard]] constexpr std::uint64_t name() const noexcept { return what >> (64 - name_bits); }
  /// Of an event that was noted after what it tells of: when that was, in ticks. The name has their lower
  /// part.
  [[nodiscard]] constexpr std::uint64_t occurred() const noexcept {
    return ticks - ((ticks - name()) & ((std::uint64_t{1} << name_bits) - 1));
  }
};

static_assert(sizeof(trace_event) == 24);

} // namespace rubato::detail
