// What the explorer's tests of queues push.
#pragma once

#include "explore/policy.hpp"
#include "rubato/detail/base/intrusive_list.hpp"

namespace rubato_test {

struct queued_item : rubato::detail::basic_queue_node<policy> {
  int id;
  policy::plain<int> payload;
  explicit queued_item(int i)
      : id(i)
      , payload(i) {}
};

} // namespace rubato_test
