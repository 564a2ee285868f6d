// The program `identifiers` where files are missing, forbidden, endless, or change under its hands.
#include "examples/identifiers.hpp"
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
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace rubato_test;
using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

TEST(identifiers_adversity, names_a_missing_path_and_goes_on) {
  const temporary_tree tree;
  tree.write("file", "alpha");
  fs::create_symlink("nowhere", tree.path("dangling"));
  fs::create_symlink("itself", tree.path("itself"));
  const strings missing{tree.path("missing"), tree.path("dangling"), tree.path("itself"),
                        tree.path("file/below"), ""};
  for (const auto& path : missing) {
    const outcome result = identifiers({tree, path});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("identifiers: cannot read " + path + ": "));
    EXPECT_EQ(table_of(result), "      1 alpha\n");
  }
  strings all = missing;
  all.insert(all.begin(), "--json");
  const json result = json::parse(identifiers(all).out);
  EXPECT_EQ(result["unreadable"], 5);
  EXPECT_EQ(result["problems"].size(), 5u);
  EXPECT_EQ(result["files"], 0);
}

TEST(identifiers_adversity, an_empty_directory_is_no_success) {
  const temporary_tree tree;
  fs::create_directories(tree.path("a/b"));
  for (const char* workers : {"0", "1", "2", "16"}) {
    const outcome result = identifiers({"--workers", workers, tree});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("there is no file in " + tree.path()));
    EXPECT_THAT(result.out, HasSubstr("\nread         0 files in 3 directories"));
    EXPECT_EQ(result.out.find("too little to measure") != std::string::npos, std::stoi(workers) > 1);
    EXPECT_EQ(json::parse(identifiers({"--json", "--workers", workers, tree}).out)["identifiers"], 0);
  }
}

TEST(identifiers_adversity, a_file_without_identifiers_succeeds) {
  const temporary_tree tree;
  tree.write("empty", "");
  const outcome result = identifiers({tree});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
}

TEST(identifiers_adversity, what_is_forbidden_is_named_and_counted) {
  const temporary_tree tree;
  tree.write("open", "alpha");
  tree.write("secret", "beta");
  tree.write("closed/file", "gamma");
  for (int i = 0; i < 30; ++i) tree.write("many/" + std::to_string(i), "delta");
  fs::permissions(tree.path("secret"), fs::perms::none);
  fs::permissions(tree.path("closed"), fs::perms::none);
  tree.forbid_files_in("many");

  const child::setting as_nobody{.without_privileges = true};
  for (const char* workers : {"0", "1", "2", "16"}) {
    const outcome result = identifiers({"--workers", workers, tree}, as_nobody);
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(table_of(result), "      1 alpha\n");
    EXPECT_THAT(result.out, HasSubstr("\nunreadable   32\n"));
    EXPECT_THAT(result.err,
                HasSubstr("identifiers: cannot read " + tree.path("closed") + ": Permission denied\n"));
    EXPECT_THAT(result.err, HasSubstr("identifiers: cannot read 12 more"));

    const json report = json::parse(identifiers({"--json", "--workers", workers, tree}, as_nobody).out);
    EXPECT_EQ(report["unreadable"], 32);
    EXPECT_EQ(report["problems"].size(), 32u);
    EXPECT_EQ(report["problems"].back(),
              json({{"path", tree.path("secret")}, {"reason", "Permission denied"}}));
  }
  fs::permissions(tree.path("closed"), fs::perms::owner_all); // so that it can be removed
}

TEST(identifiers_adversity, a_path_that_is_no_text_is_valid_json) {
  const temporary_tree tree;
  const outcome result = identifiers({"--json", tree.path("quote\" \xff\n")});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(json::parse(result.out)["problems"][0]["path"], tree.path("quote\" \xef\xbf\xbd\n"));
}

TEST(identifiers_adversity, a_tree_beyond_the_longest_path_is_read) {
  const temporary_tree tree;
  tree.write_deep(500);
  for (const char* workers : {"0", "2"}) {
    const outcome result = identifiers({"--workers", workers, tree});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(table_of(result), "    500 deep\n");
  }
  run({"/bin/rm", "-rf", tree});
}

TEST(identifiers_adversity, a_wide_tree_of_directories_is_read) {
  const temporary_tree tree;
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 50; ++j)
      tree.write(std::to_string(i) + "/" + std::to_string(j) + "/file", "wide tree");
  for (const char* workers : {"0", "1", "2", "16"}) {
    const json result = json::parse(identifiers({"--json", "--no-baseline", "--workers", workers, tree}).out);
    EXPECT_EQ(result["files"], 2'000);
    EXPECT_EQ(result["directories"], 2'041);
    EXPECT_EQ(result["identifiers"], 4'000);
    EXPECT_EQ(result["distinct"], 2);
  }
}

TEST(identifiers_adversity, files_that_change_do_not_harm_others) {
  const temporary_tree tree;
  for (int i = 0; i < 200; ++i) tree.write("steady/" + std::to_string(i), "steady");
  std::atomic<bool> over{false};

  fs::create_directory(tree.path("moody"));
  std::jthread sizes([&] {
    const std::string large(3'000'000, ' ');
    for (unsigned i = 0; !over; ++i) {
      tree.write("moody/large", large);
      tree.write("moody/" + std::to_string(i % 50), "moody");
      fs::resize_file(tree.path("moody/large"), 1'500'000 + i % 7);
      fs::resize_file(tree.path("moody/large"), i % 2);
      fs::remove(tree.path("moody/" + std::to_string(i * 7 % 50)));
    }
  });

  // Listed as a file, opened as something else.
  const turning_path kinds(tree.path("moody/turns"));

  for (std::size_t round = 0; round < rubato_test::scaled(20); ++round)
    for (const char* workers : {"0", "1", "2", "16"}) {
      const outcome result = identifiers({"--workers", workers, "--all", tree});
      EXPECT_LE(result.status, 1) << result.err;
      EXPECT_EQ(result.status == 0, result.err.empty()) << result.err;
      EXPECT_THAT(result.out, HasSubstr("    200 steady\n"));
    }
  over = true;
}

TEST(identifiers_adversity, a_fifo_is_read_once_to_its_end) {
  const temporary_tree tree;
  tree.write("file", "beside");
  const std::string fifo = tree.path("fifo");
  for (const char* workers : {"0", "1", "2"}) {
    fs::remove(fifo);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::jthread writer([&] {
      const int end = ::open(fifo.c_str(), O_WRONLY);
      for (const std::string_view part : {"in two pa", "rts and th", "ree"})
        EXPECT_EQ(::write(end, part.data(), part.size()), static_cast<ssize_t>(part.size()));
      ::close(end);
    });
    const outcome result = identifiers({"--workers", workers, fifo, tree.path("file")});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(table_of(result),
              "      1 and\n      1 beside\n      1 in\n      1 parts\n      1 three\n      1 two\n");
    EXPECT_EQ(result.out.find("cannot be read twice") != std::string::npos, std::string_view(workers) == "2");
  }
}

TEST(identifiers_adversity, a_full_disk_is_no_success) {
  const temporary_tree tree;
  tree.write("file", "alpha");
  const int full = ::open("/dev/full", O_WRONLY);
  for (const strings& arguments : {strings{tree}, strings{"--json", tree}}) {
    const outcome result = identifiers(arguments, {.out = full});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("could not be written"));
  }
  ::close(full);
}

TEST(identifiers_adversity, progress_is_shown_on_a_terminal_only) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  int screen = -1;
  if (::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0)
    screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  if (screen < 0) GTEST_SKIP() << "no pseudo-terminal: is /dev/pts mounted?";
  const temporary_tree tree;
  const std::string fifo = tree.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);

  // The reading goes on until the line has been seen, so that it does not matter how fast that is.
  child program({IDENTIFIERS_PROGRAM, "--workers", "1", fifo}, {.err = screen});
  const int end = ::open(fifo.c_str(), O_WRONLY);
  std::string seen;
  while (seen.find("reading: 0 files") == std::string::npos) {
    ASSERT_EQ(::write(end, "word ", 5), 5);
    pollfd shown{terminal, POLLIN, 0};
    char buffer[256];
    if (::poll(&shown, 1, 1) == 1)
      seen.append(buffer, static_cast<std::size_t>(::read(terminal, buffer, sizeof buffer)));
  }
  ::close(end);
  const outcome result = program.wait();
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, Not(HasSubstr("reading")));
  ::close(screen);
  ::close(terminal);

  tree.write("file", "alpha");
  EXPECT_EQ(identifiers({tree}).err, "");
}

} // namespace
