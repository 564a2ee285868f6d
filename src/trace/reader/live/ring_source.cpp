#include "trace/reader/live/ring_source.hpp"

#include "os/io/mapped_file.hpp"
#include "trace/ring.hpp"
#include "trace/ring_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace rubato::detail {

namespace {

using layout = ring_file_layout;

/// For what a processor has not yet made visible.
constexpr std::uint64_t margin = 64;
/// Of one ring at one look, so that a large ring takes no more memory.
constexpr std::uint64_t most_events = std::uint64_t{1} << 17U;

} // namespace

/// False: not all of it is there.
template<class T>
bool ring_source::read(std::uint64_t offset, T* into, std::size_t n) const noexcept {
  auto const bytes = static_cast<long>(n * sizeof(T));
  return file_.read_at(static_cast<std::size_t>(offset), reinterpret_cast<char*>(into), n * sizeof(T)) ==
         bytes;
}

void ring_source::open(os::input_file file, std::string path) {
  file_ = std::move(file);
  path_ = std::move(path);
  std::array<std::uint64_t, layout::words> header{};
  static_cast<void>(read(layout::header_at, header.data(), header.size()));
  check_header(header, path_);
  process = header[layout::process];
  capacity_ = header[layout::capacity];
  stride_ = header[layout::stride];
  start_ticks_ = header[layout::start_ticks];
  ns_per_tick_ = std::bit_cast<double>(header[layout::ns_per_tick]);
  std::string lines(layout::part, '\0');
  static_cast<void>(read(layout::modules_at, lines.data(), lines.size()));
  modules = modules_in(lines);
  places_.clear();
  read_texts();
}

void ring_source::read_texts() {
  texts_.assign(layout::part, '\0');
  static_cast<void>(read(layout::texts_at, texts_.data(), texts_.size()));
  texts_are_new_ = true;
}

std::string ring_source::text(std::uint64_t offset) {
  if (offset == 0 || offset >= layout::part) return {};
  auto const at = static_cast<std::size_t>(offset);
  if (texts_[at] == '\0' && !texts_are_new_) read_texts();
  return texts_.substr(at, texts_.find('\0', at) - at);
}

bool ring_source::process_lives() const noexcept { return os::process_lives(static_cast<int>(process)); }

void ring_source::read(std::function<void(ring_news const&)> const& take) {
  texts_are_new_ = false;
  std::uint64_t rings = 0;
  if (!file_.is_open() || !read(layout::header_at + layout::rings * sizeof rings, &rings, 1)) return;
  if (rings > places_.size()) places_.resize(static_cast<std::size_t>(rings));
  for (std::uint32_t i = 0; i != places_.size(); ++i) read_ring(i, take);
}

/// As a recording reads a ring, but only what is new. The slots between the one that was read last and the
/// oldest that is whole have been overwritten.
void ring_source::read_ring(std::uint32_t number, std::function<void(ring_news const&)> const& take) {
  std::uint64_t const at = layout::rings_at + number * stride_;
  place& p = places_[number];
  ring_head_words head, later;
  if (!read(at, &head, 1) || head.written == 0 || (p.is_known && head.written == p.next)) return;
  std::uint64_t const whole = std::min(most_events, capacity_ - 1 - std::min(margin, capacity_ / 2));
  std::uint64_t const oldest = head.written > whole ? head.written - whole : 0;
  std::uint64_t first = std::max({oldest, p.next, head.first});
  if (head.written < p.next || first > head.written) first = head.written;
  auto const n = static_cast<std::size_t>(head.written - first);
  events_.resize(n);
  std::size_t const begin = static_cast<std::size_t>(first % capacity_),
                    straight = std::min(n, static_cast<std::size_t>(capacity_) - begin);
  std::uint64_t const slots = at + ring::head_bytes;
  if (!read(slots + begin * sizeof(trace_event), events_.data(), straight) ||
      !read(slots, events_.data() + straight, n - straight) || !read(at, &later, 1))
    return;
  // What the owner has overwritten meanwhile, and all of an earlier owner.
  std::uint64_t const whole_from = std::max(later.written > whole ? later.written - whole : 0, later.first);
  std::uint64_t const from = std::clamp(whole_from, first, head.written);
  ring_news news{.ring = number, .thread = later.thread, .name = later.name, .events = {}};
  news.has_new_owner = !p.is_known || later.first != p.first || later.thread != p.thread;
  news.has_lost_events = from != std::max(p.next, later.first);
  std::span<trace_event const> events = events_;
  news.events = events.subspan(static_cast<std::size_t>(from - first));
  p = {.next = head.written, .first = later.first, .thread = later.thread, .is_known = true};
  take(news);
}

} // namespace rubato::detail
