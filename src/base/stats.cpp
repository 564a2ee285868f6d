// The text format of Prometheus: docs of prometheus.io, "Exposition formats", version 0.0.4.
#include "rubato/stats.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <utility>

namespace rubato {

namespace {

struct counter {
  std::string_view name, help;
  std::uint64_t seat_stats::* value;
};
constexpr std::array<counter, 11> counters{{
    {"executed", "Tasks begun.", &seat_stats::executed},
    {"spawned", "Tasks queued by tasks.", &seat_stats::spawned},
    {"handed", "Latent jobs and chunks of loops that busy threads handed over on request.",
     &seat_stats::handed},
    {"taken", "Latent jobs and chunks of loops that thieves took without the owner's help.",
     &seat_stats::taken},
    {"stolen", "Tasks taken from another seat's queue, and children of scopes, by a searcher.",
     &seat_stats::stolen},
    {"parked", "Sleeps for want of work.", &seat_stats::parked},
    {"woken", "Wakes of a sleeping worker.", &seat_stats::woken},
    {"vacated", "Waits that left the seat.", &seat_stats::vacated},
    {"relieved", "Tasks begun by relief, because they had been ready for 10 ms.", &seat_stats::relieved},
    {"timers", "Timers that fired.", &seat_stats::timers},
    {"io_events", "Events from the kernel.", &seat_stats::io_events},
}};
static_assert(sizeof(seat_stats) == counters.size() * sizeof(std::uint64_t), "a counter is not written");

std::string escaped(std::string_view label) {
  std::string text;
  for (char const c : label) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\\' || c == '"')
      (text += '\\') += c;
    else
      text += c;
  }
  return text;
}

class exposition {
  std::span<pool_stats const> pools_;
  std::vector<std::string> labels_;

  void head(std::string_view name, std::string_view suffix, std::string_view help, std::string_view type) {
    for (auto const& [word, rest] : {std::pair{"HELP", help}, std::pair{"TYPE", type}})
      (((((text += "# ") += word) += " rubato_") += name) += suffix).append(" ").append(rest) += '\n';
  }
  void line(std::string_view name, std::string_view suffix, std::size_t pool, std::string_view more,
            std::uint64_t value) {
    ((((text += "rubato_") += name) += suffix) += "{pool=\"") += labels_[pool];
    ((((text += '"') += more) += "} ") += std::to_string(value)) += '\n';
  }

public:
  std::string text;

  explicit exposition(std::span<pool_stats const> pools)
      : pools_(pools) {
    for (pool_stats const& p : pools) labels_.push_back(escaped(p.name));
  }
  /// Value: of a pool.
  template<class Value>
  void count(std::string_view name, std::string_view help, Value value) {
    head(name, "_total", help, "counter");
    for (std::size_t i = 0; i != pools_.size(); ++i) line(name, "_total", i, "", value(pools_[i]));
  }
  template<class Value>
  void gauge(std::string_view name, std::string_view help, Value value) {
    head(name, "", help, "gauge");
    for (std::size_t i = 0; i != pools_.size(); ++i) line(name, "", i, "", value(pools_[i]));
  }
  void by_priority() {
    // Not the normal ones: they are a difference of counts, which may go back.
    head("priority_executed", "_total", "Tasks of high and of low priority begun; all others are normal.",
         "counter");
    for (std::size_t i = 0; i != pools_.size(); ++i) {
      line("priority_executed", "_total", i, ",priority=\"high\"", pools_[i].of(priority::high).executed);
      line("priority_executed", "_total", i, ",priority=\"low\"", pools_[i].of(priority::low).executed);
    }
    head("priority_queued", "", "Tasks that have not begun, by priority.", "gauge");
    for (std::size_t i = 0; i != pools_.size(); ++i) {
      line("priority_queued", "", i, ",priority=\"high\"", pools_[i].of(priority::high).queued);
      line("priority_queued", "", i, ",priority=\"normal\"", pools_[i].of(priority::normal).queued);
      line("priority_queued", "", i, ",priority=\"low\"", pools_[i].of(priority::low).queued);
    }
  }
};

} // namespace

void pool_stats::prometheus(std::ostream& to, std::span<pool_stats const> pools) {
  exposition all(pools);
  for (counter const& c : counters)
    all.count(c.name, c.help, [&c](pool_stats const& p) { return p.*c.value; });
  all.count("contended", "Steals of latent jobs that were not tried: another thief was at it.",
            [](pool_stats const& p) { return p.contended; });
  all.gauge("queued", "Tasks that have not begun.", [](pool_stats const& p) { return p.queued; });
  all.gauge("seats", "Tasks that may run at the same time.",
            [](pool_stats const& p) { return p.seats.size(); });
  all.gauge("spares", "Threads beyond the number of seats.", [](pool_stats const& p) { return p.spares; });
  all.gauge("stragglers", "Losing copies of hedged calls that still run.",
            [](pool_stats const& p) { return p.stragglers; });
  all.by_priority();
  to.write(all.text.data(), static_cast<std::streamsize>(all.text.size())); // not as `to` writes numbers
}

void pool_stats::prometheus(std::ostream& to) const { prometheus(to, std::span(this, 1)); }

} // namespace rubato
