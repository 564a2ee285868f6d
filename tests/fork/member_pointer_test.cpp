// Pointers to members as callables, applied to all that std::invoke applies them to.
#include <gtest/gtest.h>

#include "support/pools.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/spawn.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

using namespace rubato_test;

namespace {

struct part {
  std::atomic<int> calls{0};
  void count() { calls.fetch_add(1); }
  void count_const() const { const_cast<part*>(this)->calls.fetch_add(1); }
};
struct special_part : part {};

class member_pointer : public on_workers {};
RUBATO_TEST_WITH_WORKERS(member_pointer, all_counts);

TEST_P(member_pointer, is_called_on_its_class_and_derived_ones) {
  std::vector<part> plain(100);
  std::vector<special_part> derived(100);
  rubato::for_each(pool, plain, &part::count);
  rubato::for_each(pool, derived, &part::count_const);
  for (part const& p : plain) EXPECT_EQ(p.calls, 1);
  for (part const& p : derived) EXPECT_EQ(p.calls, 1);
}

TEST_P(member_pointer, is_called_through_pointers_and_wrappers) {
  part p;
  std::vector<part*> const pointers(10, &p);
  std::vector<std::shared_ptr<part>> const shared(10, std::make_shared<part>());
  std::vector<std::reference_wrapper<part>> const wrapped(10, std::ref(p));
  rubato::for_each(pool, pointers, &part::count);
  rubato::for_each(pool, shared, &part::count);
  rubato::for_each(pool, wrapped, &part::count);
  EXPECT_EQ(p.calls, 20);
  EXPECT_EQ(shared[0]->calls, 10);
}

TEST_P(member_pointer, names_a_data_member) {
  struct entry {
    int value = 0;
  };
  std::vector<entry> const entries(50, entry{3});
  EXPECT_EQ(rubato::reduce(pool, entries, 0, std::plus<>(), &entry::value), 150);
  rubato::for_each(pool, entries, &entry::value); // does nothing, and may
}

TEST_P(member_pointer, is_a_callable_of_a_task) {
  part p;
  pool.run([&] { rubato::spawn(&part::count, &p).get(); });
  pool.run([&] { rubato::spawn(&part::count_const, std::ref(p)).get(); });
  EXPECT_EQ(p.calls, 2);
}

} // namespace
