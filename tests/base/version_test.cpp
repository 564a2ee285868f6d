#include "rubato/version.hpp"

#include <gtest/gtest.h>

namespace {

TEST(version, of_the_library_is_that_of_the_headers) {
  EXPECT_EQ(rubato::version(), rubato::header_version);
  EXPECT_EQ(rubato::header_version.major * 10000 + rubato::header_version.minor * 100 +
                rubato::header_version.patch,
            unsigned{RUBATO_VERSION});
}

TEST(version, is_ordered) {
  EXPECT_LT((rubato::version_number{0, 9, 9}), (rubato::version_number{1, 0, 0}));
  EXPECT_LT((rubato::version_number{1, 0, 9}), (rubato::version_number{1, 1, 0}));
  EXPECT_LT((rubato::version_number{1, 1, 0}), (rubato::version_number{1, 1, 1}));
}

} // namespace
