#include "rubato/detail/member.hpp"

namespace rubato::detail {

#if !defined(__clang__)
constinit thread_local member* current = &outside;
#endif

} // namespace rubato::detail
