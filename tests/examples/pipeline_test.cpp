// The program `pipeline` against checksums of the bytes that went into its files.
#include "examples/pipeline.hpp"
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

namespace {

using namespace rubato_test;
using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* worker_counts[] = {"0", "1", "2", "7"};
constexpr std::size_t part = 64 * 1024; // as much as is read at a time

/// Bytes that can be compressed, but not to nothing.
std::string some_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, ' ');
  std::ranges::generate(bytes, [&] { return static_cast<char>('a' + random() % 20); });
  return bytes;
}

/// A tree, and its manifest.
struct known_tree {
  temporary_tree files;
  expected_manifest manifest;

  void plain(const std::string& path, const std::string& bytes) {
    files.write(path, bytes);
    manifest.add(path, bytes.size(), bytes);
  }
  void stored(const std::string& path, const std::string& compressed, const std::string& bytes) {
    files.write(path, compressed);
    manifest.add(path, compressed.size(), bytes);
  }
  void compressed(const std::string& path, const std::string& bytes) { stored(path, gzipped(bytes), bytes); }

  void expect(const strings& more = {}) const {
    for (const char* workers : worker_counts)
      for (const char* readers : {"1", "5"}) {
        SCOPED_TRACE(std::string("workers ") + workers + ", readers " + readers);
        strings arguments{files, "--workers", workers, "--readers", readers};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const outcome result = pipeline(arguments);
        EXPECT_EQ(result.status, 0);
        EXPECT_EQ(result.err, "");
        EXPECT_EQ(result.out, manifest.text());
      }
  }
};

TEST(pipeline, sums_up_files_of_every_size_in_order_of_paths) {
  known_tree tree;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{4095},
                                 std::size_t{4096}, part - 1, part, part + 1, 2 * part, 20 * part + 17}) {
    tree.plain("plain/" + std::to_string(size), some_bytes(size, 1));
    tree.compressed("gzip/" + std::to_string(size) + ".gz", some_bytes(size, 2));
  }
  for (unsigned i = 0; i < 400; ++i) {
    const std::string path = std::to_string(i % 3) + "/" + std::to_string(i % 11) + "/" + std::to_string(i);
    i % 2 == 0 ? tree.plain(path, some_bytes(i * 37, i)) : tree.compressed(path, some_bytes(i * 97, i));
  }
  tree.expect();
}

TEST(pipeline, tells_gzip_by_its_content_not_its_name) {
  known_tree tree;
  tree.plain("plain.gz", "not compressed");
  tree.plain("half", "\x1f");
  tree.plain("nearly", "\x1f\x8c\x08");
  tree.compressed("compressed.txt", "compressed");
  tree.expect();
}

TEST(pipeline, inflates_all_members_of_a_file_and_skips_zeros) {
  known_tree tree;
  const std::string a = some_bytes(100, 1);
  const std::string b = some_bytes(3 * part, 2);
  tree.stored("two", gzipped(a) + gzipped(b), a + b);
  tree.stored("empty_and_one", gzipped("") + gzipped(a), a);
  tree.stored("padded", gzipped(a) + std::string(1024, '\0'), a);
  tree.stored("padded_beyond_a_part", gzipped(a) + std::string(3 * part, '\0'), a);
  std::string many, all;
  for (unsigned i = 0; i < 3000; ++i) {
    many += gzipped(some_bytes(i % 50, i));
    all += some_bytes(i % 50, i);
  }
  tree.stored("many", many, all);
  tree.compressed("dense", std::string(50'000'000, 'x')); // 1,000 times as much as is in the file
  tree.expect();
}

TEST(pipeline, reads_every_part_of_a_large_file) {
  known_tree tree;
  const std::string large = some_bytes(5'000'000, 3);
  tree.plain("plain", large);
  tree.compressed("gzip", large);
  tree.plain("small", "beside");
  tree.expect();
}

TEST(pipeline, writes_odd_names_so_that_a_line_is_a_file) {
  known_tree tree;
  for (const char* name : {".hidden", "-n", "a b", "a\nb", "back\\slash", "back\\nslash", "*", "\xff\xfe"})
    tree.plain(name, std::string("in ") + name);
  tree.expect();

  const json result = json::parse(pipeline({tree.files, "--json"}).out);
  ASSERT_EQ(result["files"].size(), 8u);
  EXPECT_EQ(result["files"][3]["path"], "a\nb");
}

TEST(pipeline, does_not_follow_links_nor_open_what_is_no_file) {
  known_tree tree;
  tree.plain("sub/file", "alpha");
  fs::create_symlink("..", tree.files.path("sub/loop"));
  fs::create_symlink("file", tree.files.path("sub/link"));
  fs::create_symlink("itself", tree.files.path("itself"));
  fs::create_symlink("/usr/include", tree.files.path("elsewhere"));
  ASSERT_EQ(::mkfifo(tree.files.path("fifo").c_str(), 0600), 0);
  tree.expect();
  const json result = json::parse(pipeline({tree.files, "--json"}).out);
  EXPECT_EQ(result["symlinks_skipped"], 4);
  EXPECT_EQ(result["special_skipped"], 1);
  EXPECT_EQ(result["directories"], 2);
}

TEST(pipeline, follows_a_link_that_the_user_names) {
  const temporary_tree tree;
  tree.write("sub/file", "alpha");
  fs::create_symlink("sub", tree.path("link"));
  const outcome result = pipeline({tree.path("link")});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, testing::EndsWith(" 5 5 file\n"));
}

TEST(pipeline, writes_the_manifest_to_a_file_and_a_summary_beside) {
  known_tree tree;
  tree.plain("file", "alpha");
  tree.compressed("gzip", std::string(1'000'000, 'x'));
  const temporary_tree out;
  const std::string manifest = out.path("manifest");
  for (int i = 0; i < 2; ++i) { // the second replaces what the first has written
    const outcome result = pipeline({tree.files, "-o", manifest});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr("read         2 files in 1 directories, 0.00 MB, inflated 1.00 MB"));
    EXPECT_THAT(result.out, HasSubstr("problems     0\n"));
    EXPECT_EQ(file_contents(manifest), tree.manifest.text());
  }
  fs::create_symlink("manifest", out.path("link"));
  out.write("manifest", "old");
  EXPECT_EQ(pipeline({tree.files, "--output", out.path("link")}).status, 0);
  EXPECT_TRUE(fs::is_symlink(out.path("link")));
  EXPECT_EQ(file_contents(manifest), tree.manifest.text());
  EXPECT_EQ(pipeline({tree.files, "-o", "/dev/null"}).status, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(std::distance(fs::directory_iterator(out.path()), {}), 2);
}

TEST(pipeline, writes_the_same_json_whatever_the_number_of_workers) {
  known_tree tree;
  for (unsigned i = 0; i < 100; ++i) tree.plain(std::to_string(i), some_bytes(i * 1000, i));
  tree.files.write("corrupt", gzipped("alpha").substr(0, 12));
  const std::string expected = pipeline({tree.files, "--json", "--workers", "1"}).out;
  const json result = json::parse(expected);
  EXPECT_EQ(result["files"].size(), 100u);
  EXPECT_EQ(result["problems"].size(), 1u);
  EXPECT_EQ(result["size"], 4'950'000);
  for (const char* workers : worker_counts)
    EXPECT_EQ(pipeline({tree.files, "--json", "--workers", workers}).out, expected);
}

TEST(pipeline, explains_itself) {
  const outcome help = pipeline({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("DIR"));
  for (const strings& wrong : {strings{}, strings{".", "--workers", "-1"}, strings{".", "--readers", "0"},
                               strings{".", "--unknown"}}) {
    const outcome result = pipeline(wrong);
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err, "");
  }
}

} // namespace
