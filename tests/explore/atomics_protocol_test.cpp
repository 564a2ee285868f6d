// The atomics of base/atomics.hpp under the explorer: each keeps its promise, and needs each of its orders.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/base/atomics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;

using flag = rubato::detail::basic_flag<policy>;
using countdown = rubato::detail::basic_countdown<policy, std::uint32_t>;
using references = rubato::detail::basic_references<policy>;
using first_of = rubato::detail::basic_first<policy, std::uint32_t>;
template<class T>
using published = rubato::detail::basic_published<policy, T>;
using announced = rubato::detail::basic_announced<policy, unsigned>;

/// What each thread writes before it tells the others.
struct written {
  std::array<policy::plain<int>, 2> by{};
  [[nodiscard]] bool all() const { return by[0].get() == 1 && by[1].get() == 1; }
};

void flag_is_seen_with_what_came_before(execution& e) {
  struct world : written {
    flag f;
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->by[0].set(1);
    w->f.raise();
  });
  e.thread([w] {
    if (w->f.is_raised()) EXPLORE_ASSERT(w->by[0].get() == 1);
  });
}

void one_thread_takes_a_flag(execution& e) {
  struct world : written {
    flag f;
    policy::atomic<int> taken{0};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->by[0].set(1);
    w->f.raise();
  });
  for (int i = 0; i != 2; ++i)
    e.thread([w] {
      if (!w->f.take()) return;
      EXPLORE_ASSERT(w->by[0].get() == 1);
      w->taken.fetch_add(1);
    });
  e.finally([w] { EXPLORE_ASSERT(w->taken.load() <= 1); });
}

void second_to_raise_sees_the_first(execution& e) {
  struct world : written {
    flag f;
    policy::atomic<int> first{0};
  };
  auto const w = std::make_shared<world>();
  for (std::size_t i = 0; i != 2; ++i)
    e.thread([w, i] {
      w->by[i].set(1);
      if (w->f.try_raise())
        w->first.fetch_add(1);
      else
        EXPLORE_ASSERT(w->all());
    });
  e.finally([w] { EXPLORE_ASSERT(w->first.load() == 1); });
}

/// Two threads write and then leave, by is_last(object, i). One is the last, and sees what both have written.
template<class Object>
void one_is_last(execution& e, bool (*is_last)(Object&, std::size_t)) {
  struct world : written {
    Object object{2};
    policy::atomic<int> last{0};
  };
  auto const w = std::make_shared<world>();
  for (std::size_t i = 0; i != 2; ++i)
    e.thread([w, i, is_last] {
      w->by[i].set(1);
      if (!is_last(w->object, i)) return;
      EXPLORE_ASSERT(w->all());
      w->last.fetch_add(1);
    });
  e.finally([w] { EXPLORE_ASSERT(w->last.load() == 1); });
}

void last_part_sees_the_others(execution& e) {
  one_is_last<countdown>(e, [](countdown& parts, std::size_t) { return parts.arrive(); });
}

void more_parts_than_are_left_do_not_arrive(execution& e) {
  struct world : written {
    countdown parts{3};
    policy::atomic<int> refused{0};
  };
  auto const w = std::make_shared<world>();
  for (std::size_t i = 0; i != 2; ++i)
    e.thread([w, i] {
      w->by[i].set(1);
      std::uint32_t const left = w->parts.arrive_unless_fewer(2);
      EXPLORE_ASSERT(left == 3 || left == 1);
      if (left < 2) w->refused.fetch_add(1);
    });
  e.finally([w] { EXPLORE_ASSERT(w->refused.load() == 1); });
}

void last_of_two_that_are_left_sees_the_other(execution& e) {
  one_is_last<countdown>(e, [](countdown& parts, std::size_t) { return parts.arrive_unless_fewer(1) == 1; });
}

void all_parts_are_seen_when_it_is_over(execution& e) {
  struct world : written {
    countdown parts{1};
    policy::atomic<bool> handed_over{false};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] { // hands a part over
    w->parts.add();
    w->handed_over.store(true, std::memory_order_release);
    w->by[0].set(1);
    static_cast<void>(w->parts.arrive());
  });
  e.thread([w] {
    while (!w->handed_over.load(std::memory_order_acquire)) policy::pause();
    w->by[1].set(1);
    static_cast<void>(w->parts.arrive());
  });
  e.thread([w] {
    if (w->parts.is_over()) EXPLORE_ASSERT(w->all());
  });
  e.finally([w] { EXPLORE_ASSERT(w->parts.is_over()); });
}

void last_reference_destroys(execution& e) {
  one_is_last<references>(e, [](references& r, std::size_t i) {
    if (i == 0) {
      r.hold();
      EXPLORE_ASSERT(!r.release());
    }
    return r.release();
  });
}

/// Both keep the last reference and go on, or the other thread destroys.
template<bool Both>
void last_reference_may_be_kept(execution& e) {
  one_is_last<references>(e, [](references& r, std::size_t i) {
    return i == 0 || Both ? !r.release_unless_last() : r.release();
  });
}

void one_claims(execution& e) {
  struct world {
    first_of first;
    policy::atomic<std::uint32_t> claimed{0};
  };
  auto const w = std::make_shared<world>();
  for (std::uint32_t i = 0; i != 2; ++i)
    e.thread([w, i] {
      if (w->first.claim(i)) w->claimed.fetch_add(i + 1);
    });
  e.finally([w] { EXPLORE_ASSERT(w->claimed.load() == w->first.get() + 1); });
}

/// As an input that joins a when_all() while another input fails.
void claim_meets_what_is_listed(execution& e) {
  struct world : written {
    first_of first;
    policy::atomic<bool> listed{false};
    policy::plain<bool> found{false}, seen{false};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->by[0].set(1);
    EXPLORE_ASSERT(w->first.claim(7));
    w->found.set(w->listed.load(std::memory_order_relaxed));
  });
  e.thread([w] {
    w->listed.store(true, std::memory_order_relaxed);
    w->seen.set(w->first.is_claimed_now());
    if (w->seen.get()) EXPLORE_ASSERT(w->by[0].get() == 1 && w->first.get() == 7);
  });
  e.finally([w] { EXPLORE_ASSERT(w->found.get() || w->seen.get()); });
}

void published_object_is_whole(execution& e) {
  struct world {
    policy::plain<int> object{0};
    published<policy::plain<int>*> at;
    published<unsigned> number{1};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->object.set(1);
    w->at.publish(&w->object);
    EXPLORE_ASSERT(w->at.own() == &w->object);
  });
  e.thread([w] {
    if (auto* const object = w->at.get()) EXPLORE_ASSERT(object->get() == 1);
  });
}

void next_number_tells_of_what_came_before(execution& e) {
  struct world : written {
    published<unsigned> number{1};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->by[0].set(1);
    w->number.advance();
  });
  e.thread([w] {
    if (w->number.get() == 2) EXPLORE_ASSERT(w->by[0].get() == 1);
  });
}

void one_object_is_published(execution& e) {
  struct world {
    std::array<policy::plain<int>, 2> made{};
    published<policy::plain<int>*> at;
  };
  auto const w = std::make_shared<world>();
  for (std::size_t i = 0; i != 2; ++i)
    e.thread([w, i] {
      w->made[i].set(1);
      auto* const now = w->at.try_publish(&w->made[i]);
      EXPLORE_ASSERT(now->get() == 1 && now == w->at.own());
    });
  e.thread([w] {
    if (auto* const object = w->at.get()) EXPLORE_ASSERT(object->get() == 1);
  });
}

/// One of two threads that announce something sees the other. The second one always uses set().
template<auto Announce>
void one_sees_the_other(execution& e) {
  struct world {
    announced first, second;
    policy::plain<bool> saw_second{false}, saw_first{false};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    Announce(w->first);
    w->saw_second.set(w->second.get() != 0);
  });
  e.thread([w] {
    w->second.set(1);
    w->saw_first.set(w->first.get() != 0);
  });
  e.finally([w] { EXPLORE_ASSERT(w->saw_second.get() || w->saw_first.get()); });
}

using single_slot = rubato::detail::basic_single_slot<policy, policy::plain<int>>;

void object_passes_through_a_slot(execution& e) {
  struct world : written {
    single_slot slot;
    policy::atomic<int> got{0};
  };
  auto const w = std::make_shared<world>();
  auto const use = [](world& on, policy::plain<int>* object) {
    if (object == nullptr) return;
    EXPLORE_ASSERT(object->get() == 1);
    on.got.fetch_add(1);
  };
  for (std::size_t i = 0; i != 2; ++i)
    e.thread([w, i, use] {
      w->by[i].set(1);
      use(*w, w->slot.put(&w->by[i]));
    });
  e.thread([w, use] { use(*w, w->slot.take()); });
  e.finally([w] { EXPLORE_ASSERT(w->got.load() + (w->slot.is_empty() ? 0 : 1) == 2); });
}

/// As a task that is put into a LIFO slot while the monitor goes to sleep.
void filled_slot_or_sleeper_is_seen(execution& e) {
  struct world : written {
    single_slot slot;
    announced sleeps;
    policy::plain<bool> saw_sleeper{false}, saw_object{false};
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    static_cast<void>(w->slot.put(&w->by[0]));
    w->saw_sleeper.set(w->sleeps.get() != 0);
  });
  e.thread([w] {
    w->sleeps.set(1);
    w->saw_object.set(!w->slot.is_empty_now());
  });
  e.finally([w] { EXPLORE_ASSERT(w->saw_sleeper.get() || w->saw_object.get()); });
}

tests const all{flag_is_seen_with_what_came_before,
                one_thread_takes_a_flag,
                second_to_raise_sees_the_first,
                last_part_sees_the_others,
                more_parts_than_are_left_do_not_arrive,
                last_of_two_that_are_left_sees_the_other,
                all_parts_are_seen_when_it_is_over,
                last_reference_destroys,
                last_reference_may_be_kept<false>,
                last_reference_may_be_kept<true>,
                one_claims,
                claim_meets_what_is_listed,
                published_object_is_whole,
                next_number_tells_of_what_came_before,
                one_object_is_published,
                one_sees_the_other<[](announced& a) { a.set(1); }>,
                one_sees_the_other<[](announced& a) { a.exchange(1); }>,
                one_sees_the_other<[](announced& a) { a.add(1); }>,
                one_sees_the_other<[](announced& a) { a.subtract(1); }>,
                object_passes_through_a_slot,
                filled_slot_or_sleeper_is_seen};

TEST(atomics_protocol, keep_what_their_types_say) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(atomics_protocol, need_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "atomics.hpp"}, all);
}

} // namespace
