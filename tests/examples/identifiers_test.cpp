// The program `identifiers` against grep, and what it says about what it did.
#include "examples/identifiers.hpp"
#include "examples/temporary_tree.hpp"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

namespace {

using namespace rubato_test;
using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::size_t mebibyte =
    1024 * 1024; // large files are read in pieces of that size, in reads of a quarter

constexpr const char* worker_counts[] = {"0", "1", "2", "16"};

outcome count(const std::string& workers, strings arguments) {
  arguments.insert(arguments.begin(), {"--no-baseline", "--workers", workers});
  return identifiers(std::move(arguments));
}

void expect_what_grep_finds(strings paths) {
  const std::string expected = counted_by_grep(paths);
  EXPECT_NE(expected, "");
  paths.insert(paths.begin(), "--all");
  for (const char* workers : worker_counts) {
    SCOPED_TRACE(workers);
    const outcome result = count(workers, paths);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(difference(table_of(result), expected), "none");
  }
}

std::string random_bytes(std::size_t size, unsigned seed) {
  constexpr std::string_view alphabet("aB_09 \n\0\x80\xff", 10);
  std::mt19937 random(seed);
  std::string bytes(size, ' ');
  for (char& c : bytes) c = alphabet[random() % alphabet.size()];
  return bytes;
}

/// Writes `text` across every place where the program may stop reading and go on, a byte further left each
/// time.
std::string across_boundaries(std::string_view text) {
  std::string bytes(5 * mebibyte + 17, '\n'); // short lines: grep takes long for long ones
  std::size_t shift = 0;
  for (std::size_t at = mebibyte / 4; at < bytes.size(); at += mebibyte / 4)
    bytes.replace(at - shift++ % (text.size() + 1), text.size(), text);
  return bytes;
}

TEST(identifiers, agrees_with_grep_on_nasty_bytes) {
  const temporary_tree tree;
  constexpr char nasty[] = "0x1F 12ab_9 99 _ __ a\0b\0 caf\xc3\xa9s \xff"
                           "x\r\nA1a@Z[z`_{9a9 7_7z0 no_newline";
  tree.write("nasty", {nasty, sizeof nasty - 1});
  tree.write("digits", "0123456789");
  tree.write("empty", "");
  tree.write("zeros", std::string(100'000, '\0'));
  tree.write("elf", std::string_view("\x7f"
                                     "ELF\2\1\1\0\0.text\0main",
                                     18));
  for (unsigned i = 0; i < 50; ++i)
    tree.write("random/" + std::to_string(i), random_bytes(std::size_t{i} * i * 40, i));
  expect_what_grep_finds({tree});
}

TEST(identifiers, agrees_with_grep_on_large_files_cut_anywhere) {
  const temporary_tree tree;
  tree.write("words", across_boundaries("identifier"));
  tree.write("numbers", across_boundaries("0123456abc"));
  tree.write("digits", across_boundaries("0123456789"));
  tree.write("random", random_bytes(4 * mebibyte, 1));
  tree.write("one_piece", random_bytes(mebibyte, 2));
  tree.write("one_byte_more", std::string(mebibyte, 'x') + "y");
  tree.write("one_byte_less", random_bytes(mebibyte - 1, 3));
  tree.write("exactly_two", std::string(2 * mebibyte, 'z'));
  tree.write("longer_than_pieces", "a " + std::string(3 * mebibyte, 'b') + " c");
  tree.write("late_letter", std::string(2 * mebibyte + 5, '7') + "late " + std::string(2 * mebibyte, '8'));
  expect_what_grep_finds({tree});
}

TEST(identifiers, agrees_with_grep_on_odd_names_and_non_files) {
  const temporary_tree tree;
  for (const char* name :
       {".hidden", "-n", "--", "a b", "a\nb", "back\\slash", "*", "\xff\xfe", "sub/.git/x", "sub/-r/y"})
    tree.write(name, std::string("in_") + (name[0] == '\xff' ? "bytes" : "name") + " common");
  fs::create_directories(tree.path("empty/also_empty"));
  fs::create_symlink("..", tree.path("sub/loop"));
  fs::create_symlink("a b", tree.path("link"));
  fs::create_symlink("itself", tree.path("itself"));
  fs::create_symlink("nowhere", tree.path("dangling"));
  fs::create_symlink("/usr/include", tree.path("elsewhere"));
  ASSERT_EQ(::mkfifo(tree.path("fifo").c_str(), 0600), 0);
  fs::create_hard_link(tree.path("a b"), tree.path("hard_link"));
  expect_what_grep_finds({tree});

  const json result = json::parse(count("2", {"--json", tree}).out);
  EXPECT_EQ(result["files"], 11);
  EXPECT_EQ(result["directories"], 6);
  EXPECT_EQ(result["symlinks_skipped"], 5);
  EXPECT_EQ(result["special_skipped"], 1);
  EXPECT_EQ(result["unreadable"], 0);
}

TEST(identifiers, agrees_with_grep_on_system_headers) {
  strings paths;
  for (const char* path : {"/usr/include/c++", "/usr/include/linux"})
    if (fs::exists(path)) paths.emplace_back(path);
  ASSERT_FALSE(paths.empty());
  expect_what_grep_finds(paths);
}

TEST(identifiers, shows_its_workers_live_and_counts_the_same) {
  const temporary_tree tree;
  tree.write("file", "b b b Z a c c _x a Z");
  const outcome result = count("2", {"--live", "--all", tree});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(table_of(result), table_of(count("2", {"--all", tree})));
  EXPECT_EQ(result.err.find("reading:"), result.err.npos);
}

TEST(identifiers, follows_links_that_the_user_names) {
  const temporary_tree tree;
  tree.write("sub/file", "alpha beta");
  tree.write("other", "beta gamma");
  fs::create_symlink("sub", tree.path("to_directory"));
  fs::create_symlink("other", tree.path("to_file"));
  expect_what_grep_finds(
      {tree.path("to_directory"), tree.path("to_file"), tree.path("sub/"), tree.path("other")});
}

TEST(identifiers, prints_the_most_frequent_and_equals_by_bytes) {
  const temporary_tree tree;
  tree.write("file", "b b b Z a c c _x a Z");
  std::string many;
  for (int i = 0; i < 30'000; ++i) many.append(" x").append(std::to_string(i * 7 % 30'000));
  tree.write("many/file", many);
  for (const char* workers : worker_counts) {
    SCOPED_TRACE(workers);
    const std::string file = tree.path("file");
    EXPECT_EQ(table_of(count(workers, {"--top", "3", file})), "      3 b\n      2 Z\n      2 a\n");
    EXPECT_EQ(table_of(count(workers, {"--top", "0", file})), "");
    EXPECT_EQ(table_of(count(workers, {file})), "      3 b\n      2 Z\n      2 a\n      2 c\n      1 _x\n");

    const std::string all = table_of(count(workers, {"--all", tree}));
    const std::string top = table_of(count(workers, {"--top", "5000", tree}));
    EXPECT_EQ(std::ranges::count(all, '\n'), 30'005);
    EXPECT_EQ(std::ranges::count(top, '\n'), 5'000);
    EXPECT_EQ(difference(top, all.substr(0, top.size())), "none");
  }
}

TEST(identifiers, reports_in_json_what_the_text_says) {
  const temporary_tree tree;
  tree.write("a", "one two two");
  tree.write("sub/b", std::string(3 * mebibyte, ' ') + "two");
  for (const char* workers : worker_counts) {
    SCOPED_TRACE(workers);
    const outcome answer = count(workers, {"--json", "--top", "1", tree});
    EXPECT_EQ(answer.status, 0);
    const json result = json::parse(answer.out);
    EXPECT_EQ(result["paths"], json::array({tree.path()}));
    EXPECT_EQ(result["files"], 2);
    EXPECT_EQ(result["directories"], 2);
    EXPECT_EQ(result["bytes"], 3 * mebibyte + 14);
    EXPECT_EQ(result["identifiers"], 4);
    EXPECT_EQ(result["distinct"], 2);
    EXPECT_EQ(result["top"], json::parse(R"([{"identifier": "two", "count": 3}])"));
    EXPECT_EQ(result["workers"], std::stoi(workers));
    EXPECT_GT(result["seconds"], 0.0);
    EXPECT_GT(result["megabytes_per_second"], 0.0);
    EXPECT_TRUE(result["speedup"].is_null());
    for (const json& worker : result["by_worker"])
      for (const char* key : {"run", "handed", "taken"}) EXPECT_TRUE(worker[key].is_number_unsigned()) << key;

    EXPECT_THAT(count(workers, {tree}).out,
                HasSubstr("\nidentifiers  4, 2 distinct\nread         2 files in 2 directories, 3.15 MB"));
  }
}

TEST(identifiers, compares_itself_with_one_worker_by_default) {
  const temporary_tree tree;
  std::string words; // more than any machine counts in the 10 ms that are too little to measure
  while (words.size() < 32 * mebibyte) words += "alpha beta gamma ";
  tree.write("file", words);
  const json speedup = json::parse(identifiers({"--json", "--workers", "2", tree}).out)["speedup"];
  EXPECT_GT(speedup["ratio"], 0.0);
  EXPECT_GT(speedup["one_worker_seconds"], 0.0);
  EXPECT_THAT(identifiers({"--workers", "2", tree}).out, HasSubstr("\nspeed-up  "));
  EXPECT_THAT(identifiers({"--workers", "2", "--no-baseline", tree}).out, Not(HasSubstr("speed-up")));
  EXPECT_THAT(identifiers({"--workers", "1", tree}).out, Not(HasSubstr("speed-up")));
}

TEST(identifiers, says_how_it_is_used) {
  const outcome help = identifiers({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option :
       {"handed, halves of work", "--json", "--workers", "--top", "--all", "--no-baseline"})
    EXPECT_THAT(help.out, HasSubstr(option));
}

TEST(identifiers, refuses_wrong_usage) {
  const strings wrong[] = {{},
                           {"--bogus", "."},
                           {"--workers"},
                           {"--workers", "many", "."},
                           {"--workers", "-1", "."},
                           {"--workers", "1025", "."},
                           {"--top", "-1", "."},
                           {"--top", "99999999999999999999", "."},
                           {"--top", "3", "--all", "."}};
  for (const auto& arguments : wrong) {
    const outcome result = identifiers(arguments);
    EXPECT_EQ(result.status, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("--help"));
    EXPECT_LT(result.err.size(), 120u) << result.err;
  }
}

} // namespace
