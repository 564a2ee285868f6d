#include "trace/reader/live/web/live_json.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace rubato::detail {

namespace {

/// An object or a list that is being written.
class json_text {
  std::string& out_;
  char const end_;
  bool is_first_ = true;

  void next() {
    if (!is_first_) out_ += ',';
    is_first_ = false;
  }
  void write(std::string_view text) {
    out_ += '"';
    for (char const c : text) {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c < ' ' || c > '~' ? '?' : c;
    }
    out_ += '"';
  }
  void write(double n) {
    std::array<char, 40> text;
    std::snprintf(text.data(), text.size(), "%.3f", n);
    for (char const c : std::string_view(text.data())) out_ += c == ',' ? '.' : c; // whatever the locale is
  }
  void write(std::int64_t n) { out_ += std::to_string(n); }
  void write(std::uint64_t n) { out_ += std::to_string(n); }
  void write(bool b) { out_ += b ? "true" : "false"; }
  void write(char const* text) { write(std::string_view(text)); }

public:
  json_text(std::string& out, char begin, char end)
      : out_(out)
      , end_(end) {
    out_ += begin;
  }
  json_text(json_text const&) = delete;
  json_text& operator=(json_text const&) = delete;
  ~json_text() { out_ += end_; }

  template<class T>
  json_text& add(char const* name, T const& value) {
    next();
    write(name);
    out_ += ':';
    write(value);
    return *this;
  }
  void add(double value) {
    next();
    write(value);
  }
  /// A list; each element is written by f(list, element).
  template<class List, class F>
  void add_list(char const* name, List const& all, F f) {
    next();
    write(name);
    out_ += ':';
    json_text list(out_, '[', ']');
    for (auto const& one : all) f(list, one);
  }
  /// An object in a list.
  template<class F>
  void add_object(F f) {
    next();
    json_text object(out_, '{', '}');
    f(object);
  }
};

void add_rates(json_text& to, live_rates const& r) {
  to.add("tasks", r.tasks).add("steals", r.steals).add("wakes", r.wakes);
}

void add_thread(json_text& list, live_thread const& t) {
  list.add_object([&](json_text& o) {
    o.add("name", t.name).add("thread", t.thread).add("worker", t.is_worker);
    o.add("state", word_of(t.state)).add("what", t.what).add("in", t.in).add("for", t.waits_for);
    o.add("since", t.since_ns).add("busy", t.busy).add("cpu", t.cpu);
    o.add_list("history", t.history, [](json_text& to, double share) { to.add(share); });
    add_rates(o, t.rates);
  });
}

} // namespace

std::string json_of(live_picture const& p) {
  std::string out;
  {
    json_text o(out, '{', '}');
    o.add("process", p.process).add("ended", p.has_ended).add("off", p.is_off).add("at", p.at_ns);
    add_rates(o, p.rates);
    o.add("queued", p.queued).add("suspended", p.suspended).add("partial", p.is_partial);
    o.add_list("threads", p.threads, add_thread);
    o.add_list("taken", p.steals, [](json_text& list, live_steal const& s) {
      list.add_object([&](json_text& to) {
        to.add("by", s.by).add("from", s.from).add("what", s.what).add("ago", s.ago_ns);
      });
    });
    o.add_list("waits", p.waits, [](json_text& list, live_suspended const& s) {
      list.add_object([&](json_text& to) {
        to.add("what", s.what).add("reason", s.reason).add("number", s.number).add("longest", s.longest_ns);
      });
    });
  }
  return out;
}

} // namespace rubato::detail
