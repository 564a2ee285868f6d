#include "os/membarrier.hpp"
#include "rubato/detail/base/policy.hpp"
#include "support/scale.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace {

using policy = rubato::detail::std_policy;

/// The store buffer: each side writes its own word and reads the other's. Without fences both may read the
/// old value. Returns how often both did. `owner` and `thief` are what each does in between.
template<class Owner, class Thief>
int both_saw_nothing(int rounds, Owner owner, Thief thief) {
  struct alignas(64) word {
    std::atomic<int> value{0};
  };
  word x, y, seen_by_owner, owner_at, thief_at;
  auto const meet = [](word& mine, word const& other, int point) {
    mine.value.store(point);
    for (int spins = 0; other.value.load() < point; ++spins)
      if (spins > 1'000) std::this_thread::yield();
  };
  // Having just read the other's word, a side has it at hand, while its own store takes long: the best chance
  // to see them out of order. And the sides should start at every distance from each other.
  auto const aim = [](word const& other, int delay) {
    static_cast<void>(other.value.load(std::memory_order_relaxed));
    for (int i = 0; i < delay; ++i) std::atomic_signal_fence(std::memory_order_seq_cst); // keeps the loop
  };
  std::thread other([&] {
    for (int i = 1; i <= rounds; ++i) {
      meet(owner_at, thief_at, 2 * i);
      aim(y, i % 61);
      x.value.store(i, std::memory_order_relaxed);
      owner();
      seen_by_owner.value.store(y.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
      meet(owner_at, thief_at, 2 * i + 1);
    }
  });
  int bad = 0;
  for (int i = 1; i <= rounds; ++i) {
    meet(thief_at, owner_at, 2 * i);
    aim(x, i % 67);
    y.value.store(i, std::memory_order_relaxed);
    thief();
    int const seen = x.value.load(std::memory_order_relaxed);
    meet(thief_at, owner_at, 2 * i + 1);
    bad += seen < i && seen_by_owner.value.load(std::memory_order_relaxed) < i ? 1 : 0;
  }
  other.join();
  return bad;
}

int const rounds = static_cast<int>(rubato_test::scaled(4'000));

void real_fence() {
#if defined(__SANITIZE_THREAD__) // which does not see the other kind
  static std::atomic<int> nothing{0};
  nothing.fetch_add(0);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

TEST(policy, heavy_barrier_pairs_with_light_barrier) {
  if (!rubato::os::membarrier_available()) GTEST_SKIP() << "not here";
  EXPECT_EQ(both_saw_nothing(rounds, policy::light_barrier, policy::heavy_barrier), 0);
}

TEST(policy, heavy_barrier_pairs_with_a_fence_without_membarrier) {
  rubato::os::refuse_membarrier(true);
  EXPECT_EQ(both_saw_nothing(rounds, real_fence, policy::heavy_barrier), 0);
  rubato::os::refuse_membarrier(false);
}

TEST(policy, sleep_and_wake) {
  std::atomic<std::uint32_t> word{0};
  std::thread sleeper([&] {
    while (word.load() == 0) policy::futex_wait(word, 0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  word.store(1);
  policy::futex_wake(word, 1);
  sleeper.join();
  policy::pause();
}

} // namespace
