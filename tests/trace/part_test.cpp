// A part of a trace: what lies in it, and how the threads stood when it begins. Files that have changed
// since.
#include <rubato/dump.hpp>
#include <rubato/pool.hpp>
#include <rubato/routine.hpp>
#include <rubato/time.hpp>
#include <rubato/trace.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "trace/reader/convert.hpp"
#include "trace/reader/output/report.hpp"
#include "trace/reader/timeline/timeline.hpp"
#include "trace_files.hpp"

namespace rubato_test {

using namespace std::chrono_literals;
using rubato::detail::convert_options;
using rubato::detail::recording;
using rubato::detail::report_of_rings;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

struct first_phase {
  void operator()() const { std::this_thread::sleep_for(2ms); }
};
struct second_phase {
  void operator()() const { std::this_thread::sleep_for(2ms); }
};
rubato::task<> sleep_through(std::chrono::milliseconds d) { co_await rubato::sleep_for(d); }

rubato::task<> wait_and_sleep(rubato::event& go) {
  co_await go.wait();
  co_await rubato::sleep_for(2ms);
}
std::string hexadecimal(std::uint64_t n) {
  std::ostringstream text;
  text << "0x" << std::hex << n;
  return std::move(text).str();
}

/// What happens before a moment and what after it, and what lasts all the time.
class parts_of_a_trace : public testing::Test {
protected:
  trace_path const path;
  std::chrono::nanoseconds half{}; ///< after the start

  void SetUp() override {
    trace_on const on(path);
    rubato::trace::span const all("all the time");
    rubato::pool pool(1);
    auto sleeps = pool.spawn(sleep_through(60ms));
    pool.spawn(first_phase()).get();
    std::this_thread::sleep_for(20ms);
    half = std::chrono::steady_clock::now().time_since_epoch() -
           std::chrono::nanoseconds(recording(path.rings()).start_ns);
    std::this_thread::sleep_for(20ms);
    pool.spawn(second_phase()).get();
    sleeps.get();
  }
};

TEST_F(parts_of_a_trace, from_a_moment_on) {
  std::string const text = report_of_rings(path.rings(), {.from = half});
  EXPECT_THAT(text, HasSubstr("what reaches beyond is cut there")) << text;
  EXPECT_THAT(text, Not(HasSubstr("first_phase"))) << text;
  EXPECT_THAT(text, HasSubstr("second_phase")) << text;
  // How it stood at that moment: the span was open, the worker asleep, the coroutine suspended.
  EXPECT_THAT(text, HasSubstr("all the time")) << text;
  EXPECT_THAT(text, ContainsRegex("\n +[^\n]*/0 +[0-9.]+% +[0-9.]+% +[1-9][0-9.]*%")) << text;
  EXPECT_THAT(text, HasSubstr("sleep_through(std::chrono")) << text;
  EXPECT_THAT(text, HasSubstr("awaited a sleep")) << text;
}

TEST_F(parts_of_a_trace, up_to_a_moment) {
  std::string const text = report_of_rings(path.rings(), {.to = half});
  EXPECT_THAT(text, HasSubstr("first_phase")) << text;
  EXPECT_THAT(text, Not(HasSubstr("second_phase"))) << text;
  EXPECT_THAT(text, HasSubstr("awaits a sleep")) << text; // not finished at the end of that part
}

TEST_F(parts_of_a_trace, the_last_moments) {
  EXPECT_THAT(report_of_rings(path.rings(), {.last = 1h}), HasSubstr("first_phase"));
  EXPECT_THAT(report_of_rings(path.rings(), {.last = 1us}), Not(HasSubstr("first_phase")));
  EXPECT_THROW(static_cast<void>(report_of_rings(path.rings(), {.from = 1h})), std::runtime_error);
}

/// A slice that reaches over the border is cut, and the sums are those of what is left.
TEST_F(parts_of_a_trace, add_up) {
  recording const r(path.rings());
  auto const all = rubato::detail::make_timeline(r);
  auto const before = rubato::detail::make_timeline(r, {.to = half.count()});
  auto const after = rubato::detail::make_timeline(r, {.from = half.count()});
  ASSERT_EQ(all.tracks.size(), before.tracks.size());
  for (std::size_t i = 0; i != all.tracks.size(); ++i) {
    EXPECT_EQ(all.tracks[i].busy, before.tracks[i].busy + after.tracks[i].busy);
    EXPECT_NEAR(static_cast<double>(all.tracks[i].idle.sum()),
                static_cast<double>(before.tracks[i].idle.sum() + after.tracks[i].idle.sum()), 1e4);
    for (auto const& s : after.tracks[i].slices) EXPECT_GE(s.begin, half.count());
    for (auto const& s : before.tracks[i].slices) EXPECT_LE(s.end, half.count());
  }
}

TEST_F(parts_of_a_trace, regression_a_changed_program_has_no_names) {
  std::string const build_id = recording(path.rings()).modules.at(0).build_id;
  ASSERT_FALSE(build_id.empty());
  std::string bytes;
  {
    std::ifstream in(path.rings(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::size_t const at = bytes.find(build_id);
  ASSERT_NE(at, bytes.npos);
  bytes[at] = bytes[at] == '0' ? '1' : '0';
  std::ofstream(path.rings(), std::ios::binary) << bytes;
  EXPECT_THAT(report_of_rings(path.rings()),
              ContainsRegex("^warning: [^\n]* is not the file that was recorded"));
  EXPECT_THAT(rubato::detail::convert_rings(path.rings(), path.get(), {}), HasSubstr("warning: "));
}

TEST_F(parts_of_a_trace, an_unchanged_program_gives_no_warning) {
  EXPECT_EQ(rubato::detail::convert_rings(path.rings(), path.get(), {}), "");
}

/// Its address is in the report on what has not ended, and what dump() prints.
TEST(trace_of_a_coroutine, has_all_its_stretches) {
  trace_path const path;
  std::uint64_t address = 0;
  {
    trace_on const on(path);
    rubato::event go;
    rubato::pool pool(1);
    auto waits = pool.spawn(wait_and_sleep(go));
    std::string text;
    do {
      std::ostringstream dumped;
      rubato::dump(dumped);
      text = std::move(dumped).str();
    } while (text.find("wait_and_sleep") == std::string::npos);
    address = std::stoull(text.substr(text.find("coroutine at ") + 13), nullptr, 16);
    text = report_of_rings(path.rings());
    EXPECT_THAT(text, ContainsRegex("wait_and_sleep[^\n]* awaits [^\n]*, coroutine " + hexadecimal(address)))
        << text;
    go.set();
    waits.get();
  }
  std::string const text = report_of_rings(path.rings(), {.coroutine = address});
  EXPECT_THAT(text, ContainsRegex("is queued, by [^\n]*\n[^\n]*runs [^\n]*wait_and_sleep[^\n]*\n[^\n]*awaits "
                                  "[^\n]*ended by [^\n]*\n[^\n]*is queued[^\n]*\n[^\n]*runs "
                                  "[^\n]*wait_and_sleep[^\n]*\n[^\n]*awaits a sleep"))
      << text;
  rubato::detail::convert_rings(path.rings(), path.get() + ".json", {.json = true, .coroutine = address});
  std::ifstream in(path.get() + ".json");
  std::string const json{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(json, HasSubstr("\"name\":\"coroutine " + hexadecimal(address) + "\""));
  EXPECT_THAT(json, HasSubstr("\"a sleep\""));
  EXPECT_THROW(static_cast<void>(report_of_rings(path.rings(), {.coroutine = 8})), std::runtime_error);
}

/// More than a ring may have is not advised.
TEST(trace_report, regression_advises_a_possible_number_of_events) {
  rubato::detail::timeline t;
  t.names = {""};
  rubato::detail::track& k = t.tracks.emplace_back();
  k.written = 100'000;
  k.lost = 30'000;
  EXPECT_THAT(rubato::detail::report_of(t),
              HasSubstr("of which 131072 keeps as many as the busiest thread wrote"));
  k.written = std::uint64_t{1} << 30;
  EXPECT_THAT(rubato::detail::report_of(t), HasSubstr("of which 16777216 is the most"));
}

} // namespace rubato_test
