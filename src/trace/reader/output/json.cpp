#include "trace/reader/output/json.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace rubato::detail {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    auto const n = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (n < 0x20) {
      std::array<char, 8> code;
      std::snprintf(code.data(), code.size(), "\\u%04x", n);
      out += code.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// The unit of the format; three decimals keep the nanoseconds.
std::string microseconds(std::int64_t ns) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(ns) / 1000);
  return text.data();
}

} // namespace

std::string to_json(timeline const& t) {
  std::string out = "{\"traceEvents\":[\n";
  std::string const process = "\"pid\":" + std::to_string(t.process);
  bool first = true;
  auto const add = [&](std::string const& event) {
    if (!first) out += ",\n";
    first = false;
    out += event;
  };
  for (track const& k : t.tracks) {
    std::string const of = process + ",\"tid\":" + std::to_string(k.thread);
    add("{\"ph\":\"M\",\"name\":\"thread_name\"," + of + ",\"args\":{\"name\":" + quoted(k.name) + "}}");
    for (slice const& s : k.slices) {
      std::string name = t.names[s.name].empty() ? "(no name)" : t.names[s.name];
      if (s.merged > 1) name = std::to_string(s.merged) + " x " + name;
      std::string event = "{\"ph\":\"X\",\"name\":" + quoted(name) + ",\"cat\":" + quoted(word_of(s.kind)) +
                          ',' + of + ",\"ts\":" + microseconds(s.begin) +
                          ",\"dur\":" + microseconds(s.length());
      if (s.queued >= 0) event += ",\"args\":{\"queued_us\":" + microseconds(s.queued) + '}';
      add(event + '}');
    }
  }
  auto const add_moment = [&](auto const& m) {
    add("{\"ph\":\"i\",\"s\":\"t\",\"name\":" + quoted(text_of(m)) + ',' + process +
        ",\"tid\":" + std::to_string(t.tracks[m.on_track].thread) + ",\"ts\":" + microseconds(m.at) + '}');
  };
  for (relief_sent const& r : t.reliefs) add_moment(r);
  for (unseated_return const& r : t.unseated) add_moment(r);
  return out + "\n]}\n";
}

} // namespace rubato::detail
