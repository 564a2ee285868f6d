// 10^7 numbers through one channel, from THREADS / 2 producers to as many consumers, at least one each, if
// nothing else is said.
//
//   channel [THREADS [unbounded | bounded [PRODUCERS CONSUMERS]]]     bounded: to 1,024 numbers
#include "program.hpp"

#include <rubato/rubato.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace {

using numbers = rubato::channel<std::uint64_t>;

constexpr std::uint64_t all = 10'000'000;

struct tally {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
};

rubato::task<void> produce(numbers& to, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t i = first; i != last; ++i) {
    bool const sent = co_await to.send(i);
    if (!sent) co_return;
  }
}

rubato::task<tally> consume(numbers& from) {
  tally own;
  for (;;) {
    auto const number = co_await from.receive();
    if (!number) break;
    ++own.count;
    own.sum += *number;
  }
  co_return own;
}

rubato::task<tally> pass_all(std::size_t capacity, std::size_t senders, std::size_t receivers) {
  numbers between(capacity);
  std::vector<rubato::future<tally>> consumers;
  std::vector<rubato::future<void>> producers;
  for (std::size_t i = 0; i != receivers; ++i) consumers.push_back(rubato::spawn(consume(between)));
  for (std::size_t i = 0; i != senders; ++i)
    producers.push_back(rubato::spawn(produce(between, all * i / senders, all * (i + 1) / senders)));
  for (auto& p : producers) co_await std::move(p);
  between.close();
  tally total;
  for (auto& c : consumers) {
    tally const one = co_await std::move(c);
    total.count += one.count;
    total.sum += one.sum;
  }
  co_return total;
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  unsigned const threads = arguments.threads(1);
  unsigned const pairs = std::max(threads / 2, 1U);
  std::size_t const producers = arguments.number(3, pairs), consumers = arguments.number(4, pairs);
  bool const bounded = arguments.has_variant(2, "bounded");
  std::size_t const capacity = bounded ? 1'024 : std::numeric_limits<std::size_t>::max();
  rubato::pool pool(threads);
  auto const pass = [&] {
    tally const total = pool.block_on(pass_all(capacity, producers, consumers));
    entry::expect("numbers", all, total.count);
    entry::expect("their sum", all * (all - 1) / 2, total.sum);
    return total.sum;
  };
  std::printf("threads: %u\nproducers: %zu\nconsumers: %zu\n", threads, producers, consumers);
  std::printf("output: %llu\n", static_cast<unsigned long long>(pass())); // warms up
  auto const time = entry::microseconds(pass);
  entry::report_begin();
  entry::report("elements", all);
  entry::report_time(time);
  entry::report("elements/sec", all * 1'000'000 / std::max(time, std::uint64_t{1}));
  entry::report_memory();
}
