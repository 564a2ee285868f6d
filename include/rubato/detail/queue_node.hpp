// What a queue of the library links.
#pragma once

#include "rubato/detail/policy.hpp"

namespace rubato::detail {

template<class Policy>
struct basic_queue_node {
  typename Policy::template atomic<basic_queue_node*> next{nullptr};
};

using queue_node = basic_queue_node<std_policy>;

} // namespace rubato::detail
