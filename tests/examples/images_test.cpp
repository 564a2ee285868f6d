// The program `images`: what becomes of pictures, whatever the number of workers, and of files that are none.
#include "examples/child.hpp"
#include "examples/temporary_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::Each;
using testing::HasSubstr;

outcome images(std::vector<std::string> options) {
  options.insert(options.begin(), IMAGES_PROGRAM);
  return run(options);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct picture {
  png_uint_32 width = 0, height = 0;
  std::vector<std::uint8_t> bytes;
};

picture load(const std::string& path) {
  png_image work{};
  work.version = PNG_IMAGE_VERSION;
  picture made;
  if (::png_image_begin_read_from_file(&work, path.c_str()) == 0) return made;
  work.format = PNG_FORMAT_RGB;
  made = {work.width, work.height, std::vector<std::uint8_t>(PNG_IMAGE_SIZE(work))};
  EXPECT_NE(::png_image_finish_read(&work, nullptr, made.bytes.data(), 0, nullptr), 0) << work.message;
  return made;
}

void save(const std::string& path, const picture& from) {
  png_image work{};
  work.version = PNG_IMAGE_VERSION;
  work.width = from.width;
  work.height = from.height;
  work.format = PNG_FORMAT_RGB;
  EXPECT_NE(::png_image_write_to_file(&work, path.c_str(), 0, from.bytes.data(), 0, nullptr), 0)
      << work.message;
}

TEST(images_example, any_number_of_workers_makes_the_same) {
  const temporary_tree tree;
  ASSERT_EQ(images({"--generate", "9", "--size", "80", tree.path("from")}).status, 0);
  ASSERT_EQ(images({tree.path("from"), tree.path("0"), "--width", "33", "-w", "0"}).status, 0);
  for (const std::string workers : {"1", "2", "7"}) {
    const outcome end = images({tree.path("from"), tree.path(workers), "--width", "33", "-w", workers});
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(end.out,
              "00000.png\n00001.png\n00002.png\n00003.png\n00004.png\n00005.png\n00006.png\n00007.png\n"
              "00008.png\n");
    for (int i = 0; i != 9; ++i) {
      const std::string name = "0000" + std::to_string(i) + ".png";
      EXPECT_EQ(bytes_of(tree.path(workers + "/" + name)), bytes_of(tree.path("0/" + name))) << name;
    }
  }
  const picture small = load(tree.path("0/00003.png"));
  EXPECT_EQ(small.width, 33U);
  EXPECT_EQ(small.height, 24U); // of 80 x 60
  EXPECT_NE(bytes_of(tree.path("0/00000.png")), bytes_of(tree.path("0/00001.png")));
}

TEST(images_example, one_picture_in_flight_makes_the_same) {
  const temporary_tree tree;
  ASSERT_EQ(images({"--generate", "5", "--size", "40", tree.path("from")}).status, 0);
  EXPECT_EQ(images({tree.path("from"), tree.path("many"), "-w", "3"}).status, 0);
  EXPECT_EQ(images({tree.path("from"), tree.path("one"), "-w", "3", "--in-flight", "1"}).status, 0);
  EXPECT_EQ(bytes_of(tree.path("many/00004.png")), bytes_of(tree.path("one/00004.png")));
}

TEST(images_example, blurs_by_the_mean_of_neighbours) {
  const temporary_tree tree;
  std::filesystem::create_directories(tree.path("from"));
  picture flat{8, 5, std::vector<std::uint8_t>(8 * 5 * 3, 77)};
  save(tree.path("from/flat.png"), flat);
  picture point{9, 9, std::vector<std::uint8_t>(9 * 9 * 3)};
  point.bytes[(4 * 9 + 4) * 3] = 225; // red, in the middle
  save(tree.path("from/point.png"), point);
  ASSERT_EQ(images({tree.path("from"), tree.path("to"), "--blur", "2", "--width", "9"}).status, 0);

  EXPECT_THAT(load(tree.path("to/flat.png")).bytes, Each(77));
  const picture spread = load(tree.path("to/point.png"));
  ASSERT_EQ(spread.bytes.size(), point.bytes.size());
  for (std::size_t y = 0; y != 9; ++y)
    for (std::size_t x = 0; x != 9; ++x) {
      const bool near = x >= 2 && x <= 6 && y >= 2 && y <= 6;
      EXPECT_EQ(spread.bytes[(y * 9 + x) * 3], near ? 225 / 25 : 0) << x << ' ' << y;
      EXPECT_EQ(spread.bytes[(y * 9 + x) * 3 + 1], 0);
    }
}

TEST(images_example, a_file_that_is_no_picture_stops_no_other) {
  const temporary_tree tree;
  ASSERT_EQ(images({"--generate", "3", "--size", "20", tree.path("from")}).status, 0);
  tree.write("from/00001.png", "no picture");
  const std::string whole = bytes_of(tree.path("from/00002.png"));
  tree.write("from/00003.png", whole.substr(0, whole.size() / 2));
  const outcome end = images({tree.path("from"), tree.path("to"), "--width", "10"});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.out, HasSubstr("00000.png\n00001.png: "));
  EXPECT_THAT(end.out, HasSubstr("\n00002.png\n00003.png: "));
  EXPECT_THAT(end.err, HasSubstr("2 could not be made"));
  EXPECT_EQ(load(tree.path("to/00002.png")).width, 10U);
  EXPECT_FALSE(std::filesystem::exists(tree.path("to/00001.png")));
}

TEST(images_example, says_which_folder_is_missing) {
  const outcome end = images({"/nowhere", "/nowhere"});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("images: "));
  EXPECT_EQ(images({"/nowhere"}).status, 2);
}

} // namespace
