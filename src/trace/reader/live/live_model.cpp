#include "trace/reader/live/live_model.hpp"

#include "os/io/mapped_file.hpp"
#include "os/io/process.hpp"
#include "os/thread.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace rubato::detail {

void live_model::open(os::input_file file, std::string path) {
  close();
  source_.open(std::move(file), std::move(path));
  symbols_ = std::make_unique<symbols>(source_.modules);
  is_open_ = true;
}

void live_model::close() noexcept {
  source_.close();
  is_open_ = false;
  last_event_ = 0;
  threads_.clear();
  steals_.clear();
  got_.clear();
  seats_.clear();
  queued_ = {};
  suspended_ = {};
  stands_at_.clear();
  code_names_.clear();
  wait_names_.clear();
  literals_.clear();
}

void live_model::take(ring_news const& news) {
  if (threads_.size() <= news.ring) {
    threads_.resize(news.ring + 1);
    got_.resize(news.ring + 1);
    stands_at_.resize(news.ring + 1);
  }
  if (news.events.empty()) return;
  std::int64_t const first = source_.ns(news.events.front().ticks);
  std::optional<thread_activity>& t = threads_[news.ring];
  if (news.has_new_owner || !t) {
    t.emplace(first);
    got_[news.ring].reset();
  }
  t->thread = news.thread;
  t->name = news.name;
  if (news.has_lost_events) {
    t->resume_at(first);
    queued_.forget_all();
    suspended_.forget_all();
  }
  for (trace_event const& e : news.events) {
    auto const kind = static_cast<unsigned>(e.kind());
    if (kind != 0 && kind < event_kinds) take(news.ring, source_.ns(e.ticks), e);
  }
}

void live_model::take(std::uint32_t on, std::int64_t at, trace_event const& e) {
  thread_activity& t = *threads_[on];
  t.take(at, e);
  last_event_ = std::max(last_event_, at);
  switch (e.kind()) {
  case event_kind::begin:
    queued_.end(e.id, e.ticks);
    if (got_[on]) {
      if (!t.stack().empty()) got_[on]->what = t.stack().back().name;
      steals_.push_back(*got_[on]);
      got_[on].reset();
      if (steals_.size() > most_steals) steals_.pop_front();
    }
    return;
  case event_kind::resume:
    suspended_.end(e.id, e.ticks);
    if (!steals_.empty() && steals_.back().by == on && steals_.back().at <= at && !t.stack().empty() &&
        t.stack().back().since >= steals_.back().at)
      steals_.back().what = t.stack().back().name; // the coroutine that was taken
    return;
  case event_kind::stands_at:
    stands_at_[on] = e.name();
    return;
  case event_kind::suspend:
    suspended_.begin(e.id, e.ticks, {.where = stands_at_[on], .reason = e.name()});
    return;
  case event_kind::ready:
    suspended_.end(e.id, e.ticks);
    queued_.begin(e.id, e.ticks, true);
    return;
  case event_kind::got:
    got_[on] = steal{.at = at,
                     .by = on,
                     .pool = t.pool,
                     .from = e.name(),
                     .is_from_seat = transfer_in(e.aux()) == transfer::stolen,
                     .what = {}};
    return;
  case event_kind::seats:
    if (pool_seats& s = seats_[e.id]; e.occurred() >= s.ticks)
      s = {.ticks = e.occurred(), .is_any_free = e.aux() != 0};
    return;
  default: // of no consequence for what is shared
    return;
  }
}

std::string live_model::name_of(unread_name n) {
  using table = unread_name::table;
  auto const known = [&](auto& names, auto&& read) -> std::string const& {
    auto const [at, is_new] = names.try_emplace(n.word);
    if (is_new) at->second = read();
    return at->second;
  };
  switch (n.in) {
  case table::code:
    return known(code_names_, [&] { return symbols_->name(n.word); });
  case table::wait:
    return n.word == 0 ? "another library's awaitable"
                       : known(wait_names_, [&] { return symbols_->wait(n.word); });
  case table::literal:
    return known(literals_, [&] { return symbols_->literal(n.word); });
  case table::text:
    return source_.text(n.word);
  case table::none:
    break;
  }
  return {};
}

std::string live_model::name_of(thread_activity const& t) {
  std::string name = source_.text(t.name);
  return name.empty() ? std::to_string(t.thread) : name;
}

/// The thread that has this number in the pool, or was the last known to have it. `pool`: zero if the caller
/// is in none: then it is known if only one pool has such a thread.
thread_activity const* live_model::find_thread(std::uint64_t pool, std::uint64_t number) const noexcept {
  thread_activity const* found = nullptr;
  for (auto const& t : threads_) {
    if (!t || t->pool == 0 || t->number != number || (pool != 0 && t->pool != pool)) continue;
    if (found != nullptr && pool == 0) return nullptr;
    if (found == nullptr || t->is_inside) found = &*t;
  }
  return found;
}

live_thread live_model::picture_of(thread_activity const& t) {
  live_thread p;
  p.name = name_of(t);
  p.thread = t.thread;
  p.is_worker = t.is_worker;
  thread_activity::running const* const inner = t.innermost();
  bool const waits = !t.stack().empty() && t.stack().back().kind == slice_kind::wait;
  if (waits) {
    thread_activity::running const& w = t.stack().back();
    p.state = live_state::waits;
    p.what = name_of(w.name);
    if (inner != nullptr) p.in = name_of(inner->name);
    if (w.for_thread != 0)
      if (thread_activity const* const other = find_thread(t.pool, w.for_thread - 1); other != nullptr)
        p.waits_for = name_of(*other);
    p.since_ns = now_ - w.since;
  } else if (!t.stack().empty()) {
    p.state = t.is_asleep() ? live_state::waits : live_state::runs;
    thread_activity::running const& shown = inner != nullptr ? *inner : t.stack().back();
    p.what = inner != nullptr ? name_of(inner->name) : std::string(word_of(shown.kind));
    p.since_ns = now_ - (t.is_asleep() ? t.idle_since() : shown.since);
  } else {
    p.state = t.is_asleep() ? live_state::sleeps : live_state::searches;
    if (t.is_asleep() && has_no_seat(t.pool)) p.what = "no seat is free";
    p.since_ns = now_ - t.idle_since();
  }
  p.since_ns = std::max<std::int64_t>(0, p.since_ns);
  activity_sample const s = t.last_second(now_);
  if (s.covered > 0) {
    double const seconds = static_cast<double>(s.covered) / 1e9;
    p.busy = static_cast<double>(s.busy) / static_cast<double>(s.covered);
    p.rates = {.tasks = static_cast<double>(s.tasks) / seconds,
               .steals = static_cast<double>(s.steals) / seconds,
               .wakes = static_cast<double>(s.wakes) / seconds};
  }
  p.history = t.history(now_);
  p.cpu = t.cpu.share();
  return p;
}

/// A thread of this process can be asked without a file of /proc.
void live_model::measure(thread_activity& t) const noexcept {
  auto const process = static_cast<int>(source_.process);
  auto const thread = static_cast<os::thread_id>(t.thread);
  auto const used =
      process == os::process_id() ? os::cpu_time(thread) : os::cpu_counts_of(process, thread).ran;
  t.cpu.measure(source_.now(), used.count());
}

bool live_model::has_no_seat(std::uint64_t pool) const noexcept {
  auto const known = seats_.find(pool);
  return known != seats_.end() && !known->second.is_any_free;
}

/// Each pool may have an address of its own.
void live_model::forget_pools() {
  std::erase_if(seats_, [this](auto const& s) {
    return std::ranges::none_of(threads_,
                                [&](auto const& t) { return t && t->is_inside && t->pool == s.first; });
  });
}

std::string live_model::source_of(steal const& s) {
  if (s.is_from_seat) return "the queue of seat " + std::to_string(s.from);
  thread_activity const* const from = find_thread(s.pool, s.from);
  return from != nullptr ? name_of(*from) : "another thread";
}

void live_model::add_steals(live_picture& p) {
  std::ranges::sort(steals_, {}, &steal::at);
  for (auto s = steals_.rbegin(); s != steals_.rend(); ++s) {
    if (s->by >= threads_.size() || !threads_[s->by]) continue;
    p.steals.push_back({.by = name_of(*threads_[s->by]),
                        .from = source_of(*s),
                        .what = name_of(s->what),
                        .ago_ns = std::max<std::int64_t>(0, now_ - s->at)});
  }
}

void live_model::add_suspended(live_picture& p) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, live_suspended> all;
  suspended_.for_each([&](suspension const& s, std::uint64_t ticks) {
    live_suspended& one = all[{s.where, s.reason}];
    ++one.number;
    one.longest_ns = std::max(one.longest_ns, now_ - source_.ns(ticks));
  });
  using table = unread_name::table;
  for (auto& [key, one] : all) {
    one.what = name_of({.in = key.first != 0 ? table::code : table::none, .word = key.first});
    one.reason = name_of({.in = table::wait, .word = key.second});
    p.waits.push_back(std::move(one));
  }
  std::ranges::sort(p.waits, std::ranges::greater(),
                    [](live_suspended const& s) { return std::tuple(s.number, s.longest_ns, s.what); });
  p.suspended = suspended_.size();
}

std::size_t live_model::entries() const noexcept {
  std::size_t n = threads_.size() + got_.size() + stands_at_.size() + steals_.size() + seats_.size() +
                  queued_.entries() + suspended_.entries() + code_names_.size() + wait_names_.size() +
                  literals_.size() + source_.bytes();
  for (auto const& t : threads_)
    if (t) n += t->stack().size();
  return n;
}

live_picture live_model::look() {
  live_picture p;
  if (!is_open_) {
    p.is_off = true;
    return p;
  }
  bool const lives = source_.process_lives(); // before the rings: it may end meanwhile
  std::int64_t const now = source_.now();
  source_.read([this](ring_news const& news) { take(news); });
  now_ = lives ? now : last_event_;
  for (auto& t : threads_)
    if (t) t->advance(now_);
  p.process = source_.process;
  p.has_ended = !lives;
  p.at_ns = now_;
  for (auto& t : threads_) {
    // Others than workers are of interest while they take part.
    if (!t || (!t->is_worker && t->stack().empty())) continue;
    if (lives) measure(*t);
    live_thread one = picture_of(*t);
    p.rates.tasks += one.rates.tasks;
    p.rates.steals += one.rates.steals;
    p.rates.wakes += one.rates.wakes;
    p.threads.push_back(std::move(one));
  }
  std::ranges::sort(p.threads, {}, [](live_thread const& t) {
    return std::tuple(!t.is_worker, t.name.size(), t.name, t.thread); // engine/2 before engine/10
  });
  add_steals(p);
  add_suspended(p);
  p.queued = queued_.size();
  p.is_partial = queued_.is_partial() || suspended_.is_partial();
  forget_pools();
  queued_.forget_ended();
  suspended_.forget_ended();
  return p;
}

} // namespace rubato::detail
