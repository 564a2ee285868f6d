// A reference to an open descriptor, which operations hold beside its socket. docs/design/reactor.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include <memory>

namespace rubato::detail {

class descriptor;
struct descriptor_drop {
  RUBATO_API void operator()(descriptor* d) const noexcept;
};
using descriptor_ref = std::unique_ptr<descriptor, descriptor_drop>;

} // namespace rubato::detail
