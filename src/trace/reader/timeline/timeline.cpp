#include "trace/reader/timeline/timeline.hpp"

#include "trace/reader/timeline/blocked.hpp"
#include "trace/reader/timeline/event_order.hpp"
#include "trace/reader/timeline/idle.hpp"
#include "trace/reader/timeline/name_numbers.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::uint32_t none = ~0U;

struct moment {
  std::int64_t at = 0;
  std::uint32_t track = none;
  std::uint32_t by = 0;     ///< the name of what ran there
  std::int64_t chain = 0;   ///< the longest chain of activities that ends there
  std::int64_t called = -1; ///< of a wake: when the thread was given the last free seat; -1: it was not
};

struct open_slice {
  slice s;
  std::int64_t chain_before = 0; ///< of what it is in: the chain of what waits goes on after the wait
  std::uint32_t began_as = 0;    ///< the coroutine function that was resumed
  std::uint64_t coroutine = 0;   ///< the id of the coroutine that it runs, if that is not its own id
  std::uint32_t taken_from = none;
  std::int64_t readied_at = -1;
};

/// A thread, while its events are read.
struct thread_now {
  std::vector<open_slice> stack;
  std::int64_t last = 0, asleep_since = -1; ///< -1: awake
  std::int64_t inside_since = -1;           ///< a guest, which runs
  std::int64_t took_last_seat = -1;         ///< its last event: perhaps for a thread that it wakes next
  bool goes_on = false;                     ///< behind the part that is looked at
  std::uint64_t parker = 0, pool = 0, number = 0;
  std::int64_t chain = 0;
  std::int64_t returned = 0; ///< the longest chain of what others took from it and have done
  std::uint32_t name = 0, woken_by = 0;
  moment got;                 ///< work from another thread, which it has not begun
  std::size_t last_sleep = 0; ///< since it ran something: 1 + its number; 0: there is none
};

struct suspension {
  std::int64_t at = 0, slice_begin = 0, chain = 0;
  std::uint32_t in = 0, reason = 0, track = none;
};

class builder {
  recording const& from_;
  timeline out_;
  name_numbers names_;
  std::vector<thread_now> now_;
  std::unordered_map<std::uint64_t, moment> ready_, wakes_; // by task; by parker, the last one
  std::unordered_map<std::uint64_t, suspension> suspended_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> track_of_; // by pool and number
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>, wait_total> waits_;
  std::unordered_map<std::uint32_t, resumed_total> resumed_;
  std::vector<sleep_of_worker> sleeps_;
  beside_sleeps beside_;
  window const part_;
  std::uint64_t const wanted_;  ///< the coroutine of which all stretches are wanted; 0: none
  std::int64_t known_from_ = 0; ///< what is older may have ended in events that were overwritten

  [[nodiscard]] interval cut(std::int64_t since, std::int64_t until) const noexcept {
    return {part_.cut(since), part_.cut(std::max(since, until))};
  }
  /// What the thread does at the moment: the innermost activity, or the thread.
  [[nodiscard]] std::uint32_t doing(std::uint32_t on) const noexcept {
    std::vector<open_slice> const& stack = now_[on].stack;
    auto const named = [](open_slice const& o) { return is_activity(o.s.kind) && o.s.name != 0; };
    auto const found = std::find_if(stack.rbegin(), stack.rend(), named);
    return found != stack.rend() ? found->s.name : now_[on].name;
  }
  [[nodiscard]] moment here(std::uint32_t on, std::int64_t at) const noexcept {
    bool const works = !now_[on].stack.empty() || !out_.tracks[on].is_worker;
    return {.at = at, .track = on, .by = doing(on), .chain = works ? now_[on].chain : 0};
  }
  /// The innermost slice, if it is of that task.
  [[nodiscard]] open_slice* running(std::uint32_t on, std::uint64_t id) noexcept {
    std::vector<open_slice>& stack = now_[on].stack;
    if (stack.empty()) return nullptr;
    open_slice& o = stack.back();
    return (o.coroutine != 0 ? o.coroutine : o.s.id) == id ? &o : nullptr;
  }

  /// The time since the thread's last event goes to what it did.
  void advance(std::uint32_t on, std::int64_t at) {
    thread_now& t = now_[on];
    interval const in_part = cut(t.last, at);
    std::int64_t const passed = in_part.to - in_part.from;
    t.last = std::max(t.last, at);
    if (t.asleep_since >= 0) return; // counted when it wakes
    if (t.stack.empty()) {
      out_.tracks[on].idle.searched += passed;
    } else if (is_activity(t.stack.back().s.kind)) {
      out_.tracks[on].busy += passed;
      t.chain += passed;
      out_.span = std::max(out_.span, t.chain);
    }
  }

  void open(std::uint32_t on, open_slice o) {
    thread_now& t = now_[on];
    o.s.depth = static_cast<unsigned char>(std::min<std::size_t>(t.stack.size(), 255));
    o.chain_before = t.chain;
    t.stack.push_back(o);
  }
  /// Returns what is in the part that is looked at.
  slice close(std::uint32_t on, std::int64_t at, bool still_open = false) {
    thread_now& t = now_[on];
    open_slice const o = t.stack.back();
    t.stack.pop_back();
    slice s = o.s;
    bool const is_in_part = at >= part_.from && s.begin <= part_.to;
    s.end = part_.cut(std::max(at, s.begin));
    s.begin = part_.cut(s.begin);
    s.open = still_open;
    if (o.taken_from != none) {
      std::int64_t& returned = now_[o.taken_from].returned;
      returned = std::max(returned, t.chain);
    }
    if (!t.stack.empty()) {
      slice& around = t.stack.back().s;
      if (is_activity(s.kind))
        around.inner += s.length();
      else if (s.kind == slice_kind::wait)
        around.waited += s.length();
      if (around.kind == slice_kind::wait) t.chain = std::max(t.chain, o.chain_before);
    }
    std::uint64_t const id = o.coroutine != 0 ? o.coroutine : s.id;
    if (is_work(s.kind))
      stretched(id, {.open = still_open, .begin = s.begin, .end = s.end, .on_track = on, .name = s.name});
    if (is_in_part) out_.tracks[on].slices.push_back(s);
    return s;
  }
  /// Closes the innermost such slice, and those in it. Nothing: there is none, its begin was overwritten.
  std::optional<slice> close_one(std::uint32_t on, std::int64_t at, slice_kind kind, std::uint64_t id) {
    std::vector<open_slice> const& stack = now_[on].stack;
    auto const same = [&](open_slice const& o) { return o.s.kind == kind && o.s.id == id; };
    auto const found = std::find_if(stack.rbegin(), stack.rend(), same);
    if (found == stack.rend()) return {};
    for (auto n = found - stack.rbegin(); n > 0; --n) close(on, at);
    return close(on, at);
  }
  void stretched(std::uint64_t id, stretch s) {
    if (wanted_ == 0 || coroutine_address(id) != wanted_ || s.end < part_.from || s.begin > part_.to) return;
    s.begin = part_.cut(s.begin);
    s.end = part_.cut(s.end);
    out_.coroutine.push_back(s);
  }
  void close_all(std::uint32_t on, std::int64_t at) {
    while (!now_[on].stack.empty()) close(on, at);
  }

  void begin(std::uint32_t on, std::int64_t at, trace_event const& e) {
    thread_now& t = now_[on];
    if ((e.aux() & follows) != 0 && !t.stack.empty() && is_activity(t.stack.back().s.kind)) close(on, at);
    auto const what = std::min(static_cast<activity>(e.aux() & ~follows), activity::span);
    open_slice o{.s = {.begin = at, .id = e.id, .kind = static_cast<slice_kind>(what)}};
    o.s.name = what == activity::span   ? names_.of_literal(e.name())
               : what == activity::node ? names_.of(from_.text(e.name()))
                                        : names_.of_code(e.name());
    // A call that makes its thread a member: its name is that of the membership.
    if (what == activity::member && !t.stack.empty() && t.stack.back().s.kind == slice_kind::member &&
        t.stack.back().s.name == 0) {
      t.stack.back().s.name = o.s.name;
      return;
    }
    // A worker comes from work of others; a thread from outside goes on with its own.
    bool const is_new =
        t.stack.empty() ? out_.tracks[on].is_worker : t.stack.back().s.kind == slice_kind::wait;
    std::int64_t const before = t.chain;
    if (is_new) t.chain = 0;
    if (auto const r = ready_.find(e.id); r != ready_.end() && what <= activity::claimed) {
      o.s.queued = std::max<std::int64_t>(0, at - r->second.at);
      o.s.by = r->second.by;
      o.readied_at = r->second.at;
      beside_.queued.push_back(cut(r->second.at, at));
      stretched(e.id, {.is = stretch::state::queued,
                       .begin = r->second.at,
                       .end = std::max(at, r->second.at),
                       .on_track = r->second.track,
                       .by = r->second.by});
      caused(on, at, r->second);
      ready_.erase(r);
    } else if (t.got.track != none && what == activity::latent) {
      o.taken_from = t.got.track;
      o.s.by = t.got.by;
      caused(on, at, t.got);
    }
    t.got = {};
    t.last_sleep = 0;
    open(on, o);
    t.stack.back().chain_before = before;
  }
  void caused(std::uint32_t on, std::int64_t at, moment const& by) {
    now_[on].chain = std::max(now_[on].chain, by.chain);
    if (!part_.holds(at)) return;
    out_.causes.push_back({.at = std::min(by.at, at), .to = at, .by_track = by.track, .on_track = on});
  }

  /// A guest runs in the pool from now on, or does not.
  void inside(std::uint32_t on, std::int64_t at, bool runs) {
    thread_now& t = now_[on];
    if (!runs && t.inside_since >= 0)
      beside_.guests.push_back({.pool = t.pool, .time = cut(t.inside_since, at)});
    t.inside_since = runs ? at : -1;
  }
  void park(std::uint32_t on, std::int64_t at, trace_event const& e) {
    thread_now& t = now_[on];
    t.asleep_since = at;
    t.parker = e.id;
    if (t.inside_since >= 0) inside(on, at, false);
  }
  void unparked(std::uint32_t on, std::int64_t at) {
    thread_now& t = now_[on];
    std::int64_t const since = std::exchange(t.asleep_since, -1);
    if (since < 0) return;
    track& k = out_.tracks[on];
    if (!k.is_worker && t.pool != 0) inside(on, at, true);
    std::int64_t woken = at, called = at;
    t.woken_by = 0;
    if (auto const w = wakes_.find(t.parker); w != wakes_.end() && w->second.at >= since) {
      called = woken = std::min(w->second.at, at);
      if (w->second.called >= since) called = std::min(w->second.called, woken);
      t.woken_by = w->second.by;
      if (!t.stack.empty() || !k.is_worker) t.chain = std::max(t.chain, w->second.chain);
      open_slice o{.s = {.begin = woken, .id = t.parker, .kind = slice_kind::woken}};
      o.s.name = names_.of("woken, waits for a CPU");
      open(on, o);
      close(on, at);
      if (part_.holds(woken))
        out_.causes.push_back({.at = woken, .to = woken, .by_track = w->second.track, .on_track = on});
    }
    if (!t.stack.empty()) return;
    k.idle.woken += part_.cut(at) - part_.cut(called);
    sleeps_.push_back({.pool = t.pool, .track = on, .time = cut(since, called), .late_from = called});
    t.last_sleep = sleeps_.size();
  }

  void waited(suspension const& what, std::uint32_t by, bool suspended, interval in_part) {
    if (in_part.to <= part_.from) return;
    std::int64_t const time = in_part.to - in_part.from;
    wait_total& w = waits_[{what.in, what.reason, by, suspended}];
    w.in = what.in;
    w.reason = what.reason;
    w.by = by;
    w.suspended = suspended;
    ++w.times;
    w.sum += time;
    w.longest = std::max(w.longest, time);
  }
  void wait_over(std::uint32_t on, std::int64_t at, std::uint64_t id) {
    thread_now& t = now_[on];
    std::optional<slice> const s = close_one(on, at, slice_kind::wait, id);
    if (!s) return;
    t.chain = std::max(t.chain, t.returned); // it waited for what others have taken
    waited({.in = doing(on), .reason = s->name}, std::exchange(t.woken_by, 0), false,
           {s->end - s->self(), s->end});
  }

  /// An entry of a queue runs a coroutine, which has an id of its own.
  void became(std::uint32_t on, trace_event const& e) noexcept {
    suspended_.erase(e.id); // of an earlier one, whose end was overwritten
    std::vector<open_slice>& stack = now_[on].stack;
    if (!stack.empty() && stack.back().s.kind == slice_kind::task) stack.back().coroutine = e.id;
  }
  /// A member of a group that another thread took: what it runs is the coroutine.
  void may_be_member(std::uint32_t on, std::uint64_t id) noexcept {
    std::vector<open_slice>& stack = now_[on].stack;
    if (stack.empty() || suspended_.contains(id)) return;
    open_slice& o = stack.back();
    if (o.s.kind == slice_kind::latent && o.coroutine == 0) o.coroutine = id;
  }
  void resume(std::uint32_t on, std::int64_t at, trace_event const& e) {
    may_be_member(on, e.id);
    std::uint32_t const name = names_.of_code(e.name());
    open_slice* const o = running(on, e.id);
    auto const s = suspended_.find(e.id);
    bool const goes_on = s != suspended_.end() && o != nullptr && s->second.track == on &&
                         s->second.slice_begin == o->s.begin; // it need not wait after all
    if (o != nullptr && !goes_on) o->s.name = o->began_as = name;
    if (s == suspended_.end()) return;
    if (!goes_on) {
      s->second.in = name;
      std::int64_t const until = o != nullptr && o->readied_at >= 0 ? o->readied_at : at;
      waited(s->second, o != nullptr ? o->s.by : 0, true, cut(s->second.at, until));
      stretched(e.id, {.is = stretch::state::suspended,
                       .begin = s->second.at,
                       .end = std::max(until, s->second.at),
                       .on_track = s->second.track,
                       .name = s->second.reason,
                       .by = o != nullptr ? o->s.by : 0});
      if (part_.holds(at)) {
        resumed_total& r = resumed_[name];
        r.name = name;
        ++r.times;
        if (s->second.track != on) ++r.elsewhere;
      }
      now_[on].chain = std::max(now_[on].chain, s->second.chain);
    }
    suspended_.erase(s);
  }
  /// From there the coroutine is suspended: the slice's name says from where to where it ran.
  void stands_at(std::uint32_t on, trace_event const& e) {
    std::uint32_t const name = names_.of_code(e.name());
    suspended_[e.id] = {.in = name, .track = on};
    open_slice* const o = running(on, e.id);
    if (o == nullptr) return;
    suspended_[e.id].slice_begin = o->s.begin;
    o->s.name = o->began_as == name || o->began_as == 0
                    ? name
                    : names_.of(out_.names[o->began_as] + " ... " + out_.names[name]);
  }
  void suspend(std::uint32_t on, std::int64_t at, trace_event const& e) {
    suspension& s = suspended_[e.id];
    s.at = at;
    s.chain = now_[on].chain;
    s.reason = e.name() == 0 ? names_.of("another library's awaitable") : names_.of_wait(e.name());
  }

  void count_got(trace_event const& e) noexcept {
    transfer_total& all = out_.transfers;
    switch (transfer_in(e.aux())) {
    case transfer::handed:
      ++all.handed;
      break;
    case transfer::taken:
      ++all.taken;
      break;
    case transfer::stolen:
      ++all.steals;
      all.stolen += number_in(e.aux());
    }
  }
  void got(std::uint32_t on, std::int64_t at, trace_event const& e) {
    thread_now& t = now_[on];
    if (part_.holds(at)) count_got(e);
    if (transfer_in(e.aux()) == transfer::stolen) return; // it was ready: that tells more
    auto const victim = track_of_.find({t.pool, e.name()});
    if (victim == track_of_.end()) return;
    advance(victim->second, at);
    thread_now const& v = now_[victim->second];
    t.got = here(victim->second, at);
    if (t.last_sleep != 0 && !v.stack.empty()) sleeps_[t.last_sleep - 1].late_from = v.stack.front().s.begin;
  }

  void joined(std::uint32_t on, std::int64_t at, trace_event const& e) {
    thread_now& t = now_[on];
    t.pool = e.id;
    t.number = e.name();
    track_of_[{t.pool, t.number}] = on;
    if (e.aux() == 0) inside(on, at, true);
  }

  void take(std::uint32_t on, std::int64_t at, trace_event const& e) {
    advance(on, at);
    std::int64_t const took_last_seat = std::exchange(now_[on].took_last_seat, -1);
    switch (e.kind()) {
    case event_kind::begin:
      return begin(on, at, e);
    case event_kind::end:
      static_cast<void>(close_one(on, at, static_cast<slice_kind>(e.aux() & ~follows), e.id));
      return;
    case event_kind::became:
      return became(on, e);
    case event_kind::calls: // a plain function
      if (!now_[on].stack.empty() && is_work(now_[on].stack.back().s.kind))
        now_[on].stack.back().s.name = names_.of_code(e.name());
      return;
    case event_kind::resume:
      return resume(on, at, e);
    case event_kind::stands_at:
      return stands_at(on, e);
    case event_kind::suspend:
      return suspend(on, at, e);
    case event_kind::ready:
      ready_[e.id] = here(on, at);
      if (static_cast<made_ready>(e.aux()) == made_ready::event)
        ready_[e.id].by = names_.of("a timer or an event of the kernel");
      return;
    case event_kind::got:
      return got(on, at, e);
    case event_kind::search: // between its tasks
      return close_all(on, at);
    case event_kind::park:
      return park(on, at, e);
    case event_kind::unparked:
      return unparked(on, at);
    case event_kind::wake:
      wakes_[e.id] = here(on, at);
      wakes_[e.id].called = took_last_seat;
      return;
    case event_kind::wait:
      now_[on].woken_by = 0;
      return open(
          on, {.s = {.begin = at, .id = e.id, .name = names_.of_literal(e.id), .kind = slice_kind::wait}});
    case event_kind::wait_over:
      return wait_over(on, at, e.id);
    case event_kind::joined:
      return joined(on, at, e);
    case event_kind::left:
      if (e.aux() == 1) close_all(on, at);
      if (e.aux() == 0) inside(on, at, false);
      return;
    case event_kind::seats:
      beside_.seats[e.id].change(e.aux() != 0, part_.cut(at));
      if (e.aux() == 0) now_[on].took_last_seat = at;
      return;
    case event_kind::unseated:
      if (part_.holds(at)) out_.unseated.push_back({.at = at, .on_track = on, .name = doing(on)});
      return;
    default: // of no consequence for the slices
      return;
    }
  }

  void end_track(std::uint32_t on) {
    track& t = out_.tracks[on];
    thread_now& now = now_[on];
    std::int64_t const end = out_.last();
    if (now.asleep_since >= 0 && now.stack.empty()) {
      sleeps_.push_back(
          {.pool = now.pool, .track = on, .time = cut(now.asleep_since, end), .late_from = end});
      t.last = end;
    } else if (!now.stack.empty()) { // its last event is older than what it still runs, or waits for
      advance(on, end);
      t.last = end;
    }
    if (now.inside_since >= 0) inside(on, end, false);
    for (open_slice const& o : now.stack) {
      bool const waits = o.s.kind == slice_kind::wait;
      out_.at_the_end.push_back({.is = waits ? unfinished::state::waits : unfinished::state::runs,
                                 .name = waits ? now.name : o.s.name,
                                 .reason = waits ? o.s.name : 0,
                                 .since = o.s.begin,
                                 .on_track = on});
    }
    while (!now.stack.empty()) close(on, now.last, true);
    std::ranges::sort(t.slices, {}, [](slice const& s) { return std::tuple(s.begin, s.depth, s.end); });
  }
  void add_unfinished() {
    for (auto const& [id, s] : suspended_)
      if (s.at >= known_from_ && !ready_.contains(id))
        out_.at_the_end.push_back({.is = unfinished::state::suspended,
                                   .name = s.in,
                                   .reason = s.reason,
                                   .since = s.at,
                                   .on_track = s.track,
                                   .id = id});
    for (auto const& [id, s] : suspended_)
      if (!ready_.contains(id))
        stretched(id, {.is = stretch::state::suspended,
                       .open = true,
                       .begin = s.at,
                       .end = std::max(s.at, out_.last()),
                       .on_track = s.track,
                       .name = s.reason});
    std::ranges::sort(out_.coroutine, {}, [](stretch const& s) {
      return std::tuple(s.begin, s.is != stretch::state::suspended, s.end);
    });
    for (auto const& [id, r] : ready_)
      if (r.at >= known_from_)
        out_.at_the_end.push_back(
            {.is = unfinished::state::queued, .reason = r.by, .since = r.at, .on_track = r.track});
    std::ranges::sort(out_.at_the_end, {},
                      [](unfinished const& u) { return std::tuple(u.since, u.is, u.name); });
  }

public:
  builder(recording const& from, window part, std::uint64_t coroutine)
      : from_(from)
      , names_(from.modules, out_.names)
      , now_(from.rings.size())
      , part_(part)
      , wanted_(coroutine) {
    out_.start_ns = from.start_ns;
    out_.part = part;
    out_.process = from.process;
    out_.untraced = from.untraced;
    for (std::size_t i = 0; i != from.rings.size(); ++i) {
      recorded_ring const& r = from.rings[i];
      track t;
      t.thread = r.thread;
      t.name = r.name;
      t.lost = r.lost;
      t.on_cpu = r.on_cpu;
      t.switches = r.switches;
      t.without_cpu = r.without_cpu;
      t.written = r.lost + r.events.size();
      if (!r.events.empty()) {
        t.first = from.ns(r.events.front().ticks);
        t.last = from.ns(r.events.back().ticks);
      }
      t.parks =
          static_cast<std::uint64_t>(std::ranges::count(r.events, event_kind::park, &trace_event::kind));
      if (!r.events.empty()) t.parks += t.parks * r.lost / r.events.size(); // as often before
      auto const by_worker = [](trace_event const& e) {
        return e.kind() == event_kind::search || (e.kind() == event_kind::joined && e.aux() == 1);
      };
      t.is_worker = std::ranges::any_of(r.events, by_worker);
      now_[i].last = t.first;
      if (t.lost != 0) known_from_ = std::max(known_from_, t.first);
      now_[i].goes_on = t.last > part.to;
      t.first = part.cut(t.first);
      t.last = part.cut(t.last);
      now_[i].name = names_.of("thread " + (r.name.empty() ? std::to_string(r.thread) : r.name));
      out_.tracks.push_back(std::move(t));
    }
  }

  [[nodiscard]] timeline build() && {
    for (event_place const& p : in_order(from_)) {
      if (p.at > part_.to) break;
      take(p.ring, p.at, from_.rings[p.ring].events[p.index]);
    }
    for (std::uint32_t i = 0; i != out_.tracks.size(); ++i) {
      if (now_[i].goes_on) advance(i, part_.to);
      end_track(i);
    }
    add_unfinished();
    for (auto& [pool, seats] : beside_.seats) seats.end(part_.cut(out_.last()));
    explain_sleeps(out_.tracks, std::move(sleeps_), std::move(beside_));
    for (auto const& [key, w] : waits_) out_.waits.push_back(w);
    std::ranges::sort(out_.waits, std::ranges::greater(),
                      [](wait_total const& w) { return std::tuple(w.sum, w.in, w.reason); });
    for (auto const& [name, r] : resumed_) out_.resumed.push_back(r);
    std::ranges::sort(out_.resumed, std::ranges::greater(),
                      [](resumed_total const& r) { return std::tuple(r.times, r.name); });
    out_.changed = names_.changed();
    return std::move(out_);
  }
};

} // namespace

std::string_view word_of(slice_kind k) noexcept {
  static constexpr std::array<std::string_view, 10> words{"task", "claimed", "stolen", "child", "node",
                                                          "copy", "member",  "span",   "wait",  "woken"};
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

timeline make_timeline(recording const& from, window part, std::uint64_t coroutine) {
  timeline t = builder(from, part, coroutine).build();
  add_reliefs(t, from);
  return t;
}

} // namespace rubato::detail
