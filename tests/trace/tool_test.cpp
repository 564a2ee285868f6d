// rubato-trace, as its user calls it. Without RUBATO_TRACE_PROGRAM, its path, it was not built.
#include <rubato/pool.hpp>
#include <rubato/trace.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using testing::HasSubstr;

#ifdef RUBATO_TRACE_PROGRAM
constexpr char const* program = RUBATO_TRACE_PROGRAM;
#else
constexpr char const* program = nullptr;
#endif

struct ended {
  int status = -1;
  std::string output; ///< both streams
};

ended run_tool(std::string const& arguments) {
  std::FILE* const out = ::popen((std::string(program) + ' ' + arguments + " 2>&1").c_str(), "r");
  if (out == nullptr) return {};
  ended e;
  std::array<char, 4'096> buffer{};
  while (std::size_t const n = std::fread(buffer.data(), 1, buffer.size(), out))
    e.output.append(buffer.data(), n);
  int const status = ::pclose(out);
  e.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return e;
}

class trace_tool : public testing::Test {
protected:
  trace_path const path;

  void SetUp() override {
    if (program == nullptr) GTEST_SKIP() << "rubato-trace was not built";
    trace_on const on(path);
    rubato::pool pool(1);
    pool.spawn([] {}).get();
    pool.enqueue([] {});
    EXPECT_TRUE(pool.wait_idle());
  }
};

TEST_F(trace_tool, reports) {
  ended const e = run_tool("report " + path.get());
  EXPECT_EQ(e.status, 0);
  EXPECT_THAT(e.output, HasSubstr("Workers: what they did with their time"));
}

TEST_F(trace_tool, reports_on_a_part) {
  ended const e = run_tool("report --last 1h " + path.get());
  EXPECT_EQ(e.status, 2); // no unit of time
  EXPECT_EQ(run_tool("report --last 100s " + path.get()).status, 0);
  EXPECT_EQ(run_tool("report --from 1000s " + path.get()).status, 1); // nothing was recorded then
}

TEST_F(trace_tool, converts) {
  std::filesystem::remove(path.get());
  ended e = run_tool("convert " + path.rings());
  EXPECT_EQ(e.status, 0) << e.output;
  EXPECT_GT(std::filesystem::file_size(path.get()), 100U);
  e = run_tool("convert --json --most 10 --from 0ms --to 1000s " + path.get());
  EXPECT_EQ(e.status, 0) << e.output;
  EXPECT_GT(std::filesystem::file_size(path.get() + ".json"), 100U);
  e = run_tool("convert --last 1s -o " + path.get() + ".last " + path.get());
  EXPECT_EQ(e.status, 0) << e.output;
  EXPECT_TRUE(std::filesystem::exists(path.get() + ".last"));
}

TEST_F(trace_tool, shows_a_process_live) {
  EXPECT_THAT(run_tool("live --frames 1 " + std::to_string(::getpid())).output, HasSubstr("records nothing"));
  trace_on const on(path);
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  pool.spawn([] {}).get();
  for (std::string const& of : {path.get(), path.rings(), std::to_string(::getpid())}) {
    ended const e = run_tool("live --frames 2 --rate 20 --width 120 " + of);
    EXPECT_EQ(e.status, 0) << e.output;
    EXPECT_THAT(e.output, HasSubstr("engine/1"));
    EXPECT_THAT(e.output, HasSubstr("process " + std::to_string(::getpid())));
  }
  EXPECT_THAT(run_tool("serve --port 8766 " + path.get() + ".missing").output, HasSubstr("No such file"));
}

TEST_F(trace_tool, says_what_is_wrong) {
  EXPECT_EQ(run_tool("--help").status, 0);
  for (char const* const wrong :
       {"", "draw x", "report", "report --json x", "convert a b", "convert --most 0 a", "convert --last 2 a",
        "convert --last 2s a", "convert -o", "convert a.rings -o a.rings", "live", "live --frames 0 a",
        "live --rate 61 a", "serve --port 80 a", "report --frames 1 a"})
    EXPECT_EQ(run_tool(wrong).status, 2) << wrong;
  ended const e = run_tool("report " + path.get() + ".missing");
  EXPECT_EQ(e.status, 1);
  EXPECT_THAT(e.output, HasSubstr("rubato-trace: /"));
  EXPECT_THAT(e.output, HasSubstr("No such file"));
  std::filesystem::remove(path.rings());
  EXPECT_THAT(run_tool("report " + path.get()).output, HasSubstr("lies FILE.rings: keep that one"));
}

} // namespace
