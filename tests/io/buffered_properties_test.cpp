// Lines and messages against a reference that has the whole stream at once: whatever the chunks in which the
// bytes come, and however often an operation is cut short, the same texts come out.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#ifdef RUBATO_HAS_RAPIDCHECK
#include <rapidcheck/gtest.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/byte_streams.hpp"
#include "io/text_end.hpp"
#include "rubato/detail/io/byte_queue.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::detail::byte_queue;
using rubato::detail::text_end;
using text = std::optional<std::string>;

/// What the operations must yield, from the whole stream.
class reference {
  std::string rest_;

public:
  explicit reference(std::string all)
      : rest_(std::move(all)) {}

  [[nodiscard]] bool is_over() const { return rest_.empty(); }
  std::string exactly(std::size_t n) {
    std::string const t = rest_.substr(0, n);
    rest_.erase(0, n);
    return t;
  }
  /// Nothing if the text is longer than the limit, which consumes nothing, or at the end.
  text until(std::string_view delimiter, bool is_line, std::size_t limit) {
    if (rest_.empty()) return {};
    std::size_t const at = rest_.find(delimiter);
    std::string t = rest_.substr(0, at);
    if (is_line && at != rest_.npos && t.ends_with('\r')) t.pop_back();
    if (t.size() > limit) return {};
    rest_.erase(0, at == rest_.npos ? at : at + delimiter.size());
    return t;
  }
};

std::span<std::byte const> bytes_of(std::string_view s) { return std::as_bytes(std::span(s)); }

std::string_view const delimiters[] = {"\n", "--", "--->", "\r\n\r\n", "aab"};

/// Of few letters: delimiters and beginnings of delimiters are frequent.
template<class Random>
std::string random_bytes(Random& random, std::size_t most) {
  std::string_view const letters("ab-\r\n>", 6);
  std::string s(random(most + 1), '?');
  for (char& c : s) c = letters[random(letters.size())];
  return s;
}

/// Reads a text from a queue of bytes that come in random chunks, as `buffered` does.
template<class Random>
text read_text(byte_queue& there, std::string& coming, std::string_view delimiter, bool is_line,
               std::size_t limit, Random& random) {
  text_end end{std::string(delimiter), is_line, limit};
  for (auto at = end.find(there.text());;) {
    if (at.what == text_end::found::too_long) return {};
    if (at.what == text_end::found::text) {
      text t(there.text().substr(0, at.text));
      there.drop(at.whole);
      return t;
    }
    std::size_t const n = std::min(coming.size(), 1 + random(random(3) == 0 ? 5'000 : 5));
    std::span<std::byte> const room = there.room();
    std::size_t const fits = std::min(n, room.size());
    std::copy_n(bytes_of(coming).data(), fits, room.data());
    there.add(fits);
    coming.erase(0, fits);
    if (fits == 0 && there.size() == 0) return {};
    at = fits != 0 ? end.find(there.text()) : end.at_end(there.text());
  }
}

template<class Random>
void compare_texts(Random random) {
  std::string coming = random_bytes(random, random(20) == 0 ? 30'000 : 200);
  reference all(coming);
  byte_queue there;
  while (!all.is_over()) {
    std::string_view const delimiter = delimiters[random(std::size(delimiters))];
    bool const is_line = delimiter == "\n" && random(2) == 0;
    std::size_t const limit =
        random(8) == 0 ? ~std::size_t{0} - random(8) : random(random(4) == 0 ? 400 : 12);
    text const expected = all.until(delimiter, is_line, limit);
    ASSERT_EQ(read_text(there, coming, delimiter, is_line, limit, random), expected) << delimiter << limit;
    if (!expected) { // too long: a part of it goes
      std::string const part = all.exactly(1 + random(20));
      if (there.size() < part.size()) {
        std::size_t const n = part.size() - there.size();
        there.append(bytes_of(coming).first(n));
        coming.erase(0, n);
      }
      ASSERT_EQ(there.text().substr(0, part.size()), part);
      there.drop(part.size());
    }
  }
  EXPECT_EQ(there.size() + coming.size(), 0u);
}

struct seeded {
  std::mt19937_64 engine;
  std::size_t operator()(std::size_t below) { return below < 2 ? 0 : engine() % below; }
};

TEST(buffered_texts, regression_agree_with_a_reference) {
  for (std::uint64_t seed = 0; seed != scaled(2'000); ++seed) {
    SCOPED_TRACE(seed);
    compare_texts(seeded{std::mt19937_64(seed)});
    if (HasFatalFailure()) return;
  }
}

#ifdef RUBATO_HAS_RAPIDCHECK
RC_GTEST_PROP(buffered_texts, regression_equal_a_reference_by_rapidcheck, ()) {
  compare_texts([](std::size_t below) { return below < 2 ? 0 : *rc::gen::inRange<std::size_t>(0, below); });
  RC_ASSERT(!::testing::Test::HasFailure());
}
#endif

/// A search that began anew at each byte would take hours.
TEST(buffered_texts, regression_of_single_bytes_are_searched_once) {
  hang_guard const guard;
  std::string const many(4'000'000, '-');
  text_end end("--->", false, ~std::size_t{0});
  for (std::size_t n = 1; n != many.size(); ++n)
    ASSERT_EQ(end.find(std::string_view(many).substr(0, n)).what, text_end::found::nothing);
}

TEST(byte_queues, regression_free_their_memory_when_empty) {
  byte_queue q;
  EXPECT_EQ(q.size(), 0u);
  q.append({});
  EXPECT_EQ(q.room().size(), byte_queue::least);
  std::string const much(1'000'000, 'x');
  q.append(bytes_of(much));
  EXPECT_EQ(q.text(), much);
  q.drop(much.size() - 1);
  EXPECT_EQ(q.text(), "x");
  q.drop(1);
  EXPECT_EQ(q.room().size(), byte_queue::least);
  byte_queue moved(std::move(q));
  moved.append(bytes_of("y"));
  EXPECT_EQ(moved.text(), "y");
  EXPECT_EQ(q.size(), 0u); // NOLINT(bugprone-use-after-move): that is what is tested
}

/// A part of the memory stays free for the next read, and never more than eight times as much as is needed.
TEST(byte_queues, regression_have_room_and_not_too_much) {
  seeded random{std::mt19937_64(7)};
  byte_queue q;
  std::size_t most = 0;
  for (int i = 0; i != 100'000; ++i) {
    std::size_t const room = q.room().size();
    ASSERT_GE(room, byte_queue::least / 4);
    std::size_t const n = std::min(room, random(3'000));
    q.add(n);
    most = std::max(most, q.size());
    ASSERT_LE(room + q.size() - n, std::max(byte_queue::least, 8 * most));
    if (q.size() > 20'000 || random(3) == 0) q.drop(random(q.size() + 1));
  }
}

class buffered_reads : public on_workers {};
RUBATO_TEST_WITH_WORKERS(buffered_reads, all_counts);

void write_in_chunks(byte_stream& s, std::string_view all, seeded random) {
  while (!all.empty()) {
    std::string_view const some = all.substr(0, 1 + random(random(10) == 0 ? 20'000 : 50));
    s.put(some);
    all.remove_prefix(some.size());
    if (random(20) == 0) std::this_thread::yield();
  }
  s.end();
}

/// One operation after the other, as the reference says.
rubato::task<void> read_all(rubato::buffered_base& in, reference all, seeded random) {
  while (!all.is_over()) {
    if (random(4) == 0) {
      std::string bytes(random(random(5) == 0 ? 20'000 : 100), '?');
      std::string const expected = all.exactly(bytes.size());
      std::size_t const n = co_await in.read_exactly(bytes);
      bytes.resize(n);
      EXPECT_EQ(bytes, expected);
    } else {
      std::string_view const delimiter = delimiters[random(std::size(delimiters))];
      bool const is_line = delimiter == "\n";
      std::size_t const limit = random(3) == 0 ? random(20) : 100'000;
      text const expected = all.until(delimiter, is_line, limit);
      std::error_code error;
      auto reads = is_line ? in.read_line(limit, error) : in.read_until(delimiter, limit, error);
      text const got = co_await std::move(reads);
      EXPECT_EQ(got, expected);
      EXPECT_EQ(error == std::errc::message_size, !expected.has_value());
    }
    if (testing::Test::HasFailure()) co_return;
  }
  text const end = co_await in.read_line(10);
  EXPECT_EQ(end, std::nullopt);
}

TEST_P(buffered_reads, regression_of_random_chunks_equal_a_reference) {
  for (stream_kind const k : stream_kinds())
    for (std::uint64_t seed = 0; seed != scaled(20); ++seed) {
      SCOPED_TRACE(k);
      SCOPED_TRACE(seed);
      seeded random{std::mt19937_64(seed)};
      std::string const all = random_bytes(random, 50'000);
      byte_stream s(pool, k);
      auto reads = pool.spawn(read_all(s.in(), reference(all), random));
      std::thread writer([&] { write_in_chunks(s, all, random); });
      reads.get();
      if (HasFailure()) s.end();
      writer.join();
      if (HasFailure()) return;
    }
}

/// Reads numbers, each in a line or a message, by operations that a deadline, a race or a stop may cut at any
/// moment.
rubato::task<void> read_numbers(rubato::buffered_base& in, std::size_t count, seeded random) {
  rubato::event never_set;
  for (std::size_t i = 0; i != count;) {
    auto const patience = std::chrono::microseconds(random(60));
    text got;
    switch (random(4)) {
    case 0: {
      std::error_code error;
      got = co_await in.read_line(20, patience, error);
      EXPECT_TRUE(!error || error == std::errc::timed_out) << error.message();
      break;
    }
    case 1: {
      auto any = rubato::when_any(in.read_line(20), rubato::sleep_for(patience));
      auto r = co_await std::move(any);
      if (r.index == 0) got = std::move(std::get<0>(r.value));
      break;
    }
    case 2: {
      auto limited = rubato::with_deadline(in.read_line(20), patience);
      auto r = co_await std::move(limited);
      if (r) got = std::move(*r);
      break;
    }
    default: {
      std::string large(8'000, '?');
      std::error_code error;
      std::size_t const n = co_await in.read_exactly(large, patience, error); // it is far more than there is
      EXPECT_TRUE(n == 0 && error == std::errc::timed_out) << n;
    }
    }
    if (!got) continue;
    EXPECT_EQ(*got, std::to_string(i));
    ++i;
    if (testing::Test::HasFailure()) co_return;
  }
}

TEST_P(buffered_reads, regression_cut_short_anywhere_lose_nothing) {
  std::size_t const count = scaled(300);
  for (stream_kind const k : stream_kinds()) {
    SCOPED_TRACE(k);
    byte_stream s(pool, k);
    auto reads = pool.spawn(read_numbers(s.in(), count, seeded{std::mt19937_64(GetParam())}));
    std::thread writer([&] {
      for (std::size_t i = 0; i != count; ++i) {
        std::string const number = std::to_string(i);
        s.put(std::string_view(number).substr(0, 1));
        if (i % 3 == 0) std::this_thread::sleep_for(20us);
        s.put(number.substr(1) + "\n");
      }
    });
    reads.get();
    writer.join();
  }
}

} // namespace
