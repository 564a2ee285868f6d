#include "trace/reader/report.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::size_t most_rows = 20, most_waits = 10, widest_name = 60;
constexpr std::int64_t fine_task = 1'000, fine_steal = 2'000; // ns: what is given away costs about as much

// NOLINTNEXTLINE(cert-dcl50-cpp): printf checks its arguments
[[gnu::format(printf, 1, 2)]] std::string print(char const* format, ...) {
  std::array<char, 400> text;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string time(std::int64_t ns) {
  double const n = static_cast<double>(ns);
  if (ns < 10'000) return print("%lld ns", static_cast<long long>(ns));
  if (ns < 10'000'000) return print("%.1f us", n / 1e3);
  if (ns < 10'000'000'000) return print("%.1f ms", n / 1e6);
  return print("%.1f s", n / 1e9);
}

double share(std::int64_t part, std::int64_t all) noexcept {
  return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string shortened(std::string_view name) {
  if (name.empty()) return "(no name)";
  if (name.size() <= widest_name) return std::string(name);
  return std::string(name.substr(0, widest_name - 3)) + "...";
}

/// All instances of one name.
struct by_name {
  std::uint32_t name = 0;
  std::vector<std::int64_t> lengths;
  std::int64_t self = 0;
  slice const* longest = nullptr;
  track const* longest_on = nullptr;
};

class reporter {
  timeline const& t_;
  std::string out_;
  std::int64_t busy_ = 0;

  void line(std::string const& text) { out_ += text + '\n'; }
  template<class F>
  void for_each_slice(F f) const {
    for (track const& k : t_.tracks)
      for (slice const& s : k.slices) f(k, s);
  }

  void write_head() {
    std::size_t workers = 0;
    std::uint64_t lost = 0;
    for (track const& k : t_.tracks) {
      busy_ += k.busy;
      lost += k.lost;
      workers += k.is_worker ? 1 : 0;
    }
    std::int64_t const lasted = t_.last() - t_.first();
    line(print("%s recorded, %zu threads, %zu of them workers", time(lasted).c_str(), t_.tracks.size(),
               workers));
    line(print("busy: %s (T1), as much as %.2f threads all the time", time(busy_).c_str(),
               lasted > 0 ? static_cast<double>(busy_) / static_cast<double>(lasted) : 0.0));
    line(print("realised span: %s; the work that began when it could would keep %.1f threads busy",
               time(t_.span).c_str(),
               t_.span > 0 ? static_cast<double>(busy_) / static_cast<double>(t_.span) : 0.0));
    line("  (a fork that no other thread took is a part of its task, so the span is an upper bound)");
    if (lost != 0)
      line(print("%llu older events were overwritten: see RUBATO_TRACE_EVENTS",
                 static_cast<unsigned long long>(lost)));
    if (t_.untraced != 0)
      line(print("%llu threads are missing: there was no room on the disk",
                 static_cast<unsigned long long>(t_.untraced)));
  }

  void write_names() {
    std::map<std::uint32_t, by_name> all;
    for_each_slice([&](track const& k, slice const& s) {
      if (!is_activity(s.kind)) return;
      by_name& n = all[s.name];
      n.name = s.name;
      n.lengths.push_back(s.length() - s.waited);
      n.self += s.self();
      if (n.longest == nullptr || s.length() > n.longest->length()) {
        n.longest = &s;
        n.longest_on = &k;
      }
    });
    std::vector<by_name*> rows;
    for (auto& [name, n] : all) rows.push_back(&n);
    std::ranges::sort(rows, std::ranges::greater(), &by_name::self);
    line("\nBy name, without waits; self: without what ran inside");
    line(print("%9s %6s %10s %10s %10s  %s", "count", "self", "p50", "p99", "max", "name; the longest"));
    for (std::size_t i = 0; i != std::min(rows.size(), most_rows); ++i) {
      by_name& n = *rows[i];
      std::ranges::sort(n.lengths);
      auto const quantile = [&n](std::size_t percent) {
        return time(n.lengths[(n.lengths.size() - 1) * percent / 100]);
      };
      line(print("%9zu %5.1f%% %10s %10s %10s  %s; at %s on %s (thread %llu)", n.lengths.size(),
                 share(n.self, busy_), quantile(50).c_str(), quantile(99).c_str(), quantile(100).c_str(),
                 shortened(t_.names[n.name]).c_str(), time(n.longest->begin).c_str(),
                 n.longest_on->name.c_str(), static_cast<unsigned long long>(n.longest_on->thread)));
    }
  }

  void write_grain() {
    static constexpr std::array<std::pair<std::int64_t, char const*>, 6> classes{
        {{1'000, "< 1 us"},
         {10'000, "< 10 us"},
         {100'000, "< 100 us"},
         {1'000'000, "< 1 ms"},
         {10'000'000, "< 10 ms"},
         {std::int64_t{1} << 62U, "longer"}}};
    std::array<std::size_t, classes.size()> count{};
    std::array<std::int64_t, classes.size()> sum{};
    std::int64_t work = 0, fine = 0, fine_steals = 0;
    for_each_slice([&](track const& /*k*/, slice const& s) {
      if (!is_work(s.kind) || s.open) return;
      std::int64_t const length = s.length() - s.waited;
      std::size_t c = 0;
      while (length >= classes[c].first) ++c;
      ++count[c];
      sum[c] += s.self();
      work += s.self();
      if (s.kind == slice_kind::latent) {
        if (length < fine_steal) fine_steals += s.self();
      } else if (length < fine_task) {
        fine += s.self();
      }
    });
    line("\nGrain: lengths of tasks, children and stolen halves");
    for (std::size_t c = 0; c != classes.size(); ++c)
      if (count[c] != 0)
        line(print("%9zu %5.1f%% of the time  %s", count[c], share(sum[c], work), classes[c].second));
    if (work == 0)
      line("verdict: nothing was queued, forked to another thread or put into a scope");
    else if (share(fine, work) > 20)
      line(print("verdict: too fine. %.0f%% of the time is in tasks of less than 1 us, whose queuing costs as "
                 "much. Let a task do more, or use a loop, which chooses its grain",
                 share(fine, work)));
    else if (share(fine_steals, work) > 20)
      line(print("verdict: too fine. %.0f%% of the time is in stolen halves of less than 2 us: stop forking "
                 "earlier",
                 share(fine_steals, work)));
    else
      line("verdict: coarse enough");
  }

  void write_idle() {
    std::int64_t woken = 0, searched = 0, queued = 0, nothing = 0, all = 0;
    for (track const& k : t_.tracks) {
      if (!k.is_worker) continue;
      woken += k.woken;
      searched += k.searched;
      queued += k.work_was_queued;
      nothing += k.nothing_queued;
      all += k.last - k.first;
    }
    line("\nIdle time of the workers, by its reason; shares of their time");
    auto const row = [&](std::int64_t sum, char const* reason) {
      line(print("%10s %5.1f%%  %s", time(sum).c_str(), share(sum, all), reason));
    };
    row(nothing, "nothing queued: the program gives too little work at a time, or it was latent");
    row(queued, "asleep while a task was queued: bound to another seat, or no thread was woken");
    row(woken, "woken, waits for a CPU: other threads or programs have it");
    row(searched, "searched for work, or between two tasks");
  }

  void write_waits() {
    std::vector<std::pair<track const*, slice const*>> queued;
    for_each_slice([&](track const& k, slice const& s) {
      if (s.queued > 0) queued.emplace_back(&k, &s);
    });
    auto const longest = queued.begin() + static_cast<std::ptrdiff_t>(std::min(queued.size(), most_waits));
    std::ranges::partial_sort(queued, longest, std::ranges::greater(),
                              [](auto const& q) { return q.second->queued; });
    if (!queued.empty()) line("\nLongest waits in a queue");
    for (auto q = queued.begin(); q != longest; ++q)
      line(print("%10s  %s; began at %s on %s", time(q->second->queued).c_str(),
                 shortened(t_.names[q->second->name]).c_str(), time(q->second->begin).c_str(),
                 q->first->name.c_str()));
    if (!t_.waits.empty()) line("\nWhat waits for what");
    for (std::size_t i = 0; i != std::min(t_.waits.size(), most_waits); ++i) {
      wait_total const& w = t_.waits[i];
      line(print("%10s in all, %s at most, %llu times: %s %s %s", time(w.sum).c_str(),
                 time(w.longest).c_str(), static_cast<unsigned long long>(w.count),
                 w.in == 0 ? "a thread" : shortened(t_.names[w.in]).c_str(),
                 w.suspended ? "was suspended in" : "waited in", shortened(t_.names[w.reason]).c_str()));
    }
  }

public:
  explicit reporter(timeline const& t)
      : t_(t) {}
  [[nodiscard]] std::string write() && {
    write_head();
    write_names();
    write_grain();
    write_idle();
    write_waits();
    return std::move(out_);
  }
};

} // namespace

std::string report_of(timeline const& t) { return reporter(t).write(); }

} // namespace rubato::detail
