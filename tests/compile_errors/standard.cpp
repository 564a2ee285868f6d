// An older standard: one message, and no error in a header.
// flags: -std=c++17
#include <rubato/rubato.hpp>
// error: rubato: C++20 is needed: compile with -std=c++20 or newer
// error: rubato/detail/base/see_the_error_above
