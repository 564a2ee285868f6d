// Addresses: what is none is refused, and nothing is cut or taken for another number.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>

namespace {

using rubato::address;

TEST(addresses, regression_contain_no_zero_byte) {
  using namespace std::string_literals;
  EXPECT_THROW(address("127.0.0.1\0.example"s, 80), std::invalid_argument);
  EXPECT_THROW(address("::1\0"s, 80), std::invalid_argument);
  EXPECT_THROW(std::ignore = address::local("/tmp/a\0b"s), std::invalid_argument);
  EXPECT_THROW(rubato::unix_listener("/tmp/a\0b"s), std::invalid_argument);
  EXPECT_EQ(address::local("\0a\0b"s).host(), "\0a\0b"s); // a name outside the file system may contain more
  EXPECT_THROW(std::ignore = rubato::block_on(rubato::resolve("localhost\0x"s, "80")), std::invalid_argument);
  EXPECT_THROW(std::ignore = rubato::block_on(rubato::resolve("127.0.0.1", "80\0"s)), std::invalid_argument);
}

TEST(addresses, regression_have_a_port_from_0_to_65535) {
  for (char const* port : {"0", "00080", "80", "65535"})
    EXPECT_EQ(rubato::block_on(rubato::resolve("127.0.0.1", port)).at(0).port(), std::stoul(port)) << port;
  for (char const* none : {"65536", "70000", "300800", "4294967296", "99999999999999999999", " 80", "+80",
                           "-1", "\t80", "0x50", "80 ", "8o", "-"})
    EXPECT_THROW(std::ignore = rubato::block_on(rubato::resolve("127.0.0.1", none)), std::system_error)
        << none;
}

} // namespace
