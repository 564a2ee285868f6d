// What the program `identifiers` prints of a comparison, which depends on the machine, and of its workers.
#include "identifiers/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>

namespace {

using identifiers::comparison;
using testing::HasSubstr;
using testing::Not;

std::string text_of(unsigned workers, comparison compared) {
  identifiers::report all;
  all.workers = workers;
  all.by_worker.resize(workers);
  all.result.seconds = 1;
  all.compared = compared;
  std::ostringstream out;
  print_text(all, out);
  return std::move(out).str();
}

TEST(identifiers_report, regression_explains_superlinear_speed_ups) {
  EXPECT_THAT(text_of(2, {3, 1, 2.5, 3.5}), HasSubstr("more than 2, the number of workers: each core has"));
  EXPECT_THAT(text_of(3, {3, 1, 2.5, 3.5}), Not(HasSubstr("more than")));
  EXPECT_THAT(text_of(4, {3, 1, 2.5, 3.5}), Not(HasSubstr("more than")));
}

TEST(identifiers_report, regression_explains_its_columns_below) {
  const std::string text = text_of(2, {1, 1, 1, 1});
  const auto table = text.find("worker         run      handed       taken");
  ASSERT_NE(table, std::string::npos);
  for (const char* column : {"\nrun: ", "\nhanded: ", "\ntaken: "})
    EXPECT_NE(text.find(column, table), std::string::npos) << column;
}

} // namespace
