// 10^7 numbers through one channel, from THREADS / 2 producers to as many consumers, at least one each.
//
//   channel [THREADS [unbounded | bounded]]     bounded: to 1,024 numbers
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

rubato::task<tally> pass_all(std::size_t capacity, unsigned pairs) {
  numbers between(capacity);
  std::vector<rubato::future<tally>> consumers;
  std::vector<rubato::future<void>> producers;
  for (unsigned i = 0; i != pairs; ++i) consumers.push_back(rubato::spawn(consume(between)));
  for (unsigned i = 0; i != pairs; ++i)
    producers.push_back(rubato::spawn(produce(between, all * i / pairs, all * (i + 1) / pairs)));
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
  bool const bounded = arguments.has_variant(2, "bounded");
  std::size_t const capacity = bounded ? 1'024 : std::numeric_limits<std::size_t>::max();
  rubato::pool pool(threads);
  auto const pass = [&] {
    tally const total = pool.block_on(pass_all(capacity, pairs));
    entry::expect("numbers", all, total.count);
    entry::expect("their sum", all * (all - 1) / 2, total.sum);
    return total.sum;
  };
  std::printf("threads: %u\nproducers: %u\nconsumers: %u\n", threads, pairs, pairs);
  std::printf("output: %llu\n", static_cast<unsigned long long>(pass())); // warms up
  auto const time = entry::microseconds(pass);
  entry::report_begin();
  entry::report("elements", all);
  entry::report_time(time);
  entry::report("elements/sec", all * 1'000'000 / std::max(time, std::uint64_t{1}));
  entry::report_memory();
}
