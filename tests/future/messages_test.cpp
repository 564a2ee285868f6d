// What an exception of a future says.
#include <rubato/cancelled.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <utility>

namespace {

std::string message_of(auto&& f) {
  try {
    f();
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}

TEST(messages, regression_a_second_get_says_what_took_the_result) {
  rubato::pool pool(rubato::no_workers);
  auto const expect_told = [&](auto misuse) {
    auto f = pool.spawn([] { return 1; });
    EXPECT_EQ(f.get(), 1);
    std::string const said = message_of([&] { misuse(f); });
    EXPECT_NE(said.find("get(), then(), share(), detach() or stop_with() has taken"), said.npos) << said;
  };
  using future = rubato::future<int>;
  expect_told([](future& f) { f.get(); });
  expect_told([](future& f) { f.wait(); });
  expect_told([](future& f) { static_cast<void>(f.share()); });
  expect_told([](future& f) { f.detach(); });
  expect_told([](future& f) { static_cast<void>(f.then([](int) {})); });
}

TEST(messages, regression_work_refused_by_an_ended_pool_names_it) {
  rubato::pool pool(1);
  pool.shutdown();
  std::string const said = message_of([&] { pool.enqueue([] {}); });
  EXPECT_NE(said.find("the pool ends or has ended"), said.npos) << said;
}

} // namespace
