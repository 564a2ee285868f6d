#include "trace/ring_file.hpp"

#include "os/clock.hpp"
#include "os/memory.hpp"
#include "os/modules.hpp"
#include "trace/ring.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>

namespace rubato::detail {

namespace {

std::uint64_t ns_of(std::chrono::nanoseconds t) noexcept { return static_cast<std::uint64_t>(t.count()); }

std::string line_of(os::loaded_module const& m) {
  std::string line;
  for (std::uintptr_t const n : {m.load_address, m.first, m.last}) {
    char text[20]; // NOLINT(modernize-avoid-c-arrays): for snprintf
    std::snprintf(text, sizeof text, "%llx ", static_cast<unsigned long long>(n));
    line += text;
  }
  return line + (m.build_id.empty() ? "-" : m.build_id) + ' ' + m.path + '\n';
}

} // namespace

std::size_t ring_file_layout::stride_of(std::uint64_t events) noexcept {
  std::size_t const bytes = ring::head_bytes + static_cast<std::size_t>(events) * sizeof(trace_event);
  return (bytes + part - 1) / part * part;
}

int ring_file::open(std::string const& path, std::uint64_t events) {
  using layout = ring_file_layout;
  if (front_ == nullptr) front_ = static_cast<std::byte*>(os::reserve(layout::rings_at));
  if (int const error = path.empty() ? file_.create_in_memory() : file_.create(path.c_str()); error != 0)
    return error;
  int error = file_.allocate(0, layout::rings_at);
  if (error == 0 && !file_.map_at(front_, 0, layout::rings_at)) error = ENOMEM;
  if (error != 0) {
    file_.close();
    return error;
  }
  capacity_ = events;
  stride_ = layout::stride_of(events);
  auto const monotonic = std::chrono::steady_clock::now().time_since_epoch();
  at(layout::start_ticks).set(static_cast<std::uint64_t>(os::now()));
  at(layout::start_monotonic).set(ns_of(monotonic));
  at(layout::start_realtime).set(ns_of(std::chrono::system_clock::now().time_since_epoch()));
  at(layout::ns_per_tick).set(std::bit_cast<std::uint64_t>(os::detail::ns_per_tick()));
  at(layout::process).set(static_cast<std::uint64_t>(os::process_id()));
  at(layout::capacity).set(capacity_);
  at(layout::stride).set(stride_);
  at(layout::version_word).set(layout::version);
  at(layout::magic_word).set(layout::magic); // last: a file without it has no header yet
  return 0;
}

void ring_file::write_modules() {
  std::string text;
  for (os::loaded_module const& m : os::loaded_modules()) {
    std::string const line = line_of(m);
    if (text.size() + line.size() < ring_file_layout::part) text += line;
  }
  auto* const to = reinterpret_cast<char*>(front_ + ring_file_layout::modules_at);
  std::copy(text.begin(), text.end(), to);
  std::fill(to + text.size(), to + ring_file_layout::part, '\0');
}

int ring_file::add_ring(std::byte* memory) noexcept {
  auto& rings = at(ring_file_layout::rings);
  std::size_t const offset = ring_file_layout::rings_at + static_cast<std::size_t>(rings.get()) * stride_;
  if (int const error = file_.allocate(offset, stride_); error != 0) return error;
  if (!file_.map_at(memory, offset, stride_)) return ENOMEM;
  rings.add(1);
  return 0;
}

void ring_file::close() noexcept {
  os::unmap_to_memory(front_, ring_file_layout::rings_at);
  file_.close();
}

void ring_file::forget() noexcept {
  file_.close();
  front_ = nullptr;
}

} // namespace rubato::detail
