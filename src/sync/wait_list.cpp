#include "rubato/detail/sync/wait_list.hpp"
#include "os/die.hpp"

namespace rubato::detail {

void misuse(char const* what) noexcept { os::die(what); }

} // namespace rubato::detail
