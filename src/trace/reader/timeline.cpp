#include "trace/reader/timeline.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace rubato::detail {

namespace {

/// A wake is noted after the sleeper may already run.
constexpr std::int64_t late_wake_ns = 1'000'000;

struct interval {
  std::int64_t from, to;
};

/// How much of it lies in the union of the others.
class covered {
  std::vector<interval> parts_;    // disjoint, in order
  std::vector<std::int64_t> sums_; // of the parts before

  [[nodiscard]] std::int64_t until(std::int64_t t) const noexcept {
    auto const at = std::ranges::upper_bound(parts_, t, {}, &interval::from);
    if (at == parts_.begin()) return 0;
    auto const i = static_cast<std::size_t>(at - parts_.begin()) - 1;
    return sums_[i] + std::min(t, parts_[i].to) - parts_[i].from;
  }

public:
  explicit covered(std::vector<interval> all) {
    std::ranges::sort(all, {}, &interval::from);
    for (interval const& i : all) {
      if (!parts_.empty() && i.from <= parts_.back().to)
        parts_.back().to = std::max(parts_.back().to, i.to);
      else
        parts_.push_back(i);
    }
    std::int64_t sum = 0;
    for (interval const& p : parts_) {
      sums_.push_back(sum);
      sum += p.to - p.from;
    }
  }
  [[nodiscard]] std::int64_t of(interval i) const noexcept { return until(i.to) - until(i.from); }
};

struct moment {
  std::int64_t at = 0;
  std::uint32_t track = 0;
  std::int64_t chain = 0; ///< the longest chain of activities that ends there
};

/// A thread, while its events are read.
struct thread_now {
  std::vector<slice> stack;
  std::int64_t last = 0, asleep_since = -1; ///< -1: awake
  std::uint64_t parker = 0, pool = 0, number = 0;
  std::int64_t chain = 0;
  bool has_got = false; ///< work from another thread, which it has not begun
  moment got;
  std::vector<interval> asleep; ///< with nothing on the stack
};

class builder {
  recording const& from_;
  symbols symbols_;
  timeline out_;
  std::map<std::string, std::uint32_t, std::less<>> name_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t> code_names_, literal_names_;
  std::vector<thread_now> now_;
  std::unordered_map<std::uint64_t, moment> ready_;
  std::unordered_map<std::uint64_t, std::vector<moment>> wakes_; // by parker, in order
  std::unordered_map<std::uint64_t, std::int64_t> wake_chains_;
  struct suspension_now {
    std::int64_t at;
    std::uint32_t in, reason;
  };
  std::unordered_map<std::uint64_t, suspension_now> suspended_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> track_of_; // by pool and number
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, wait_total> waits_;
  std::vector<interval> queued_;

  std::uint32_t number_of(std::string_view name) {
    auto const at = name_numbers_.find(name);
    if (at != name_numbers_.end()) return at->second;
    auto const n = static_cast<std::uint32_t>(out_.names.size());
    out_.names.emplace_back(name);
    name_numbers_.emplace(name, n);
    return n;
  }
  std::uint32_t code_name(std::uint64_t address) {
    auto const [at, is_new] = code_names_.try_emplace(address);
    if (is_new) at->second = address == 0 ? 0 : number_of(symbols_.name(address));
    return at->second;
  }
  std::uint32_t literal_name(std::uint64_t address) {
    auto const [at, is_new] = literal_names_.try_emplace(address);
    if (is_new) at->second = number_of(symbols_.literal(address));
    return at->second;
  }

  /// The time since the thread's last event goes to what it did.
  void advance(std::uint32_t on, std::int64_t at) {
    thread_now& t = now_[on];
    std::int64_t const passed = std::max<std::int64_t>(0, at - t.last);
    t.last = std::max(t.last, at);
    if (t.asleep_since >= 0) return; // counted when it wakes
    if (t.stack.empty()) {
      out_.tracks[on].searched += passed;
    } else if (is_activity(t.stack.back().kind)) {
      out_.tracks[on].busy += passed;
      t.chain += passed;
      out_.span = std::max(out_.span, t.chain);
    }
  }

  void open(std::uint32_t on, slice s) {
    s.depth = static_cast<unsigned char>(std::min<std::size_t>(now_[on].stack.size(), 255));
    now_[on].stack.push_back(s);
  }
  void close(std::uint32_t on, std::int64_t at, bool still_open = false) {
    std::vector<slice>& stack = now_[on].stack;
    slice s = stack.back();
    stack.pop_back();
    s.end = std::max(at, s.begin);
    s.open = still_open;
    if (!stack.empty()) {
      slice& around = stack.back();
      if (is_activity(s.kind))
        around.inner += s.length();
      else if (s.kind == slice_kind::wait)
        around.waited += s.length();
    }
    out_.tracks[on].slices.push_back(s);
  }
  void close_all(std::uint32_t on, std::int64_t at, bool still_open = false) {
    while (!now_[on].stack.empty()) close(on, at, still_open);
  }
  /// Closes the innermost such slice, and those in it. False: there is none, its begin was overwritten.
  bool close_one(std::uint32_t on, std::int64_t at, slice_kind kind, std::uint64_t id) {
    std::vector<slice> const& stack = now_[on].stack;
    auto const same = [&](slice const& s) { return s.kind == kind && s.id == id; };
    auto const found = std::find_if(stack.rbegin(), stack.rend(), same);
    if (found == stack.rend()) return false;
    for (auto n = found - stack.rbegin(); n >= 0; --n) close(on, at);
    return true;
  }

  void begin(std::uint32_t on, std::int64_t at, trace_event const& e) {
    thread_now& t = now_[on];
    if ((e.aux() & follows) != 0 && !t.stack.empty() && is_activity(t.stack.back().kind)) close(on, at);
    auto const what = std::min(static_cast<activity>(e.aux() & ~follows), activity::span);
    slice s{.begin = at, .id = e.id, .kind = static_cast<slice_kind>(what)};
    s.name = what == activity::span   ? literal_name(e.name())
             : what == activity::node ? number_of(from_.text(e.name()))
                                      : code_name(e.name());
    bool const is_outermost = t.stack.empty();
    if (is_outermost) t.chain = 0;
    if (auto const r = ready_.find(e.id); r != ready_.end() && what <= activity::claimed) {
      s.queued = std::max<std::int64_t>(0, at - r->second.at);
      queued_.push_back({r->second.at, std::max(at, r->second.at)});
      caused(on, at, r->second);
      ready_.erase(r);
    } else if (std::exchange(t.has_got, false) && what == activity::latent) {
      caused(on, at, t.got);
    }
    open(on, s);
  }
  void caused(std::uint32_t on, std::int64_t at, moment const& by) {
    now_[on].chain = std::max(now_[on].chain, by.chain);
    out_.causes.push_back({.at = std::min(by.at, at), .to = at, .by_track = by.track, .on_track = on});
  }

  void unparked(std::uint32_t on, std::int64_t at) {
    thread_now& t = now_[on];
    std::int64_t const since = std::exchange(t.asleep_since, -1);
    if (since < 0) return;
    std::int64_t woken = at;
    std::vector<moment> const& all = wakes_[t.parker];
    auto const w = std::ranges::lower_bound(all, since, {}, &moment::at);
    if (w != all.end() && w->at <= at + late_wake_ns) {
      woken = std::min(w->at, at);
      if (auto const c = wake_chains_.find(t.parker); c != wake_chains_.end() && !t.stack.empty())
        t.chain = std::max(t.chain, c->second);
      slice s{.begin = woken, .id = t.parker, .kind = slice_kind::woken};
      s.name = number_of("woken, waits for a CPU");
      open(on, s);
      close(on, at);
      out_.causes.push_back({.at = woken, .to = woken, .by_track = w->track, .on_track = on});
    }
    if (!t.stack.empty()) return;
    out_.tracks[on].woken += at - woken;
    t.asleep.push_back({since, woken});
  }

  void waited(std::uint32_t in, std::uint32_t reason, bool suspended, std::int64_t time) {
    wait_total& w = waits_[{in, reason, suspended}];
    w.in = in;
    w.reason = reason;
    w.suspended = suspended;
    ++w.count;
    w.sum += time;
    w.longest = std::max(w.longest, time);
  }
  void wait_over(std::uint32_t on, std::int64_t at, std::uint64_t id) {
    if (!close_one(on, at, slice_kind::wait, id)) return;
    std::vector<slice> const& stack = now_[on].stack;
    slice const& s = out_.tracks[on].slices.back();
    waited(stack.empty() ? 0 : stack.back().name, s.name, false, s.length());
  }

  void resume(std::uint32_t on, std::int64_t at, trace_event const& e) {
    std::uint32_t const name = code_name(e.name());
    if (std::vector<slice>& stack = now_[on].stack; !stack.empty() && stack.back().id == e.id)
      stack.back().name = name;
    if (auto const s = suspended_.find(e.id); s != suspended_.end()) {
      waited(s->second.in, s->second.reason, true, std::max<std::int64_t>(0, at - s->second.at));
      suspended_.erase(s);
    }
  }
  void suspend(std::uint32_t on, std::int64_t at, trace_event const& e) {
    std::vector<slice> const& stack = now_[on].stack;
    std::uint32_t const in = !stack.empty() && stack.back().id == e.id ? stack.back().name : 0;
    suspended_[e.id] = {.at = at, .in = in, .reason = code_name(e.name())};
  }

  void got(std::uint32_t on, std::int64_t at, trace_event const& e) {
    thread_now& t = now_[on];
    if (static_cast<transfer>(e.aux()) == transfer::stolen) return; // it was ready: that tells more
    auto const victim = track_of_.find({t.pool, e.name()});
    if (victim == track_of_.end()) return;
    advance(victim->second, at);
    t.has_got = true;
    t.got = {.at = at, .track = victim->second, .chain = now_[victim->second].chain};
  }

  void take(std::uint32_t on, std::int64_t at, trace_event const& e) {
    advance(on, at);
    thread_now& t = now_[on];
    switch (e.kind()) {
    case event_kind::begin:
      begin(on, at, e);
      break;
    case event_kind::end:
      static_cast<void>(close_one(on, at, static_cast<slice_kind>(e.aux() & ~follows), e.id));
      break;
    case event_kind::resume:
      resume(on, at, e);
      break;
    case event_kind::suspend:
      suspend(on, at, e);
      break;
    case event_kind::ready:
      ready_[e.id] = {.at = at, .track = on, .chain = t.stack.empty() ? 0 : t.chain};
      break;
    case event_kind::got:
      got(on, at, e);
      break;
    case event_kind::search: // between its tasks
      out_.tracks[on].is_worker = true;
      close_all(on, at);
      break;
    case event_kind::park:
      t.asleep_since = at;
      t.parker = e.id;
      break;
    case event_kind::unparked:
      unparked(on, at);
      break;
    case event_kind::wake:
      wake_chains_[e.id] = t.stack.empty() ? 0 : t.chain;
      break;
    case event_kind::wait:
      open(on, {.begin = at, .id = e.id, .name = literal_name(e.id), .kind = slice_kind::wait});
      break;
    case event_kind::wait_over:
      wait_over(on, at, e.id);
      break;
    case event_kind::joined:
      t.pool = e.id;
      t.number = e.name();
      track_of_[{t.pool, t.number}] = on;
      if (e.aux() == 1) out_.tracks[on].is_worker = true;
      break;
    case event_kind::left:
      if (e.aux() == 1) close_all(on, at);
      break;
    default: // of no consequence for the slices
      break;
    }
  }

  void collect_wakes() {
    for (std::uint32_t i = 0; i != from_.rings.size(); ++i)
      for (trace_event const& e : from_.rings[i].events)
        if (e.kind() == event_kind::wake) wakes_[e.id].push_back({.at = from_.ns(e.ticks), .track = i});
    for (auto& [parker, all] : wakes_) std::ranges::sort(all, {}, &moment::at);
  }

  /// All events, in the order of their times.
  void take_all() {
    struct place {
      std::int64_t at;
      std::uint32_t ring, index;
    };
    std::vector<place> order;
    for (std::uint32_t r = 0; r != from_.rings.size(); ++r)
      for (std::uint32_t i = 0; i != from_.rings[r].events.size(); ++i)
        order.push_back({.at = from_.ns(from_.rings[r].events[i].ticks), .ring = r, .index = i});
    std::ranges::stable_sort(order, {}, &place::at);
    for (place const& p : order) take(p.ring, p.at, from_.rings[p.ring].events[p.index]);
  }

  void end_track(std::uint32_t on, covered const& queued) {
    track& t = out_.tracks[on];
    thread_now& now = now_[on];
    if (now.asleep_since >= 0 && now.stack.empty()) now.asleep.push_back({now.asleep_since, out_.last()});
    close_all(on, now.last, true);
    for (interval const& i : now.asleep) {
      std::int64_t const beside = queued.of(i);
      t.work_was_queued += beside;
      t.nothing_queued += i.to - i.from - beside;
    }
    std::ranges::stable_sort(t.slices, [](slice const& a, slice const& b) {
      return std::tuple(a.begin, a.depth) < std::tuple(b.begin, b.depth);
    });
  }

public:
  explicit builder(recording const& from)
      : from_(from)
      , symbols_(from.modules)
      , now_(from.rings.size()) {
    static_cast<void>(number_of(""));
    out_.start_ns = from.start_ns;
    out_.process = from.process;
    out_.untraced = from.untraced;
    for (std::size_t i = 0; i != from.rings.size(); ++i) {
      recorded_ring const& r = from.rings[i];
      track t{.thread = r.thread, .name = r.name, .slices = {}, .lost = r.lost};
      if (!r.events.empty()) {
        t.first = from.ns(r.events.front().ticks);
        t.last = from.ns(r.events.back().ticks);
      }
      now_[i].last = t.first;
      out_.tracks.push_back(std::move(t));
    }
  }

  [[nodiscard]] timeline build() && {
    collect_wakes();
    take_all();
    covered const queued(std::move(queued_));
    for (std::uint32_t i = 0; i != out_.tracks.size(); ++i) end_track(i, queued);
    for (auto const& [key, w] : waits_) out_.waits.push_back(w);
    std::ranges::sort(out_.waits, std::ranges::greater(), &wait_total::sum);
    return std::move(out_);
  }
};

} // namespace

std::string_view word_of(slice_kind k) noexcept {
  static constexpr std::array<std::string_view, 8> words{
      "task", "claimed", "stolen", "child", "node", "span", "wait", "woken"};
  return words[static_cast<std::size_t>(k)];
}

std::int64_t timeline::first() const noexcept {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (track const& t : tracks) first = std::min(first, t.first);
  return tracks.empty() ? 0 : first;
}

std::int64_t timeline::last() const noexcept {
  std::int64_t last = 0;
  for (track const& t : tracks) last = std::max(last, t.last);
  return last;
}

timeline make_timeline(recording const& from) { return builder(from).build(); }

void cut(timeline& t, std::int64_t from, std::int64_t to) {
  for (track& k : t.tracks) {
    std::erase_if(k.slices, [=](slice const& s) { return s.end < from || s.begin > to; });
    for (slice& s : k.slices) {
      s.begin = std::max(s.begin, from);
      s.end = std::min(s.end, to);
    }
  }
  std::erase_if(t.causes, [=](cause const& c) { return c.at < from || c.to > to; });
}

} // namespace rubato::detail
