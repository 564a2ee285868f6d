#include "os/die.hpp"
#include "rubato/detail/wait_list.hpp"

namespace rubato::detail {

void misuse(char const* what) noexcept { os::die(what); }

} // namespace rubato::detail
