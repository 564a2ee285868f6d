#include "made_up_root.hpp"
#include "os/io/file.hpp"

#include <array>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>

namespace {

using namespace rubato::os;
using testing::Optional;

constexpr auto none = std::nullopt;

TEST(file, reads_all) {
  rubato_test::made_up_root const root;
  for (std::size_t const size : {0U, 1U, 4'095U, 4'096U, 4'097U, 100'000U}) {
    std::string const text(size, 'x');
    root.write("/f", text);
    EXPECT_THAT(read_file(root.path() / "f"), Optional(text));
  }
  EXPECT_THAT(read_file("/proc/self/status"), Optional(testing::HasSubstr("Name:")));
}

TEST(file, what_cannot_be_read) {
  rubato_test::made_up_root const root;
  EXPECT_EQ(read_file(root.path() / "missing"), none);
  EXPECT_EQ(read_file(root.path()), none);
  ASSERT_EQ(::mkfifo((root.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(read_file(root.path() / "pipe"), Optional(std::string())); // and does not wait for a writer
}

TEST(file, reads_the_beginning) {
  rubato_test::made_up_root const root;
  root.write("/f", "0123456789");
  std::array<char, 4> buffer;
  EXPECT_EQ(read_start((root.path() / "f").c_str(), buffer), "0123");
  std::array<char, 40> large;
  EXPECT_EQ(read_start((root.path() / "f").c_str(), large), "0123456789");
  EXPECT_EQ(read_start((root.path() / "missing").c_str(), large), "");
}

TEST(file, numbers) {
  EXPECT_THAT(parse_number<int>("7"), Optional(7));
  EXPECT_THAT(parse_number<int>(" \t-7\n"), Optional(-7));
  EXPECT_THAT(parse_number<int>("0"), Optional(0));
  EXPECT_THAT(parse_number<std::int64_t>("9223372036854775807"), Optional(INT64_MAX));
  for (auto const* const text :
       {"", " ", "\n", "x", "7x", "7 7", "--7", "7.5", "0x7", "9223372036854775808", "+7"})
    EXPECT_EQ(parse_number<std::int64_t>(text), none) << text;
}

TEST(file, cut) {
  std::string_view text = "a,,b";
  EXPECT_EQ(cut(text, ','), "a");
  EXPECT_EQ(cut(text, ','), "");
  EXPECT_EQ(text, "b");
  EXPECT_EQ(cut(text, ','), "b");
  EXPECT_EQ(text, "");
  EXPECT_EQ(cut(text, ','), "");
}

} // namespace
