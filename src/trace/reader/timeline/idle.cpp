#include "trace/reader/timeline/idle.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace rubato::detail {

namespace {

/// How much of an interval lies in the union of others.
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
  /// What lies in both.
  [[nodiscard]] covered beside(covered const& other) const {
    std::vector<interval> both;
    for (auto a = parts_.begin(), b = other.parts_.begin(); a != parts_.end() && b != other.parts_.end();) {
      interval const i{std::max(a->from, b->from), std::min(a->to, b->to)};
      if (i.from < i.to) both.push_back(i);
      (a->to < b->to ? a : b)++;
    }
    return covered(std::move(both));
  }
};

/// The time that a sleeping worker of one pool is displaced. Each thread from outside takes the place of one
/// worker; the trace does not say of which, so the workers that sleep share it.
class displacement {
  struct moment {
    std::int64_t at = 0;
    double sum = 0, rate = 0; // up to then, and from then on
  };
  std::vector<moment> all_;

  [[nodiscard]] double until(std::int64_t t) const noexcept {
    auto const at = std::ranges::upper_bound(all_, t, {}, &moment::at);
    if (at == all_.begin()) return 0;
    moment const& m = *std::prev(at);
    return m.sum + m.rate * static_cast<double>(t - m.at);
  }

public:
  struct change {
    std::int64_t at = 0;
    int sleepers = 0, guests = 0;
  };
  explicit displacement(std::vector<change> changes) {
    std::ranges::sort(changes, {}, &change::at);
    int sleepers = 0, guests = 0;
    moment now;
    for (change const& c : changes) {
      now.sum += now.rate * static_cast<double>(c.at - now.at);
      now.at = c.at;
      sleepers += c.sleepers;
      guests += c.guests;
      now.rate = sleepers > 0 ? static_cast<double>(std::min(sleepers, guests)) / sleepers : 0;
      all_.push_back(now);
    }
  }
  [[nodiscard]] std::int64_t of(interval i) const noexcept {
    return static_cast<std::int64_t>(until(i.to) - until(i.from));
  }
};

} // namespace

void seats_of_pool::change(bool is_any_free, std::int64_t at) {
  if (is_any_free && (!is_known_ || !is_any_free_)) taken.push_back({.from = since_, .to = at});
  if (!is_known_ || is_any_free != is_any_free_) since_ = at;
  is_known_ = true;
  is_any_free_ = is_any_free;
}

void explain_sleeps(std::vector<track>& tracks, std::vector<sleep_of_worker> sleeps, beside_sleeps beside) {
  covered const with_work(std::move(beside.queued));
  std::map<std::uint64_t, std::vector<displacement::change>> changes; // by pool
  for (sleep_of_worker& s : sleeps) {
    s.late_from = std::clamp(s.late_from, s.time.from, s.time.to);
    changes[s.pool].push_back({.at = s.time.from, .sleepers = 1});
    changes[s.pool].push_back({.at = s.late_from, .sleepers = -1});
  }
  for (guest_time const& g : beside.guests) {
    changes[g.pool].push_back({.at = g.time.from, .guests = 1});
    changes[g.pool].push_back({.at = g.time.to, .guests = -1});
  }
  std::map<std::uint64_t, displacement> displaced;
  for (auto& [pool, all] : changes) displaced.emplace(pool, displacement(std::move(all)));
  struct taken_seats {
    covered all, with_work;
  };
  std::map<std::uint64_t, taken_seats> taken;
  for (auto& [pool, seats] : beside.seats) {
    covered all(std::move(seats.taken));
    covered both = all.beside(with_work);
    taken.emplace(pool, taken_seats{.all = std::move(all), .with_work = std::move(both)});
  }
  for (sleep_of_worker const& s : sleeps) {
    idle_time& idle = tracks[s.track].idle;
    interval const rest{s.time.from, s.late_from}, late{s.late_from, s.time.to};
    auto const known = taken.find(s.pool);
    auto const without_seat = [&](interval i) { return known != taken.end() ? known->second.all.of(i) : 0; };
    std::int64_t const no_seat = without_seat(rest), no_seat_late = without_seat(late);
    std::int64_t const queued =
        with_work.of(rest) - (known != taken.end() ? known->second.with_work.of(rest) : 0);
    std::int64_t const others = rest.to - rest.from - queued;
    std::int64_t const away = std::min(others, displaced.at(s.pool).of(rest)); // a guest may sit there
    idle.late += late.to - late.from - no_seat_late;
    idle.queued += queued;
    idle.displaced += away;
    idle.no_seat += no_seat_late + std::max<std::int64_t>(0, no_seat - away);
    idle.nothing += others - std::max(away, no_seat);
  }
}

} // namespace rubato::detail
