// The program `algorithms`: each algorithm checks its own result; here is what it prints of it.
#include "examples/child.hpp"
#include "examples/temporary_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using testing::HasSubstr;
using testing::StartsWith;

/// What it prints, the same with any number of workers.
std::string result_of(const std::vector<std::string>& arguments) {
  std::string result;
  for (const char* workers : {"1", "0", "2", "33"}) {
    std::vector<std::string> command{ALGORITHMS_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--workers", workers});
    const outcome end = run(command);
    EXPECT_EQ(end.status, 0) << end.err;
    EXPECT_THAT(end.err, HasSubstr(std::string("with ") + workers + " workers"));
    if (result.empty()) result = end.out;
    EXPECT_EQ(end.out, result);
  }
  return result;
}

TEST(algorithms_program, sorts_and_counts) {
  EXPECT_THAT(result_of({"mergesort", "100000"}), StartsWith("100000 numbers, from "));
  EXPECT_EQ(result_of({"quicksort", "100000"}), result_of({"mergesort", "100000"}));
  EXPECT_EQ(result_of({"sieve", "1000000"}), "78498 primes\n");
  EXPECT_THAT(result_of({"matmul", "150"}), StartsWith("150 x 150, trace "));
  EXPECT_THAT(result_of({"pi", "100000"}), StartsWith("3.1"));
  EXPECT_THAT(result_of({"pagerank", "1000"}), StartsWith("1000 pages, 14000 links"));
}

TEST(algorithms_program, counts_the_words_of_files) {
  const temporary_tree tree;
  tree.write("one", "the end is the");
  tree.write("two", "beginning of the end\n");
  EXPECT_EQ(result_of({"words", tree.path("one"), tree.path("two"), "--top", "2"}),
            "         3  the\n         2  end\n");
}

TEST(algorithms_program, a_file_that_cannot_be_read_is_named) {
  const outcome end = run({ALGORITHMS_PROGRAM, "words", "/nowhere/at/all"});
  EXPECT_EQ(end.status, 1);
  EXPECT_THAT(end.err, HasSubstr("/nowhere/at/all"));
  EXPECT_EQ(run({ALGORITHMS_PROGRAM, "words", "/"}).status, 1);
}

TEST(algorithms_program, refuses_wrong_arguments) {
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"bogosort"},
                                                    {"sieve", "0"},
                                                    {"sieve", "-1"},
                                                    {"matmul", "many"},
                                                    {"pi", "1", "2"},
                                                    {"pi", "--workers", "-2"}};
  for (const auto& arguments : wrong) {
    std::vector<std::string> command{ALGORITHMS_PROGRAM};
    command.insert(command.end(), arguments.begin(), arguments.end());
    EXPECT_EQ(run(command).status, 2) << testing::PrintToString(command);
  }
  EXPECT_EQ(run({ALGORITHMS_PROGRAM, "--help"}).status, 0);
}

} // namespace
