// A ring keeps the last events of its thread; docs/design/trace.md.
#include "trace/ring.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include "os/memory.hpp"
#include "trace/reader/file/recording.hpp"
#include "trace/ring_file.hpp"
#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using namespace rubato::detail;

constexpr std::uint64_t capacity = 256;

/// A file with one ring.
class one_ring {
  ring_file file_;
  std::byte* memory_ = nullptr;

public:
  explicit one_ring(std::string const& path) {
    EXPECT_EQ(file_.open(path, capacity), 0);
    memory_ = static_cast<std::byte*>(rubato::os::reserve(file_.stride()));
    EXPECT_EQ(file_.add_ring(memory_), 0);
  }
  one_ring(one_ring const&) = delete;
  ~one_ring() {
    file_.close();
    rubato::os::release(memory_, file_.stride());
  }
  [[nodiscard]] std::byte* memory() const { return memory_; }
};

TEST(trace_ring, keeps_what_was_written) {
  trace_path const path;
  one_ring const file(path.rings());
  ring r(file.memory());
  r.begin(1, capacity, 77, 0);
  for (std::uint64_t i = 1; i <= 100; ++i) r.write(event_kind::ready, i, i + 1'000, 3);
  recording const read(path.rings());
  ASSERT_EQ(read.rings.size(), 1U);
  EXPECT_EQ(read.rings[0].thread, 77U);
  EXPECT_EQ(read.rings[0].lost, 0U);
  auto const& events = read.rings[0].events;
  ASSERT_EQ(events.size(), 102U); // and the thread, and a clock
  EXPECT_EQ(events[0].kind(), event_kind::thread);
  EXPECT_EQ(events[1].kind(), event_kind::clock);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    trace_event const& e = events[static_cast<std::size_t>(i) + 1];
    EXPECT_EQ(e.kind(), event_kind::ready);
    EXPECT_EQ(e.id, i);
    EXPECT_EQ(e.name(), i + 1'000);
    EXPECT_EQ(e.aux(), 3);
  }
}

TEST(trace_ring, wraps_and_keeps_the_last_events) {
  for (std::uint64_t n : {253U, 254U, 255U, 256U, 257U, 1'000U, 10'000U}) {
    trace_path const path;
    one_ring const file(path.rings());
    ring r(file.memory());
    r.begin(1, capacity, 77, 0);
    for (std::uint64_t i = 1; i <= n; ++i) r.write(event_kind::ready, i, 0, 0);
    recording const read(path.rings());
    ASSERT_EQ(read.rings.size(), 1U);
    auto const& events = read.rings[0].events;
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().id, n);
    EXPECT_GE(events.size(), capacity - 1 - 64); // the process lives: a margin is left out
    EXPECT_LE(events.size(), capacity);
    std::uint64_t last = 0;
    for (trace_event const& e : events) {
      if (e.kind() != event_kind::ready) continue;
      EXPECT_TRUE(last == 0 || e.id == last + 1);
      last = e.id;
    }
  }
}

TEST(trace_ring, a_begin_at_once_stands_for_the_end) {
  trace_path const path;
  one_ring const file(path.rings());
  ring r(file.memory());
  r.begin(1, capacity, 77, 0);
  auto const task = static_cast<unsigned char>(activity::task);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    r.write(event_kind::begin, i, 0, task);
    r.write(event_kind::end, i, 0, task);
  }
  r.write(event_kind::search, 0, 0, 0);
  recording const read(path.rings());
  std::size_t begins = 0, ends = 0;
  std::size_t open = 0;
  for (trace_event const& e : read.rings.at(0).events) {
    if (e.kind() == event_kind::begin) {
      ++begins;
      if ((e.aux() & follows) != 0) --open;
      ++open;
    }
    if (e.kind() == event_kind::end) {
      ++ends;
      --open;
    }
    EXPECT_LE(open, 1U);
  }
  EXPECT_EQ(begins, 20U);
  EXPECT_GE(ends, 1U); // the last one
  EXPECT_EQ(open, 0U);
}

/// Else the reader would not know whose worker it is, once the first event is overwritten.
TEST(trace_ring, says_again_where_its_owner_is_a_worker) {
  trace_path const path;
  one_ring const file(path.rings());
  ring r(file.memory());
  auto const joined_at = [&] {
    recording const read(path.rings());
    std::uint64_t at = 0;
    for (trace_event const& e : read.rings.at(0).events)
      if (e.kind() == event_kind::joined && e.aux() == 1 && e.name() == 5) at = e.id;
    return at;
  };
  auto const fill = [&r](std::uint64_t n) {
    for (std::uint64_t i = 0; i != n; ++i) r.write(event_kind::ready, 1, 0, 0);
  };
  r.begin(1, capacity, 77, 0);
  r.write(event_kind::joined, 1'234, 5, 1);
  fill(ring::clock_every);
  EXPECT_EQ(joined_at(), 1'234U);
  r.write(event_kind::left, 1'234, 5, 1);
  fill(ring::clock_every);
  EXPECT_EQ(joined_at(), 0U);
  trace_event const place{.id = 4'321, .what = trace_event::pack(event_kind::joined, 1, 5)};
  r.begin(2, capacity, 77, 0, place); // a trace that starts while it is one
  EXPECT_EQ(joined_at(), 4'321U);
}

TEST(trace_ring, a_new_owner_hides_the_events_of_the_former_one) {
  trace_path const path;
  one_ring const file(path.rings());
  ring r(file.memory());
  r.begin(1, capacity, 77, 0);
  for (std::uint64_t i = 1; i <= 50; ++i) r.write(event_kind::ready, i, 0, 0);
  r.begin(1, capacity, 78, 0);
  r.write(event_kind::ready, 999, 0, 0);
  recording const read(path.rings());
  ASSERT_EQ(read.rings.size(), 1U);
  EXPECT_EQ(read.rings[0].thread, 78U);
  ASSERT_EQ(read.rings[0].events.size(), 3U);
  EXPECT_EQ(read.rings[0].events.back().id, 999U);
}

TEST(trace_ring, a_reader_beside_the_writer_sees_whole_events) {
  trace_path const path;
  one_ring const file(path.rings());
  ring r(file.memory());
  r.begin(1, capacity, 77, 0);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (std::uint64_t i = 1; !stop; ++i) r.write(event_kind::ready, i, i, 0);
  });
  for (int i = 0; i < 50; ++i) {
    recording const read(path.rings());
    for (auto const& ring : read.rings)
      for (trace_event const& e : ring.events) EXPECT_TRUE(e.kind() != event_kind::ready || e.id == e.name());
  }
  stop = true;
  writer.join();
}

TEST(trace_ring, what_is_no_file_of_rings_is_refused) {
  trace_path const path;
  EXPECT_THROW(recording{path.rings()}, std::runtime_error);
  EXPECT_EQ(rubato::os::write_file(path.rings().c_str(), "nonsense", 8), 0);
  EXPECT_THROW(recording{path.rings()}, std::runtime_error);
}

} // namespace
