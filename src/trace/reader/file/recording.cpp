#include "trace/reader/file/recording.hpp"

#include "os/io/mapped_file.hpp"
#include "trace/ring.hpp"
#include "trace/ring_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace rubato::detail {

namespace {

using layout = ring_file_layout;

[[noreturn]] void refuse(std::string const& path, std::string const& why) {
  throw std::runtime_error("rubato: " + path + ": " + why);
}

/// As much as there is; the rest is zero.
template<class T>
void read(std::string const& path, std::uint64_t offset, T* into, std::size_t n) {
  if (os::read_at(path.c_str(), static_cast<std::size_t>(offset), reinterpret_cast<char*>(into),
                  n * sizeof(T)) < 0)
    refuse(path, std::generic_category().message(errno));
}

std::string_view next_word(std::string_view& line) noexcept {
  std::size_t const end = std::min(line.find(' '), line.size());
  std::string_view const word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::uint64_t hexadecimal(std::string_view text) noexcept {
  std::uint64_t n = 0;
  std::from_chars(text.data(), text.data() + text.size(), n, 16);
  return n;
}

} // namespace

std::vector<recorded_module> modules_in(std::string_view text) {
  std::vector<recorded_module> all;
  while (!text.empty() && text.front() != '\0') {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    recorded_module m;
    m.load_address = hexadecimal(next_word(line));
    m.first = hexadecimal(next_word(line));
    m.last = hexadecimal(next_word(line));
    m.build_id = next_word(line);
    if (m.build_id == "-") m.build_id.clear();
    m.path = line;
    all.push_back(std::move(m));
  }
  return all;
}

void check_header(std::span<std::uint64_t const> header, std::string const& path) {
  if (header[layout::magic_word] != layout::magic)
    refuse(path,
           "it is no file of a trace's rings. Beside a converted trace, FILE, lies FILE.rings: keep that "
           "one");
  if (header[layout::version_word] != layout::version) refuse(path, "it is of another version of Rubato");
  std::uint64_t const capacity = header[layout::capacity];
  if (!std::has_single_bit(capacity) || capacity > std::uint64_t{1} << 32U ||
      header[layout::stride] != layout::stride_of(capacity))
    refuse(path, "its header is damaged");
}

recording::recording(std::string const& path) {
  read_header(path);
  measure_clock();
}

void recording::read_header(std::string const& path) {
  std::array<std::uint64_t, layout::words> header{};
  read(path, layout::header_at, header.data(), header.size());
  check_header(header, path);
  std::uint64_t const capacity = header[layout::capacity], stride = header[layout::stride];
  process = header[layout::process];
  start_ticks_ = header[layout::start_ticks];
  start_ns = static_cast<std::int64_t>(header[layout::start_monotonic]);
  ns_per_tick_ = std::bit_cast<double>(header[layout::ns_per_tick]);
  untraced = header[layout::untraced];
  unnamed = header[layout::unnamed];
  std::string lines(layout::part, '\0');
  read(path, layout::modules_at, lines.data(), lines.size());
  modules = modules_in(lines);
  std::vector<std::uint64_t> const names = read_rings(path, header[layout::rings], capacity, stride);
  texts_.assign(layout::part, '\0'); // after the rings: every text that an event refers to is there
  read(path, layout::texts_at, texts_.data(), texts_.size());
  for (std::size_t i = 0; i != rings.size(); ++i) rings[i].name = text(names[i]);
}

std::vector<std::uint64_t> recording::read_rings(std::string const& path, std::uint64_t number,
                                                 std::uint64_t capacity, std::uint64_t stride) {
  std::vector<std::uint64_t> names;
  bool const lives = os::process_lives(static_cast<int>(process));
  constexpr std::uint64_t margin = 64; // for what a processor has not yet made visible
  for (std::uint64_t i = 0; i != number; ++i) {
    std::uint64_t const at = layout::rings_at + i * stride;
    ring_head_words head, later;
    read(path, at, &head, 1);
    if (head.written == 0) continue; // it was being made
    std::vector<trace_event> slots(static_cast<std::size_t>(capacity));
    read(path, at + ring::head_bytes, slots.data(), slots.size());
    read(path, at, &later, 1);
    // Once it has wrapped, the oldest slot is the one that the next event was to go to.
    std::uint64_t oldest = later.written >= capacity ? later.written - capacity + 1 : 0;
    if (lives && oldest != 0) oldest += margin;
    std::uint64_t const first = std::max(oldest, later.first);
    recorded_ring r{.thread = later.thread, .name = {}, .events = {}, .lost = 0};
    r.lost = first - std::min(first, later.first);
    if (later.of != 0) {
      r.on_cpu = static_cast<double>(later.on_cpu) / static_cast<double>(later.of);
      r.without_cpu = static_cast<double>(later.ready) / static_cast<double>(later.of);
      r.switches = later.switches;
    }
    for (std::uint64_t e = first; e < head.written; ++e) {
      trace_event const& event = slots[static_cast<std::size_t>(e % capacity)];
      auto const kind = static_cast<unsigned>(event.kind());
      if (kind != 0 && kind < event_kinds) r.events.push_back(event);
    }
    rings.push_back(std::move(r));
    names.push_back(later.name);
  }
  return names;
}

/// By the clock events that are farthest apart: more exact than what was measured at the start.
void recording::measure_clock() noexcept {
  struct moment {
    std::uint64_t ticks, ns;
  };
  moment first{.ticks = start_ticks_, .ns = static_cast<std::uint64_t>(start_ns)}, last = first;
  for (recorded_ring const& r : rings)
    for (trace_event const& e : r.events)
      if (e.kind() == event_kind::clock && e.ticks > last.ticks) last = {.ticks = e.ticks, .ns = e.id};
  constexpr std::uint64_t long_enough = 10'000'000; // ns
  if (last.ns > first.ns + long_enough)
    ns_per_tick_ = static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks);
}

std::string_view recording::text(std::uint64_t offset) const noexcept {
  if (offset == 0 || offset >= texts_.size()) return {};
  std::string_view const from = std::string_view(texts_).substr(static_cast<std::size_t>(offset));
  return from.substr(0, from.find('\0'));
}

} // namespace rubato::detail
