// The room in a channel under the explorer: the two ends keep to the capacity, and a send that found the room
// which a receive made happens after it.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/sync/room.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using mutex = rubato::detail::basic_mutex<policy>;
using guard = std::lock_guard<mutex>;

/// What a receiver does in another order, or leaves out.
enum class mutant {
  none,
  counts_early, ///< it counts the value, then takes it
  swaps_alone,  ///< it exchanges the parts without the senders' lock
};

/// A channel's buffer without its values.
template<mutant Mutant>
struct buffer {
  int const capacity;
  mutex front_mutex, back_mutex;
  policy::plain<int> front{0}, back{0};
  rubato::detail::basic_taken_count<policy> taken;
  rubato::detail::basic_room<policy> room;
  policy::plain<int> cell{0}; // of a value that is about to leave

  explicit buffer(int most)
      : capacity(most)
      , room(static_cast<std::size_t>(most)) {}

  bool put() {
    guard const lock(back_mutex);
    if (!room.is_free(taken)) return false;
    back.set(back.get() + 1);
    room.fill();
    EXPLORE_ASSERT(back.get() <= capacity);
    return true;
  }
  bool take() {
    guard const lock(front_mutex);
    if (front.get() == 0) {
      if (Mutant != mutant::swaps_alone) back_mutex.lock();
      front.set(back.get());
      back.set(0);
      if (Mutant != mutant::swaps_alone) back_mutex.unlock();
    }
    if (front.get() == 0) return false;
    if (Mutant == mutant::counts_early) taken.add();
    static_cast<void>(cell.get()); // moves the value out of its cell
    front.set(front.get() - 1);
    if (Mutant != mutant::counts_early) taken.add();
    return true;
  }
};

/// A full buffer, of which the receiver has one value in its part: a send that finds room follows the
/// receive.
template<mutant Mutant = mutant::none>
void one_and_one(execution& e) {
  auto const b = std::make_shared<buffer<Mutant>>(2);
  EXPLORE_ASSERT(b->put() && b->put() && b->take() && b->put() && !b->put());
  e.thread([b] {
    if (b->put()) b->cell.set(1);
  });
  e.thread([b] { EXPLORE_ASSERT(b->take()); });
  e.finally([b] { EXPLORE_ASSERT(b->front.get() + b->back.get() <= 2); });
}
/// Two senders and a receiver: no more values than the capacity, and none is lost.
template<mutant Mutant = mutant::none>
void two_and_one(execution& e) {
  struct all {
    buffer<Mutant> values{1};
    policy::atomic<int> sent{1}, received{0};
  };
  auto const a = std::make_shared<all>();
  EXPLORE_ASSERT(a->values.put());
  for (int i = 0; i != 2; ++i)
    e.thread([a] {
      if (a->values.put()) a->sent.fetch_add(1, std::memory_order_relaxed);
    });
  e.thread([a] {
    for (int i = 0; i != 2; ++i)
      if (a->values.take()) a->received.fetch_add(1, std::memory_order_relaxed);
  });
  e.finally([a] {
    int left = 0;
    while (a->values.take()) ++left;
    EXPLORE_ASSERT(left <= 1 && a->received.load() + left == a->sent.load());
  });
}

tests const all{one_and_one<>, two_and_one<>};

TEST(room_protocol, keeps_the_capacity_and_orders_both_ends) {
  expect_all_pass({.max_executions = 50'000, .random = 5'000}, all);
}
TEST(room_protocol, needs_every_step) {
  expect_all_fail({one_and_one<mutant::counts_early>, two_and_one<mutant::swaps_alone>});
}
TEST(room_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "room.hpp"}, all);
}

} // namespace
