#include "trace/reader/output/report.hpp"

#include "trace/ring_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::size_t most_rows = 20, most_waits = 10, widest_name = 60;
constexpr std::int64_t fine_task = 1'000, fine_steal = 2'000; // ns: what is given away costs about as much
constexpr std::size_t many_tasks = 1'000;

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

  [[nodiscard]] std::string name(std::uint32_t number) const { return shortened(t_.names[number]); }
  void line(std::string const& text) { out_ += text + '\n'; }
  template<class F>
  void for_each_slice(F f) const {
    for (track const& k : t_.tracks)
      for (slice const& s : k.slices) f(k, s);
  }

  void write_head() {
    std::size_t workers = 0;
    std::uint64_t lost = 0, written = 0;
    constexpr std::uint64_t reserve = 64; // a reader leaves out so many of a ring that is full
    constexpr std::uint64_t most_events = ring_file_layout::most_events;
    for (track const& k : t_.tracks) {
      busy_ += k.busy;
      lost += k.lost;
      written = std::max(written, k.written);
      workers += k.is_worker ? 1 : 0;
    }
    std::int64_t const lasted = t_.last() - t_.first();
    line(print("%s recorded, %zu threads, %zu of them workers", time(lasted).c_str(), t_.tracks.size(),
               workers));
    if (t_.part.from > 0 || t_.part.to < std::numeric_limits<std::int64_t>::max())
      line(print("  from %s to %s after the start: what reaches beyond is cut there",
                 time(t_.first()).c_str(), time(t_.last()).c_str()));
    line(print("busy: %s (T1, the time of all tasks), as much as %.2f threads all the time",
               time(busy_).c_str(),
               lasted > 0 ? static_cast<double>(busy_) / static_cast<double>(lasted) : 0.0));
    line(print("realised span: %s; the work that began when it could would keep %.1f threads busy",
               time(t_.span).c_str(),
               t_.span > 0 ? static_cast<double>(busy_) / static_cast<double>(t_.span) : 0.0));
    line("  (a fork that no other thread took is a part of its task, so the span may be longer than it need "
         "be)");
    if (lost != 0)
      line(print("%llu older events were overwritten: see RUBATO_TRACE_EVENTS, of which %llu %s",
                 static_cast<unsigned long long>(lost),
                 static_cast<unsigned long long>(std::min(std::bit_ceil(written + reserve), most_events)),
                 written + reserve > most_events ? "is the most: the busiest thread wrote more"
                                                 : "keeps as many as the busiest thread wrote"));
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
                 name(n.name).c_str(), time(n.longest->begin).c_str(), n.longest_on->name.c_str(),
                 static_cast<unsigned long long>(n.longest_on->thread)));
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
    std::size_t tasks = 0, fine_tasks = 0;
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
        return;
      }
      ++tasks;
      if (length >= fine_task) return;
      ++fine_tasks;
      fine += s.self();
    });
    // Their time alone does not tell: the task that spawns them, and those that lost their CPU, last longer.
    bool const most_are_fine = tasks >= many_tasks && share(static_cast<std::int64_t>(fine_tasks),
                                                            static_cast<std::int64_t>(tasks)) > 90;
    auto const queuing = static_cast<std::int64_t>(fine_tasks) * fine_task;
    line("\nGrain: lengths of tasks, children and stolen halves");
    for (std::size_t c = 0; c != classes.size(); ++c)
      if (count[c] != 0)
        line(print("%9zu %5.1f%% of the time  %s", count[c], share(sum[c], work), classes[c].second));
    if (work == 0)
      line("verdict: nothing was queued, forked to another thread or put into a scope");
    else if (share(fine, work) > 20)
      line(
          print("verdict: too fine. %.0f%% of the time is in tasks of less than 1 us, whose queuing costs as "
                "much. Let a task do more, or use a loop, which chooses its grain",
                share(fine, work)));
    else if (most_are_fine && share(queuing, work) > 10)
      line(print(
          "verdict: too fine. %zu of %zu tasks are of less than 1 us, and to queue one costs about as "
          "much. Let a task do more, or use a loop, which chooses its grain (min_chunk sets a least one)",
          fine_tasks, tasks));
    else if (share(fine_steals, work) > 20)
      line(print("verdict: too fine. %.0f%% of the time is in stolen halves of less than 2 us: stop forking "
                 "earlier",
                 share(fine_steals, work)));
    else
      line("verdict: coarse enough");
  }

  void write_idle() {
    struct reason {
      std::int64_t idle_time::* time;
      char const* head;
      char const* means;
    };
    static constexpr std::array<reason, 7> reasons{
        {{&idle_time::nothing, "nothing",
          "asleep, nothing was ready: the program gives too little work at a time"},
         {&idle_time::displaced, "outside",
          "asleep, a thread from outside, which called the pool, ran in its place"},
         {&idle_time::no_seat, "no seat",
          "asleep, while other threads had all seats: a spare thread, in the place of one that blocked"},
         {&idle_time::queued, "queued", "asleep, though a task was queued: for another thread"},
         {&idle_time::late, "late",
          "asleep, while another thread ran work of which it got a part only later"},
         {&idle_time::woken, "no CPU",
          "woken from sleep, waited for a CPU: other threads or programs had it"},
         {&idle_time::searched, "search", "awake, between two tasks or in search of one"}}};
    std::string head = print("%14s %6s %7s", "", "busy", "waited");
    for (reason const& r : reasons) head += print(" %7s", r.head);
    std::string rows;
    unsigned workers = 0;
    std::array<std::int64_t, reasons.size()> sums{};
    std::int64_t all = 0, busy = 0, waited = 0;
    auto const row = [&](std::string const& name, std::int64_t lasted, std::int64_t b, std::int64_t w,
                         std::array<std::int64_t, reasons.size()> const& times) {
      rows += print("%14.14s %5.1f%% %6.1f%%", name.c_str(), share(b, lasted), share(w, lasted));
      for (std::int64_t const t : times) rows += print(" %6.1f%%", share(t, lasted));
      rows += '\n';
    };
    for (track const& k : t_.tracks) {
      std::int64_t const lasted = k.last - k.first;
      if (!k.is_worker || (lasted == 0 && k.busy == 0)) continue; // not in this part
      std::int64_t const in_tasks = std::max<std::int64_t>(0, lasted - k.busy - k.idle.sum());
      std::array<std::int64_t, reasons.size()> times{};
      for (std::size_t i = 0; i != reasons.size(); ++i) sums[i] += times[i] = k.idle.*reasons[i].time;
      all += lasted;
      busy += k.busy;
      waited += in_tasks;
      if (++workers <= most_rows) row(k.name, lasted, k.busy, in_tasks, times);
    }
    line("\nWorkers: what they did with their time");
    line(head);
    if (workers != 1) row("all", all, busy, waited, sums);
    out_ += rows;
    line("    waited: in a task, for something");
    for (reason const& r : reasons) line(print("  %8s: %s", r.head, r.means));
    transfer_total const& got = t_.transfers;
    if (got.handed + got.taken + got.steals != 0)
      line(print(
          "from other threads: %llu forks or pieces of loops handed over, %llu taken, %llu steals of %llu "
          "queued tasks",
          static_cast<unsigned long long>(got.handed), static_cast<unsigned long long>(got.taken),
          static_cast<unsigned long long>(got.steals), static_cast<unsigned long long>(got.stolen)));
  }

  void write_unseated() {
    if (t_.unseated.empty()) return;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> all; // by thread and name
    for (unseated_return const& r : t_.unseated) ++all[{r.on_track, r.name}];
    std::vector<std::pair<std::size_t, std::pair<std::uint32_t, std::uint32_t>>> rows;
    for (auto const& [where, times] : all) rows.emplace_back(times, where);
    std::ranges::sort(rows, std::ranges::greater());
    line(print(
        "\nNo seat free: %zu times a thread came back from a wait or from rubato::blocking, and others had "
        "all seats",
        t_.unseated.size()));
    line(print("%9s  %s", "times", "thread; in"));
    for (std::size_t i = 0; i != std::min(rows.size(), most_waits); ++i) {
      track const& on = t_.tracks[rows[i].second.first];
      line(print("%9zu  %s (thread %llu); %s", rows[i].first, on.name.c_str(),
                 static_cast<unsigned long long>(on.thread), name(rows[i].second.second).c_str()));
    }
    line("  it ran on without one, beside as many threads as there are workers: the next of them that ends a "
         "task "
         "sleeps");
  }

  /// What a trace alone cannot tell: the kernel has counted it.
  void write_off_cpu() {
    constexpr double least = 10; // percent of a thread's time
    std::string rows;
    unsigned shown = 0;
    double ran = 0, ready = 0, blocked = 0; // so many threads all the time
    for (track const& k : t_.tracks) {
      double const busy = share(k.busy, k.last - k.first), off_cpu = busy - 100 * k.on_cpu;
      if (k.on_cpu < 0 || off_cpu < least || ++shown > most_rows) continue;
      double const without = std::min(off_cpu, 100 * k.without_cpu);
      ran += k.on_cpu;
      ready += without / 100;
      blocked += (off_cpu - without) / 100;
      std::map<std::uint32_t, std::int64_t> names;
      for (slice const& s : k.slices)
        if (is_activity(s.kind)) names[s.name] += s.self();
      auto const most = std::ranges::max_element(names, {}, [](auto const& n) { return n.second; });
      rows += print("%14.14s %5.1f%% %6.1f%% %6.1f%% %7.1f%%  %s\n", k.name.c_str(), busy, 100 * k.on_cpu,
                    without, off_cpu - without, most != names.end() ? name(most->first).c_str() : "?");
    }
    if (rows.empty()) return;
    line("\nBusy, but not on a CPU");
    if (t_.part.from > 0 || t_.part.to < std::numeric_limits<std::int64_t>::max())
      return line("    known for the whole trace only: leave out --from, --to and --last");
    line(print("%14s %6s %7s %7s %8s  %s", "", "busy", "on CPU", "ready", "blocked", "most of it in"));
    out_ += rows;
    line("     ready: to run, but other threads or programs had the CPUs");
    line("   blocked: in the kernel, by a mutex, a read, a sleep");
    if (ready > blocked)
      line("verdict: too few CPUs for these threads, or other programs had them");
    else if (shown > 1 && std::abs(ran - 1) < 0.2)
      line("verdict: one thread at a time. Probably all of them want one lock, and hold it for most of a "
           "task");
    else
      line("verdict: mostly blocked. Await a sleep or a read, or wrap it in rubato::blocking; hold a mutex "
           "for less");
  }

  void write_queues() {
    struct queue {
      std::uint32_t name = 0;
      std::vector<std::int64_t> times;
      std::int64_t sum = 0;
      std::map<std::uint32_t, std::size_t> by;
    };
    std::map<std::uint32_t, queue> all;
    for_each_slice([&](track const& /*k*/, slice const& s) {
      if (s.queued < 0) return;
      queue& q = all[s.name];
      q.name = s.name;
      q.times.push_back(s.queued);
      q.sum += s.queued;
      ++q.by[s.by];
    });
    if (all.empty()) return;
    std::vector<queue*> rows;
    for (auto& [name, q] : all) rows.push_back(&q);
    std::ranges::sort(rows, std::ranges::greater(), &queue::sum);
    line("\nReady, not yet begun: how long, and what made it ready most often");
    line(print("%9s %10s %10s %10s  %s", "count", "p50", "p99", "max", "name; by"));
    for (std::size_t i = 0; i != std::min(rows.size(), most_waits); ++i) {
      queue& q = *rows[i];
      std::ranges::sort(q.times);
      auto const quantile = [&q](std::size_t percent) {
        return time(q.times[(q.times.size() - 1) * percent / 100]);
      };
      auto const most = std::ranges::max_element(q.by, {}, [](auto const& b) { return b.second; });
      line(print("%9zu %10s %10s %10s  %s; by %s", q.times.size(), quantile(50).c_str(), quantile(99).c_str(),
                 quantile(100).c_str(), name(q.name).c_str(), name(most->first).c_str()));
    }
  }

  void write_waits() {
    if (t_.waits.empty()) return;
    line("\nWhat waits for what");
    for (std::size_t i = 0; i != std::min(t_.waits.size(), most_waits); ++i) {
      wait_total const& w = t_.waits[i];
      line(print("%10s in all, %s at most, %llu times: %s %s %s%s%s", time(w.sum).c_str(),
                 time(w.longest).c_str(), static_cast<unsigned long long>(w.times), name(w.in).c_str(),
                 w.suspended ? "awaited" : "waited in", name(w.reason).c_str(),
                 w.by != 0 ? ", ended by " : "", w.by != 0 ? name(w.by).c_str() : ""));
    }
  }

  void write_blocked() {
    struct blocked {
      std::uint32_t name = 0;
      std::size_t times = 0;
      std::int64_t sum = 0;
    };
    std::map<std::uint32_t, blocked> all;
    std::set<std::pair<std::uint32_t, std::int64_t>> seen; // a task may be found blocked more than once
    std::size_t times = 0;
    for (relief_sent const& r : t_.reliefs) {
      if (!r.is_blocked) continue;
      ++times;
      blocked& b = all[r.name];
      b.name = r.name;
      ++b.times;
      if (seen.emplace(r.on_track, r.since).second) b.sum += r.until - r.since;
    }
    if (times != 0) {
      std::vector<blocked> rows;
      for (auto const& [name, b] : all) rows.push_back(b);
      std::ranges::sort(rows, std::ranges::greater(), &blocked::sum);
      line(print("\nBlocked in the kernel: %zu times a thread was sent, since tasks were ready and a worker "
                 "slept in its task",
                 times));
      line(print("%9s %10s  %s", "times", "they took", "name"));
      for (std::size_t i = 0; i != std::min(rows.size(), most_waits); ++i)
        line(print("%9zu %10s  %s", rows[i].times, time(rows[i].sum).c_str(), name(rows[i].name).c_str()));
      line("  a std::mutex, a read or a sleep counts as busy time: wrap it in rubato::blocking(), or await "
           "Rubato's own");
    }
    if (times != t_.reliefs.size())
      line(print("%s%zu times a thread was sent, since tasks were ready and all workers computed",
                 times == 0 ? "\n" : "", t_.reliefs.size() - times));
  }

  void write_resumed() {
    if (t_.resumed.empty()) return;
    line("\nCoroutines that went on after a wait, and how many on another thread than before");
    for (std::size_t i = 0; i != std::min(t_.resumed.size(), most_waits); ++i) {
      resumed_total const& r = t_.resumed[i];
      line(print("%9llu %5.1f%%  %s", static_cast<unsigned long long>(r.times),
                 share(static_cast<std::int64_t>(r.elsewhere), static_cast<std::int64_t>(r.times)),
                 name(r.name).c_str()));
    }
  }

  void write_end() {
    if (t_.at_the_end.empty()) return;
    line("\nNot finished at the end, the oldest first");
    for (std::size_t i = 0; i != std::min(t_.at_the_end.size(), most_rows); ++i) {
      unfinished const& u = t_.at_the_end[i];
      track const& on = t_.tracks[u.on_track];
      std::string what;
      switch (u.is) {
      case unfinished::state::runs:
        what = name(u.name) + " runs";
        break;
      case unfinished::state::waits:
        what = name(u.name) + " waits in " + name(u.reason);
        break;
      case unfinished::state::suspended:
        what = name(u.name) + " awaits " + name(u.reason);
        break;
      case unfinished::state::queued:
        what = "a task is queued, by " + name(u.reason);
      }
      std::string const id =
          u.id != 0 ? print(", coroutine 0x%llx", static_cast<unsigned long long>(coroutine_address(u.id)))
                    : "";
      line(print("%10s  %s; on %s (thread %llu)%s", time(t_.last() - u.since).c_str(), what.c_str(),
                 on.name.c_str(), static_cast<unsigned long long>(on.thread), id.c_str()));
    }
    if (t_.at_the_end.size() > most_rows)
      line(print("            and %zu more", t_.at_the_end.size() - most_rows));
  }

public:
  explicit reporter(timeline const& t)
      : t_(t) {}
  [[nodiscard]] std::string write() && {
    write_head();
    write_names();
    write_grain();
    write_idle();
    write_unseated();
    write_off_cpu();
    write_queues();
    write_waits();
    write_blocked();
    write_resumed();
    write_end();
    return std::move(out_);
  }
};

} // namespace

std::string report_of(timeline const& t) { return reporter(t).write(); }

std::string coroutine_report_of(timeline const& t) {
  std::array<std::int64_t, 3> sums{};
  std::string rows;
  for (stretch const& s : t.coroutine) {
    static constexpr std::array<std::string_view, 3> words{"runs ", "awaits ", "is queued"};
    auto const is = static_cast<std::size_t>(s.is);
    sums[is] += s.end - s.begin;
    std::string what =
        std::string(words[is]) + (s.is != stretch::state::queued ? shortened(t.names[s.name]) : "");
    if (s.by != 0)
      what += (s.is == stretch::state::queued ? ", by " : ", ended by ") + shortened(t.names[s.by]);
    if (s.open) what += ", to the end of the recording";
    track const& on = t.tracks[s.on_track];
    rows +=
        print("%10s %10s  %s; on %s (thread %llu)\n", time(s.begin).c_str(), time(s.end - s.begin).c_str(),
              what.c_str(), on.name.c_str(), static_cast<unsigned long long>(on.thread));
  }
  return print("ran %s, was suspended for %s, and queued for %s\n", time(sums[0]).c_str(),
               time(sums[1]).c_str(), time(sums[2]).c_str()) +
         print("%10s %10s  %s\n", "at", "took", "what") + rows;
}

} // namespace rubato::detail
