#include "trace/reader/live/text/text_frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace rubato::detail {

namespace {

constexpr std::size_t most_below = 4; // steals, and reasons of coroutines

colour colour_of(live_state s) noexcept {
  static constexpr std::array<colour, 4> colours{colour::green, colour::yellow, colour::cyan, colour::dim};
  return colours[static_cast<std::size_t>(s)];
}

/// What there is room for.
struct table_columns {
  unsigned name = 6, bar = 0, history = 0;
  bool percent = false, cpu = false, rates = false, wakes = false;
};

table_columns columns_for(live_picture const& p, unsigned columns) {
  table_columns t;
  for (live_thread const& one : p.threads)
    t.name = std::max(t.name, static_cast<unsigned>(std::min<std::size_t>(one.name.size(), 16)));
  t.percent = columns >= 50;
  t.cpu = columns >= 80;
  t.bar = columns >= 150 ? 16 : columns >= 64 ? 10 : 0;
  t.rates = columns >= 90;
  t.wakes = columns >= 110;
  t.history = columns >= 140 ? 30 : columns >= 110 ? 16 : 0;
  return t;
}

class frame {
  live_picture const& p_;
  text_style const& style_;
  table_columns const room_;
  std::size_t const below_; // one each where threads would find no room
  std::vector<std::string> lines_;

  template<class F>
  void line(F write) {
    text_line l(style_);
    write(l);
    lines_.push_back(l.text());
  }

  void write_head() {
    constexpr unsigned one_line = 100;
    if (style_.columns >= one_line)
      return line([&](text_line& l) {
        write_title(l);
        l.add("   ");
        write_figures(l, "   ");
      });
    line([&](text_line& l) { write_title(l); });
    if (!p_.is_off) line([&](text_line& l) { write_figures(l, "  "); });
  }
  void write_title(text_line& l) const {
    l.add("rubato live", colour::bold);
    if (p_.process != 0) l.add("  process " + std::to_string(p_.process));
    if (p_.is_off) return l.add("  the trace is off", colour::yellow);
    l.add("  " + short_time(p_.at_ns));
    if (p_.has_ended) l.add("  has ended", colour::red);
  }
  void write_figures(text_line& l, std::string_view between) const {
    if (p_.is_off) return;
    auto const figure = [&](char const* what, std::string const& n, colour c) {
      l.add(n, c);
      l.add(' ' + std::string(what));
    };
    auto const more = [&](char const* what, std::string const& n, colour c) {
      l.add(between);
      figure(what, n, c);
    };
    std::string const at_least = p_.is_partial ? "+" : "";
    figure("tasks/s", short_number(p_.rates.tasks), colour::green);
    more("steals/s", short_number(p_.rates.steals), colour::magenta);
    more("wakes/s", short_number(p_.rates.wakes), colour::cyan);
    more("queued", short_number(static_cast<double>(p_.queued)) + at_least, colour::bold);
    if (p_.suspended != 0)
      more("suspended", short_number(static_cast<double>(p_.suspended)) + at_least, colour::yellow);
  }

  void write_headings() {
    line([&](text_line& l) {
      auto const heading = [&](char const* text, unsigned columns) {
        l.add_left(text, columns, colour::dim);
      };
      heading("thread", room_.name + 2);
      if (room_.bar != 0) heading("busy", room_.bar + (room_.percent ? 1 : 2));
      if (room_.percent) heading(room_.bar != 0 ? "" : "busy", 6);
      if (room_.cpu) {
        l.add_right("CPU", 4, colour::dim);
        l.add("  ");
      }
      if (room_.history != 0) heading(room_.history > 20 ? "last 3 s" : "last 1.6 s", room_.history + 2);
      if (room_.rates) {
        l.add_right("tasks/s", 7, colour::dim);
        l.add_right("steals/s", 10, colour::dim);
        if (room_.wakes) l.add_right("wakes/s", 9, colour::dim);
        l.add("  ");
      }
      l.add("now", colour::dim);
    });
  }

  void write_thread(live_thread const& t) {
    line([&](text_line& l) {
      colour const c = colour_of(t.state);
      l.add_left(shortened_to(t.name, room_.name), room_.name + 2,
                 t.is_worker ? colour::bold : colour::plain);
      if (room_.bar != 0) {
        l.add_bar(t.busy, room_.bar, colour::green);
        l.add(room_.percent ? " " : "  ");
      }
      if (room_.percent) {
        l.add_right(std::to_string(std::lround(t.busy * 100)) + '%', 4);
        l.add("  ");
      }
      if (room_.cpu) {
        l.add_right(t.cpu >= 0 ? std::to_string(std::lround(t.cpu * 100)) + '%' : "-", 4);
        l.add("  ");
      }
      if (room_.history != 0) {
        std::size_t const from = t.history.size() - std::min<std::size_t>(t.history.size(), room_.history);
        for (std::size_t i = from; i != t.history.size(); ++i) l.add_level(t.history[i], colour::green);
        l.add("  ");
      }
      if (room_.rates) {
        l.add_right(short_number(t.rates.tasks), 7);
        l.add_right(short_number(t.rates.steals), 10);
        if (room_.wakes) l.add_right(short_number(t.rates.wakes), 9);
        l.add("  ");
      }
      write_now(l, t, c);
    });
  }

  /// In the columns that are left the time comes last, whole, and the name gives way.
  static void write_now(text_line& l, live_thread const& t, colour c) {
    std::string const since = "  " + short_time(t.since_ns);
    std::string text;
    if (t.state == live_state::waits && !t.waits_for.empty())
      text = "for " + t.waits_for + (t.what.empty() ? "" : " (" + t.what + ")");
    else
      text = t.what;
    if (!t.in.empty()) text += ", in " + t.in;
    l.add(word_of(t.state), c);
    if (!text.empty()) {
      l.add(t.state == live_state::waits && t.waits_for.empty() ? ": " : " ");
      unsigned const left = l.columns_left(), reserved = static_cast<unsigned>(since.size());
      l.add(shortened_to(text, left > reserved ? left - reserved : 0),
            t.state == live_state::runs ? colour::bold : colour::plain);
    }
    l.add(since, colour::dim);
  }

  void write_steals() {
    for (std::size_t i = 0; i != std::min(below_, p_.steals.size()); ++i)
      line([&](text_line& l) {
        live_steal const& s = p_.steals[i];
        l.add_left(i == 0 ? "steals" : "", 9, colour::magenta);
        l.add(s.by, colour::bold);
        l.add(" took from ");
        l.add(s.from, colour::bold);
        std::string const ago = "  " + short_time(s.ago_ns) + " ago";
        unsigned const left = l.columns_left(), reserved = static_cast<unsigned>(ago.size()) + 2;
        if (!s.what.empty() && left > reserved) l.add(": " + shortened_to(s.what, left - reserved));
        l.add(ago, colour::dim);
      });
  }

  void write_suspended() {
    for (std::size_t i = 0; i != std::min(below_, p_.waits.size()); ++i)
      line([&](text_line& l) {
        live_suspended const& s = p_.waits[i];
        l.add_left(i == 0 ? "awaits" : "", 9, colour::yellow);
        l.add_right(short_number(static_cast<double>(s.number)), 4, colour::bold);
        std::string const longest = "  up to " + short_time(s.longest_ns);
        std::string const text = " x " + (s.what.empty() ? "a coroutine" : s.what) + ": " + s.reason;
        unsigned const left = l.columns_left(), reserved = static_cast<unsigned>(longest.size());
        l.add(shortened_to(text, left > reserved ? left - reserved : 0));
        l.add(longest, colour::dim);
      });
  }

public:
  frame(live_picture const& p, text_style const& style)
      : p_(p)
      , style_(style)
      , room_(columns_for(p, style.columns))
      , below_(style.rows == 0 || p.threads.size() + 2 * most_below + 3 <= style.rows ? most_below : 1) {}

  [[nodiscard]] std::vector<std::string> lines() && {
    write_head();
    if (p_.is_off) return std::move(lines_);
    write_headings();
    // Threads that find no room are counted.
    std::size_t const below = std::min(below_, p_.steals.size()) + std::min(below_, p_.waits.size());
    std::size_t room = p_.threads.size();
    if (style_.rows != 0 && room + below + lines_.size() > style_.rows) {
      std::size_t const others = below + lines_.size() + 1;
      room = std::min(room, style_.rows > others + 4 ? style_.rows - others : std::size_t{4});
    }
    for (std::size_t i = 0; i != room; ++i) write_thread(p_.threads[i]);
    if (room != p_.threads.size())
      line([&](text_line& l) {
        auto const run =
            std::count_if(p_.threads.begin() + static_cast<std::ptrdiff_t>(room), p_.threads.end(),
                          [](live_thread const& t) { return t.state == live_state::runs; });
        l.add("and " + std::to_string(p_.threads.size() - room) + " more, of which " + std::to_string(run) +
                  " run",
              colour::dim);
      });
    if (p_.threads.empty()) line([&](text_line& l) { l.add("no thread takes part in a pool", colour::dim); });
    write_steals();
    write_suspended();
    if (style_.rows != 0 && lines_.size() > style_.rows) lines_.resize(style_.rows);
    return std::move(lines_);
  }
};

} // namespace

std::vector<std::string> frame_of(live_picture const& p, text_style const& style) {
  return frame(p, style).lines();
}

} // namespace rubato::detail
