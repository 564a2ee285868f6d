// What has begun and not ended, where the two events may be read in any order. docs/design/live.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace rubato::detail {

/// By id, the latest of its two events: rings are read one after the other, so that an end may be seen a look
/// before its begin. An end is kept for a look, for that.
template<class T>
class pending {
  struct entry {
    std::uint64_t ticks = 0;
    bool is_open = false;
    bool was_seen = false; // an end, at the look before
    T what{};
  };
  static constexpr std::size_t most = 200'000; // so that memory does not grow with what is queued

  std::unordered_map<std::uint64_t, entry> entries_;
  std::size_t open_ = 0;
  bool is_partial_ = false;

  void set(std::uint64_t id, std::uint64_t ticks, bool is_open, T const& what) {
    if (entries_.size() >= most && !entries_.contains(id)) {
      is_partial_ = true;
      return;
    }
    entry& e = entries_[id];
    if (ticks < e.ticks) return;
    if (e.is_open) --open_;
    if (is_open) ++open_;
    e = {.ticks = ticks, .is_open = is_open, .was_seen = false, .what = what};
  }

public:
  void begin(std::uint64_t id, std::uint64_t ticks, T const& what) { set(id, ticks, true, what); }
  void end(std::uint64_t id, std::uint64_t ticks) { set(id, ticks, false, {}); }
  /// After each look.
  void forget_ended() {
    std::erase_if(entries_, [](auto const& e) { return !e.second.is_open && e.second.was_seen; });
    for (auto& [id, e] : entries_) e.was_seen = !e.is_open;
  }
  /// Events were lost: what was open may have ended.
  void forget_all() noexcept {
    entries_.clear();
    open_ = 0;
    is_partial_ = true;
  }
  [[nodiscard]] std::size_t size() const noexcept { return open_; }
  /// With the ends that are kept.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_.size(); }
  [[nodiscard]] bool is_partial() const noexcept { return is_partial_; }
  /// f(what, ticks) for each that is open.
  template<class F>
  void for_each(F f) const {
    for (auto const& [id, e] : entries_)
      if (e.is_open) f(e.what, e.ticks);
  }
};

} // namespace rubato::detail
