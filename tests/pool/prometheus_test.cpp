// pool_stats::prometheus(): what it writes obeys the grammar of the text format, version 0.0.4.
#include <rubato/pool.hpp>
#include <rubato/stats.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <locale>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace rubato_test {

namespace {

/// A reader of the format. What it does not accept it says in `wrong`.
class prometheus_text {
  std::string_view rest_;
  std::map<std::string, std::string> type_of_;
  std::set<std::string> helped_, finished_;
  std::string current_; ///< the metric whose lines are read

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::string take_name(bool with_colon) {
    std::size_t n = 0;
    auto const fits = [&](char c) {
      return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (with_colon && c == ':') ||
             (n != 0 && std::isdigit(static_cast<unsigned char>(c)) != 0);
    };
    while (n < rest_.size() && fits(rest_[n])) ++n;
    std::string name(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return name;
  }
  std::optional<std::string> take_label_value() {
    if (!take("\"")) return {};
    std::string value;
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\n') return {};
      if (take("\\\\"))
        value += '\\';
      else if (take("\\\""))
        value += '"';
      else if (take("\\n"))
        value += '\n';
      else if (rest_[0] == '\\')
        return {};
      else {
        value += rest_[0];
        rest_.remove_prefix(1);
      }
    }
    return take("\"") ? std::optional(value) : std::nullopt;
  }
  std::string take_line() {
    std::size_t const end = rest_.find('\n');
    std::string line(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end, rest_.size()));
    return line;
  }
  void begin(std::string const& metric) {
    if (metric == current_) return;
    if (!finished_.insert(current_).second) wrong = "lines of " + current_ + " are not together";
    if (finished_.contains(metric)) wrong = "lines of " + metric + " are not together";
    current_ = metric;
  }
  void read_comment() {
    bool const help = take("HELP ");
    if (!help && !take("TYPE ")) {
      wrong = "a comment of another kind";
      return;
    }
    std::string const name = take_name(true);
    if (name.empty() || !take(" ")) wrong = "no name";
    std::string const text = take_line();
    begin(name);
    if (help) {
      if (!helped_.insert(name).second) wrong = "two HELP lines for " + name;
    } else if (!type_of_.try_emplace(name, text).second || (text != "counter" && text != "gauge")) {
      wrong = "TYPE " + name + " " + text;
    }
  }
  void read_sample() {
    sample s;
    s.name = take_name(true);
    if (!type_of_.contains(s.name)) wrong = s.name + " has no TYPE line before it";
    if (type_of_[s.name] == "counter" && !s.name.ends_with("_total")) wrong = s.name + " is a counter";
    begin(s.name);
    if (take("{")) do {
        std::string const label = take_name(false);
        bool const equals = take("=");
        auto const value = take_label_value();
        if (label.empty() || !equals || !value) {
          wrong = "a label of " + s.name;
          return;
        }
        if (!s.labels.try_emplace(label, *value).second) wrong = "a label twice";
      } while (take(","));
    if (!s.labels.empty() && !take("}")) wrong = "no bracket";
    if (!take(" ")) wrong = "no value";
    std::string const digits = take_line();
    if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos)
      wrong = "the value " + digits;
    if (wrong.empty()) s.value = std::stoull(digits);
    samples.push_back(s);
  }

public:
  struct sample {
    std::string name;
    std::map<std::string, std::string> labels;
    unsigned long long value = 0;
  };
  std::vector<sample> samples;
  std::string wrong;

  explicit prometheus_text(std::string_view text)
      : rest_(text) {
    while (!rest_.empty() && wrong.empty()) {
      if (take("# "))
        read_comment();
      else
        read_sample();
      if (wrong.empty() && !take("\n")) wrong = "no end of a line";
    }
  }
  std::optional<unsigned long long> find(std::string const& name, std::string const& pool,
                                         std::string const& priority = "") const {
    for (sample const& s : samples)
      if (s.name == name && s.labels.at("pool") == pool &&
          (priority.empty() || s.labels.at("priority") == priority))
        return s.value;
    return {};
  }
};

struct thousands : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\1"; }
};

} // namespace

TEST(prometheus, obeys_the_format) {
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  for (int i = 0; i != 12; ++i) pool.enqueue([] {});
  pool.enqueue(rubato::priority::high, [] {});
  ASSERT_TRUE(pool.wait_idle());
  std::ostringstream text;
  pool.stats().prometheus(text);
  prometheus_text const read(text.str());
  ASSERT_EQ(read.wrong, "") << text.str();
  EXPECT_EQ(read.find("rubato_executed_total", "engine"), 13U) << text.str();
  EXPECT_EQ(read.find("rubato_priority_executed_total", "engine", "high"), 1U);
  EXPECT_EQ(read.find("rubato_queued", "engine"), 0U);
  EXPECT_EQ(read.find("rubato_seats", "engine"), 2U);
}

TEST(prometheus, escapes_names) {
  std::string const strange = "a \"b\" \\n\nc{}=,\xc3\xa4";
  rubato::pool_stats s;
  s.name = strange;
  s.executed = 18'446'744'073'709'551'615U;
  std::ostringstream text;
  s.prometheus(text);
  prometheus_text const read(text.str());
  ASSERT_EQ(read.wrong, "") << text.str();
  EXPECT_EQ(read.find("rubato_executed_total", strange), 18'446'744'073'709'551'615U);
}

TEST(prometheus, writes_several_pools_as_one_text) {
  std::array<rubato::pool_stats, 2> s;
  s[0].name = "a";
  s[1].name = "b";
  s[1].queued = 7;
  std::ostringstream text;
  rubato::pool_stats::prometheus(text, s);
  prometheus_text const read(text.str());
  ASSERT_EQ(read.wrong, "") << text.str();
  EXPECT_EQ(read.find("rubato_queued", "a"), 0U);
  EXPECT_EQ(read.find("rubato_queued", "b"), 7U);
}

TEST(prometheus, ignores_how_a_stream_writes_numbers) {
  rubato::pool_stats s;
  s.queued = 1'234'567;
  std::ostringstream plain, odd;
  odd.imbue(std::locale(std::locale::classic(), new thousands));
  odd.setf(std::ios::hex, std::ios::basefield);
  odd.width(5);
  s.prometheus(plain);
  s.prometheus(odd);
  EXPECT_EQ(plain.str(), odd.str());
}

} // namespace rubato_test
