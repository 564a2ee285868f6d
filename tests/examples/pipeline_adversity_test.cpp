// The program `pipeline` where files are missing, forbidden, corrupt, or change under its hands, and where
// the user presses Ctrl-C.
#include "examples/pipeline.hpp"
#include "examples/temporary_tree.hpp"
#include "support/scale.hpp"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>

namespace {

using namespace rubato_test;
using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* worker_counts[] = {"0", "1", "2", "7"};

TEST(pipeline_adversity, a_missing_directory_leaves_no_manifest) {
  const temporary_tree tree;
  tree.write("file", "alpha");
  fs::create_symlink("nowhere", tree.path("dangling"));
  fs::create_symlink("itself", tree.path("itself"));
  for (const auto& path :
       {tree.path("missing"), tree.path("dangling"), tree.path("itself"), tree.path("file")}) {
    const outcome result = pipeline({path, "-o", tree.path("manifest")});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, testing::StartsWith("pipeline: cannot read " + path + ": "));
    EXPECT_EQ(result.out, "");
    EXPECT_FALSE(fs::exists(tree.path("manifest")));
  }
}

TEST(pipeline_adversity, an_empty_directory_has_an_empty_manifest) {
  const temporary_tree tree;
  fs::create_directories(tree.path("a/b"));
  for (const char* workers : worker_counts) {
    const outcome result = pipeline({tree, "--workers", workers});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "");
  }
  EXPECT_EQ(json::parse(pipeline({tree, "--json"}).out)["directories"], 3);
}

TEST(pipeline_adversity, corrupt_gzip_is_told_the_rest_summed_up) {
  const temporary_tree tree;
  expected_manifest good;
  for (int i = 0; i < 50; ++i) {
    const std::string bytes(static_cast<std::size_t>(i) * 100, 'a');
    tree.write("good/" + std::to_string(i), bytes);
    good.add("good/" + std::to_string(i), bytes.size(), bytes);
  }
  const std::string whole = gzipped(std::string(200'000, 'b') + "the end");
  std::string flipped = whole;
  flipped[flipped.size() - 6] ^= 1; // in its checksum
  std::string large;                // goes wrong in the first of many parts
  for (unsigned i = 0; i < 2'000'000; ++i) large += static_cast<char>(i * i >> 7);
  large[0] = '\x1f', large[1] = '\x8b';
  tree.write("bad/cut", whole.substr(0, whole.size() / 2));
  tree.write("bad/cut_in_its_head", whole.substr(0, 5));
  tree.write("bad/flipped", flipped);
  tree.write("bad/garbage_behind", whole + "garbage");
  tree.write("bad/large", large);
  tree.write("bad/magic_alone", "\x1f\x8b");
  for (const char* workers : worker_counts) {
    const outcome result = pipeline({tree, "--workers", workers});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, good.text());
    for (const char* name : {"cut", "cut_in_its_head", "flipped", "garbage_behind", "large", "magic_alone"})
      EXPECT_THAT(result.err, HasSubstr("pipeline: cannot read " + tree.path(std::string("bad/") + name) +
                                        ": corrupt gzip data: "));
  }
  EXPECT_EQ(json::parse(pipeline({tree, "--json"}).out)["problems"].size(), 6u);
}

TEST(pipeline_adversity, what_is_forbidden_is_reported_and_counted) {
  const temporary_tree tree;
  tree.write("open", "alpha");
  tree.write("closed/file", "gamma");
  for (int i = 0; i < 30; ++i) tree.write("many/" + std::to_string(i), "delta");
  fs::permissions(tree.path("closed"), fs::perms::none);
  tree.forbid_files_in("many");

  const child::setting as_nobody{.without_privileges = true};
  for (const char* workers : worker_counts) {
    const outcome result = pipeline({tree, "--workers", workers}, as_nobody);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, EndsWith(" 5 5 open\n"));
    EXPECT_THAT(result.err,
                HasSubstr("pipeline: cannot read " + tree.path("closed") + ": Permission denied\n"));
    EXPECT_THAT(result.err, EndsWith("pipeline: cannot read 11 more; --json lists them all\n"));
    const json report = json::parse(pipeline({tree, "--json", "--workers", workers}, as_nobody).out);
    EXPECT_EQ(report["files"].size(), 1u);
    EXPECT_EQ(report["problems"].size(), 31u);
    EXPECT_EQ(report["problems"][0], json({{"path", "closed"}, {"reason", "Permission denied"}}));
  }
  fs::permissions(tree.path("closed"), fs::perms::owner_all); // so that it can be removed
}

TEST(pipeline_adversity, an_unwritable_manifest_is_no_success) {
  const temporary_tree tree;
  tree.write("in/file", "alpha");
  const std::string in = tree.path("in");
  for (const std::string& path : {tree.path("missing/manifest"), tree.path("in"), std::string("/dev/full")}) {
    const outcome result = pipeline({in, "-o", path});
    EXPECT_EQ(result.status, 1) << path;
    EXPECT_THAT(result.err, testing::StartsWith("pipeline: cannot write " + path + ": "));
  }
  const int full = ::open("/dev/full", O_WRONLY);
  EXPECT_EQ(pipeline({in}, {.out = full}).status, 1);
  ::close(full);
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(tree.path()), {}), 2);
}

TEST(pipeline_adversity, a_tree_beyond_the_longest_path_is_read) {
  const temporary_tree tree;
  tree.write_deep(300);
  for (const char* workers : {"0", "2"}) {
    const json result = json::parse(pipeline({tree, "--json", "--workers", workers}).out);
    EXPECT_EQ(result["files"].size(), 300u);
    EXPECT_EQ(result["problems"].size(), 0u);
  }
  run({"/bin/rm", "-rf", tree});
}

TEST(pipeline_adversity, files_that_change_do_not_harm_others) {
  const temporary_tree tree;
  expected_manifest steady;
  for (int i = 0; i < 200; ++i) {
    tree.write("steady/" + std::to_string(i), "steady");
    steady.add("steady/" + std::to_string(i), 6, "steady");
  }
  std::atomic<bool> over{false};
  fs::create_directory(tree.path("moody"));
  std::jthread sizes([&] {
    const std::string large(1'000'000, ' ');
    const std::string compressed = gzipped(large);
    for (unsigned i = 0; !over; ++i) {
      tree.write("moody/large", large);
      tree.write("moody/compressed", compressed);
      tree.write("moody/" + std::to_string(i % 50), "moody");
      fs::resize_file(tree.path("moody/large"), 500'000 + i % 7);
      fs::resize_file(tree.path("moody/compressed"), compressed.size() / 2);
      fs::remove(tree.path("moody/" + std::to_string(i * 7 % 50)));
    }
  });
  // Listed as a file, opened as something else.
  const turning_path kinds(tree.path("moody/turns"));
  for (std::size_t round = 0; round < rubato_test::scaled(20); ++round)
    for (const char* workers : worker_counts) {
      const outcome result = pipeline({tree, "--workers", workers});
      EXPECT_LE(result.status, 1) << result.err;
      EXPECT_EQ(result.status == 0, result.err.empty()) << result.err;
      EXPECT_THAT(result.out, EndsWith(steady.text()));
    }
  over = true;
}

/// A terminal that shows what a program writes to it.
class terminal {
  int own_ = ::posix_openpt(O_RDWR | O_NOCTTY);
  int screen_ = -1;
  std::string seen_;

public:
  terminal() {
    if (::grantpt(own_) == 0 && ::unlockpt(own_) == 0) screen_ = ::open(::ptsname(own_), O_RDWR | O_NOCTTY);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  ~terminal() {
    ::close(screen_);
    ::close(own_);
  }
  int screen() const { return screen_; }

  /// False if it does not come within half a minute.
  bool wait_for(const std::string& text) {
    for (int i = 0; i < 300 && seen_.find(text) == std::string::npos; ++i) {
      pollfd shown{own_, POLLIN, 0};
      char buffer[256];
      if (::poll(&shown, 1, 100) == 1)
        seen_.append(buffer, static_cast<std::size_t>(::read(own_, buffer, sizeof buffer)));
    }
    return seen_.find(text) != std::string::npos;
  }
};

/// Files that take hours to read, and no disk space: the program is in their middle for as long as one likes.
void write_endless_files(const temporary_tree& tree) {
  for (const char* name : {"a", "b", "c"}) {
    tree.write(name, "");
    fs::resize_file(tree.path(name), 4'000'000'000'000);
  }
}

TEST(pipeline_adversity, a_signal_in_the_middle_leaves_nothing) {
  if (terminal().screen() < 0) GTEST_SKIP() << "no pseudo-terminal: is /dev/pts mounted?";
  const temporary_tree tree;
  write_endless_files(tree);
  tree.write("small", "alpha");
  const temporary_tree out;
  for (const int number : {SIGINT, SIGTERM})
    for (const char* workers : worker_counts) {
      SCOPED_TRACE(std::string("signal ") + std::to_string(number) + ", workers " + workers);
      out.write("manifest", "old");
      terminal shown;
      child program({PIPELINE_PROGRAM, tree, "--workers", workers, "-o", out.path("manifest")},
                    {.err = shown.screen()});
      EXPECT_TRUE(shown.wait_for(" of 4 files"));
      program.send(number);
      const outcome result = program.wait();
      EXPECT_EQ(result.status, 128 + number);
      EXPECT_EQ(result.out, "");
      EXPECT_TRUE(shown.wait_for("pipeline: stopped; no manifest was written"));
      EXPECT_EQ(file_contents(out.path("manifest")), "old");
      EXPECT_EQ(std::distance(fs::directory_iterator(out.path()), {}), 1);
    }
}

TEST(pipeline_adversity, a_signal_at_any_time_ends_it_either_way) {
  const temporary_tree tree;
  for (int i = 0; i < 500; ++i) tree.write(std::to_string(i), std::string(static_cast<std::size_t>(i), 'x'));
  const std::string expected = pipeline({tree}).out;
  for (std::size_t round = 0; round < rubato_test::scaled(60); ++round) {
    child program({PIPELINE_PROGRAM, tree, "--workers", worker_counts[round % 4]}, {});
    std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    program.send(SIGINT);
    const outcome result = program.wait();
    // It may be too late to stop it, and in time to end the process when all is done.
    if (result.status != 130 || !result.out.empty()) {
      EXPECT_EQ(result.out, expected) << result.status << result.err;
    }
  }
}

TEST(pipeline_adversity, progress_is_shown_on_a_terminal_only) {
  terminal shown;
  if (shown.screen() < 0) GTEST_SKIP() << "no pseudo-terminal: is /dev/pts mounted?";
  const temporary_tree tree;
  write_endless_files(tree);
  child program({PIPELINE_PROGRAM, tree, "--workers", "1"}, {.err = shown.screen()});
  EXPECT_TRUE(shown.wait_for("[..............................] 0 of 3 files, "));
  program.send(SIGINT);
  program.wait();

  const temporary_tree small;
  small.write("file", "alpha");
  EXPECT_EQ(pipeline({small}).err, "");
}

} // namespace
