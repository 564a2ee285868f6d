#include "options.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace rubato_trace {

namespace {

constexpr std::string_view ending = ".rings";
constexpr unsigned usual_port = 8765;

std::chrono::nanoseconds duration(std::string_view text) {
  double n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  std::string_view const unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double const scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : unit == "ns" ? 1 : 0;
  if (error != std::errc() || scale == 0 || n < 0 || n * scale > 9e18)
    throw wrong_usage("no time such as 2s, 150ms or 20us: " + std::string(text));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(n * scale));
}

std::size_t number(std::string_view text) {
  std::size_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n == 0)
    throw wrong_usage("no number from 1 on: " + std::string(text));
  return n;
}

unsigned number(std::string_view text, unsigned lowest, unsigned highest) {
  std::size_t const n = number(text);
  if (n < lowest || n > highest)
    throw wrong_usage("no number from " + std::to_string(lowest) + " to " + std::to_string(highest) + ": " +
                      std::string(text));
  return static_cast<unsigned>(n);
}

command command_of(std::string const& word) {
  if (word == "convert") return command::convert;
  if (word == "report") return command::report;
  if (word == "live") return command::live;
  if (word == "serve") return command::serve;
  throw wrong_usage("unknown command: " + word);
}

/// The file of rings that a process has open, if `text` is the number of one. Nothing: it is none.
std::optional<std::string> rings_of_process(std::string const& text) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (text.find_first_not_of("0123456789") != text.npos || fs::exists(text, ignored)) return {};
  if (!fs::exists("/proc/" + text, ignored)) throw std::runtime_error("there is no process " + text);
  fs::directory_iterator all("/proc/" + text + "/fd", ignored);
  if (ignored) throw std::runtime_error("process " + text + ": " + ignored.message());
  for (; all != fs::directory_iterator(); all.increment(ignored)) {
    std::string const to = fs::read_symlink(all->path(), ignored).string();
    if (to.ends_with(ending) || to.starts_with("/memfd:rubato.rings")) return all->path().string();
  }
  throw std::runtime_error("process " + text +
                           " records nothing: start it with RUBATO_TRACE=FILE or RUBATO_LIVE=1");
}

std::uint64_t address(std::string_view text) {
  std::uint64_t n = 0;
  std::string_view const digits = text.starts_with("0x") ? text.substr(2) : text;
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n, 16);
  if (error != std::errc() || end != digits.data() + digits.size() || n == 0)
    throw wrong_usage("no address such as 0x5555555dd380: " + std::string(text));
  return n;
}

std::string without_ending(std::string const& file) {
  return file.ends_with(ending) ? file.substr(0, file.size() - ending.size()) : file;
}

} // namespace

options parse(std::vector<std::string> const& arguments) {
  options asked;
  if (arguments.empty()) throw wrong_usage("convert, report, live or serve?");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") return asked;
  asked.wanted = command_of(arguments[0]);
  if (asked.wanted == command::serve) asked.view.port = usual_port;
  if (asked.wanted == command::live) asked.view.output = 1;
  std::string file;
  for (std::size_t i = 1; i != arguments.size(); ++i) {
    std::string const& a = arguments[i];
    auto const value = [&]() -> std::string const& {
      if (i + 1 == arguments.size()) throw wrong_usage(a + " needs a value");
      return arguments[++i];
    };
    bool const converts = asked.wanted == command::convert, is_live = asked.wanted == command::live;
    bool const looks_back = converts || asked.wanted == command::report;
    if (a == "--help" || a == "-h") return {};
    if (converts && a == "-o")
      asked.to = value();
    else if (converts && a == "--json")
      asked.how.json = true;
    else if (looks_back && a == "--from")
      asked.how.from = duration(value());
    else if (looks_back && a == "--to")
      asked.how.to = duration(value());
    else if (looks_back && a == "--last")
      asked.how.last = duration(value());
    else if (looks_back && a == "--coroutine")
      asked.how.coroutine = address(value());
    else if (converts && a == "--most")
      asked.how.most = number(value());
    else if (is_live && a == "--frames")
      asked.view.frames = number(value());
    else if (is_live && a == "--width")
      asked.view.width = number(value(), 1, 1'000);
    else if (is_live && a == "--rate")
      asked.view.frames_per_second = number(value(), 1, 60);
    else if (asked.wanted == command::serve && a == "--port")
      asked.view.port = number(value(), 1'024, 65'535);
    else if (a.starts_with('-'))
      throw wrong_usage("unknown option: " + a);
    else if (file.empty())
      file = a;
    else
      throw wrong_usage("one file at a time: " + a);
  }
  if (file.empty()) throw wrong_usage("which file?");
  if (asked.wanted == command::live || asked.wanted == command::serve)
    if (auto const rings = rings_of_process(file); rings) {
      asked.rings = *rings;
      return asked;
    }
  std::string const base = without_ending(file);
  bool const beside = !file.ends_with(ending) && std::filesystem::exists(file + std::string(ending));
  asked.rings = beside ? file + std::string(ending) : file;
  bool const is_part = asked.how.from || asked.how.to || asked.how.last;
  if (asked.wanted == command::convert && is_part && !asked.how.json && asked.to.empty())
    throw wrong_usage("a part would take the place of the whole: say where to, by -o OUT");
  if (asked.to.empty()) asked.to = asked.how.json ? base + ".json" : base;
  if (asked.wanted == command::convert && asked.to == asked.rings)
    throw wrong_usage("FILE would be overwritten: say where to, by -o OUT");
  return asked;
}

} // namespace rubato_trace
