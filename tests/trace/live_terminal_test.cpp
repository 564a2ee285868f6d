// The live view in a real terminal, which tmux provides: what is on its screen, and what is left behind.
#include <rubato/join.hpp>
#include <rubato/live.hpp>
#include <rubato/pool.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

std::string output_of(std::string const& command) {
  std::FILE* const out = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4'096> buffer{};
  while (std::size_t const n = std::fread(buffer.data(), 1, buffer.size(), out))
    text.append(buffer.data(), n);
  ::pclose(out);
  return text;
}

std::string contents(std::string const& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::size_t count_in(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++n;
  return n;
}

void compute() {
  auto const until = std::chrono::steady_clock::now() + 2ms;
  while (std::chrono::steady_clock::now() < until) {
  }
}

/// What runs in the terminal: work until it is killed, and now and then a line.
TEST(live_program, works_until_it_is_killed) {
  char const* const number = std::getenv("LIVE_TEST_PID"); // NOLINT(concurrency-mt-unsafe)
  if (number == nullptr) GTEST_SKIP() << "it is the program of the other tests";
  std::ofstream(number) << ::getpid() << std::endl;
  rubato::live_view const view;
  rubato::pool pool(rubato::pool_options().workers(2).name("engine"));
  for (int i = 0;; ++i) {
    pool.run([] { rubato::join(compute, compute); });
    if (i % 100 == 0 && i < 500) std::printf("line %d\n", i / 100), std::fflush(stdout);
  }
}

/// A terminal in which that program runs.
class live_terminal : public testing::Test {
protected:
  trace_path const path;
  std::string screen; ///< what was seen last

private:
  // A server of its own: one that is being killed takes no session.
  std::string const tmux_ = "tmux -L " + path.folder().filename().string() + " -f /dev/null ";

protected:
  void SetUp() override {
    if (std::system("tmux -V >/dev/null 2>&1") != 0)
      GTEST_SKIP() << "there is no tmux, which provides a terminal";
  }
  void TearDown() override { static_cast<void>(std::system((tmux_ + "kill-server 2>/dev/null").c_str())); }

  void begin(unsigned columns, unsigned rows, std::string const& environment) {
    std::string const program = std::filesystem::read_symlink("/proc/self/exe");
    std::ofstream(path.get() + ".sh")
        << "stty -g >" << path.get() << ".before\nLIVE_TEST_PID=" << path.get() << ".pid " << environment
        << ' ' << program << " --gtest_color=no --gtest_filter=live_program.*\nstty -g >" << path.get()
        << ".after\necho it has ended\nsleep 100\n";
    std::string const command = tmux_ + "new-session -d -x " + std::to_string(columns) + " -y " +
                                std::to_string(rows) + " 'sh " + path.get() + ".sh'";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  /// Until the screen contains all of that at once; hangs if it never does.
  void look_for(std::initializer_list<std::string_view> texts, char const* options = "-p") {
    do {
      std::this_thread::sleep_for(50ms);
      screen = output_of(tmux_ + "capture-pane " + options);
    } while (!std::ranges::all_of(texts, [&](auto text) { return screen.find(text) != screen.npos; }));
  }
  void kill_program() const { ::kill(std::stoi(contents(path.get() + ".pid")), SIGKILL); }
};

TEST_F(live_terminal, is_drawn_in_place_and_leaves_nothing) {
  begin(120, 30, "LANG=C.UTF-8");
  look_for({"line 0", "line 1", "line 2", "line 3", "line 4", "engine/0", "engine/1", "\u2588", "tasks/s"});
  EXPECT_EQ(count_in(screen, "rubato live"), 1U) << screen;
  look_for({"\x1b[32m"}, "-e -p"); // green: it runs
  kill_program();
  look_for({"it has ended"});
  std::string const before = contents(path.get() + ".before");
  EXPECT_FALSE(before.empty());
  EXPECT_EQ(contents(path.get() + ".after"), before);
}

TEST_F(live_terminal, has_no_colours_if_told) {
  begin(120, 30, "LANG=C NO_COLOR=1");
  look_for({"engine/1"}, "-e -p");
  EXPECT_THAT(screen, Not(HasSubstr("\x1b[3")));
  EXPECT_THAT(screen, Not(HasSubstr("\u2588")));
  EXPECT_THAT(screen, HasSubstr("##"));
  kill_program();
}

TEST_F(live_terminal, is_readable_on_a_narrow_and_low_one) {
  begin(40, 12, "LANG=C.UTF-8");
  look_for({"line 4", "engine/1"});
  EXPECT_EQ(count_in(screen, "rubato live"), 1U) << screen;
  kill_program();
}

TEST_F(live_terminal, writes_plain_frames_where_nothing_moves) {
  begin(100, 40, "TERM=dumb");
  look_for({"engine/1"}, "-e -p");
  EXPECT_THAT(screen, Not(HasSubstr("\x1b[32m")));
  kill_program();
}

} // namespace
