// The tokeniser against the definition, however its input is cut.
#include "identifiers/tokeniser.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace {

using texts = std::vector<std::string>;

texts expected(const std::string& text) {
  static const std::regex identifier("[A-Za-z_][A-Za-z0-9_]*", std::regex::optimize);
  texts found;
  for (std::sregex_iterator at(text.begin(), text.end(), identifier), end; at != end; ++at)
    found.push_back(at->str());
  return found;
}

/// Cuts the text at the given places.
texts found(std::string_view text, const std::vector<std::size_t>& cuts) {
  texts all;
  identifiers::tokeniser tokens([&](std::string_view identifier) { all.emplace_back(identifier); });
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    tokens.feed(text.substr(begin, cut - begin));
    begin = cut;
  }
  tokens.feed(text.substr(begin));
  tokens.finish();
  return all;
}

constexpr char nasty_bytes[] = "0x1F 12ab_9 99 _ __ a\0b\0 caf\xc3\xa9s \xff"
                               "x\r\nA1a@Z[z`_{9a9 7_7z0";
const std::string nasty(nasty_bytes, sizeof nasty_bytes - 1);

TEST(tokeniser, finds_the_same_wherever_the_input_is_cut_in_three) {
  const texts whole = expected(nasty);
  for (std::size_t i = 0; i <= nasty.size(); ++i)
    for (std::size_t j = i; j <= nasty.size(); ++j) ASSERT_EQ(found(nasty, {i, j}), whole) << i << ", " << j;
}

TEST(tokeniser, agrees_with_the_regular_expression_on_random_bytes) {
  std::mt19937 random(7);
  constexpr std::string_view alphabet("aZ_09 -\n\0\x80", 10);
  for (int round = 0; round < 2'000; ++round) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = alphabet[random() % alphabet.size()];
    std::vector<std::size_t> cuts;
    for (std::size_t at = random() % 20; at < text.size(); at += random() % 20) cuts.push_back(at);
    ASSERT_EQ(found(text, cuts), expected(text)) << testing::PrintToString(text);
  }
}

TEST(tokeniser, leaves_a_run_that_began_elsewhere_to_others) {
  texts all;
  identifiers::tokeniser tokens([&](std::string_view identifier) { all.emplace_back(identifier); });
  tokens.begin_in_foreign_run();
  tokens.feed("9end");
  EXPECT_FALSE(tokens.in_own_run());
  tokens.feed("s mine 42");
  EXPECT_TRUE(tokens.in_own_run());
  tokens.feed("x");
  tokens.finish();
  EXPECT_EQ(all, (texts{"mine", "x"}));
}

} // namespace
