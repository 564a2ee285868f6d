#include "trace/reader/live/thread_activity.hpp"

#include <algorithm>

namespace rubato::detail {

void cpu_share::measure(std::int64_t at, std::int64_t used) noexcept {
  if (used <= 0 || used < last_.used) return; // the thread has ended
  mark const& newest = marks_[(next_ + marks - 1) % marks];
  if (newest.used == 0 || at - newest.at >= thread_activity::sample_ns) {
    marks_[next_] = {.at = at, .used = used};
    next_ = (next_ + 1) % marks;
  }
  last_ = {.at = at, .used = used};
}

double cpu_share::share() const noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  mark from = last_;
  for (mark const& m : marks_)
    if (m.used != 0 && m.at < from.at && last_.at - m.at <= second + thread_activity::sample_ns) from = m;
  if (from.at == last_.at) return -1;
  return static_cast<double>(last_.used - from.used) / static_cast<double>(last_.at - from.at);
}

activity_sample& thread_activity::sample_at(std::int64_t at) noexcept {
  std::int64_t const begin = at - at % sample_ns;
  if (samples_[now_].begin < begin) {
    now_ = (now_ + 1) % samples;
    samples_[now_] = {.begin = begin};
  }
  return samples_[now_];
}

void thread_activity::advance(std::int64_t at) noexcept {
  bool const is_busy = asleep_since_ < 0 && !stack_.empty() && is_activity(stack_.back().kind);
  // What is older than all samples is in none.
  last_ = std::max(last_, at - static_cast<std::int64_t>(samples) * sample_ns);
  while (last_ < at) {
    activity_sample& s = sample_at(last_);
    std::int64_t const until = std::min(at, last_ - last_ % sample_ns + sample_ns);
    s.covered += until - last_;
    if (is_busy) s.busy += until - last_;
    last_ = until;
  }
}

void thread_activity::resume_at(std::int64_t at) noexcept {
  stack_.clear();
  asleep_since_ = -1;
  last_ = std::max(last_, at);
  idle_since_ = at;
}

void thread_activity::open(running const& r) {
  if (stack_.size() < deepest) stack_.push_back(r);
}

void thread_activity::close(std::int64_t at) noexcept {
  stack_.pop_back();
  if (stack_.empty()) idle_since_ = at;
}

void thread_activity::close_one(std::int64_t at, slice_kind kind, std::uint64_t id) noexcept {
  auto const same = [&](running const& r) { return r.kind == kind && r.id == id; };
  auto const found = std::find_if(stack_.rbegin(), stack_.rend(), same);
  if (found == stack_.rend()) return; // its begin was lost
  for (auto n = found - stack_.rbegin(); n >= 0; --n) close(at);
}

void thread_activity::begin(std::int64_t at, trace_event const& e) {
  if ((e.aux() & follows) != 0 && !stack_.empty() && is_activity(stack_.back().kind)) close(at);
  auto const what = std::min(static_cast<activity>(e.aux() & ~follows), activity::span);
  using table = unread_name::table;
  unread_name const of{.in = e.name() == 0            ? table::none
                             : what == activity::span ? table::literal
                             : what == activity::node ? table::text
                                                      : table::code,
                       .word = e.name()};
  if (what <= activity::node) ++sample_at(at).tasks;
  open({.since = at, .id = e.id, .name = of, .kind = static_cast<slice_kind>(what)});
}

thread_activity::running* thread_activity::of_coroutine(std::uint64_t id) noexcept {
  if (stack_.empty()) return nullptr;
  running& r = stack_.back();
  return (r.coroutine != 0 ? r.coroutine : r.id) == id ? &r : nullptr;
}

void thread_activity::take(std::int64_t at, trace_event const& e) {
  advance(at);
  switch (e.kind()) {
  case event_kind::begin:
    return begin(at, e);
  case event_kind::end:
    return close_one(at, static_cast<slice_kind>(e.aux() & ~follows), e.id);
  case event_kind::became:
    if (!stack_.empty() && stack_.back().kind == slice_kind::task) stack_.back().coroutine = e.id;
    return;
  case event_kind::resume:
    // A member of a group that another thread took: what it runs is the coroutine.
    if (!stack_.empty() && stack_.back().kind == slice_kind::latent && stack_.back().coroutine == 0)
      stack_.back().coroutine = e.id;
    if (running* const r = of_coroutine(e.id)) r->name = {.in = unread_name::table::code, .word = e.name()};
    return;
  case event_kind::got:
    ++sample_at(at).steals;
    return;
  case event_kind::search: // between its tasks
    while (!stack_.empty()) close(at);
    return;
  case event_kind::park:
    asleep_since_ = at;
    parker = e.id;
    return;
  case event_kind::unparked:
    asleep_since_ = -1;
    if (stack_.empty()) idle_since_ = at;
    return;
  case event_kind::wake:
    ++sample_at(at).wakes;
    return;
  case event_kind::wait:
    return open({.since = at,
                 .id = e.id,
                 .name = {.in = unread_name::table::literal, .word = e.id},
                 .kind = slice_kind::wait,
                 .for_thread = e.name()});
  case event_kind::wait_over:
    return close_one(at, slice_kind::wait, e.id);
  case event_kind::joined:
    pool = e.id;
    number = e.name();
    is_inside = true;
    is_worker = e.aux() == 1;
    return;
  case event_kind::left:
    if (e.aux() == 1)
      while (!stack_.empty()) close(at);
    is_inside = is_inside && pool != e.id;
    is_worker = is_worker && e.aux() != 1;
    return;
  default: // of no consequence for what it does
    return;
  }
}

thread_activity::running const* thread_activity::innermost() const noexcept {
  auto const named = [](running const& r) {
    return is_activity(r.kind) && r.name.in != unread_name::table::none;
  };
  auto const found = std::find_if(stack_.rbegin(), stack_.rend(), named);
  return found != stack_.rend() ? &*found : nullptr;
}

activity_sample thread_activity::last_second(std::int64_t now) const noexcept {
  constexpr std::int64_t second = 1'000'000'000;
  activity_sample sum;
  for (activity_sample const& s : samples_) {
    if (s.covered == 0 || s.begin + second < now) continue;
    sum.covered += s.covered;
    sum.busy += s.busy;
    sum.tasks += s.tasks;
    sum.steals += s.steals;
    sum.wakes += s.wakes;
  }
  return sum;
}

std::vector<double> thread_activity::history(std::int64_t now) const {
  std::int64_t const present = now - now % sample_ns;
  std::vector<double> shares(samples - 1, 0.0);
  for (activity_sample const& s : samples_) {
    std::int64_t const ago = (present - s.begin) / sample_ns;
    if (s.covered == 0 || ago < 1 || ago >= static_cast<std::int64_t>(samples)) continue;
    shares[samples - 1 - static_cast<std::size_t>(ago)] =
        static_cast<double>(s.busy) / static_cast<double>(s.covered);
  }
  return shares;
}

} // namespace rubato::detail
