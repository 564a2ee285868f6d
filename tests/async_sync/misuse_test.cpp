// What cannot be right ends the program, with a word of explanation.
#include "support/async_sync.hpp"
#include "support/process.hpp"

#include <optional>

namespace {

using namespace rubato_test;

using async_misuse = rubato_test::fresh_process;

TEST_F(async_misuse, unlock_of_an_unlocked_mutex) {
  EXPECT_DEATH(rubato::async_mutex().release(), "rubato: release\\(\\) of an async_mutex that is not locked");
  EXPECT_DEATH(rubato::async_lock().unlock(), "rubato: unlock\\(\\) of an async_lock that owns nothing");
}

TEST_F(async_misuse, too_many_permits) {
  EXPECT_DEATH(
      {
        rubato::async_semaphore s(~std::size_t{0} / 4);
        s.release();
      },
      "rubato: release\\(\\) of an async_semaphore that has 2\\^62 - 1 permits already");
  EXPECT_DEATH(rubato::async_semaphore(1).release(~std::size_t{0}), "rubato: an async_semaphore has at most");
}

TEST_F(async_misuse, destroyed_while_a_coroutine_waits) {
  EXPECT_DEATH(
      {
        rubato::pool pool(1);
        rubato::future<void> f;
        rubato::channel<int> c(0);
        auto receive = [&]() -> rubato::task<> { static_cast<void>(co_await c.receive()); };
        f = pool.spawn(receive());
        let_all_wait(pool);
      },
      "rubato: a lock, semaphore, latch, barrier or channel was destroyed while a coroutine waited for it");
}

} // namespace
