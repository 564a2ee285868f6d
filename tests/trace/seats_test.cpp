// Threads for which no seat is free: in the report, in the pictures, in the live view.
#include <rubato/live.hpp>
#include <rubato/pool.hpp>
#include <rubato/trace.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "live_frames.hpp"
#include "trace/reader/output/json.hpp"
#include "trace/reader/output/perfetto.hpp"
#include "trace/reader/output/report.hpp"
#include "trace/reader/timeline/idle.hpp"
#include "trace/reader/timeline/timeline.hpp"
#include "trace_files.hpp"

namespace rubato_test {

using namespace std::chrono_literals;
using namespace rubato::detail;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// A worker whose call blocks until a second thread has its seat. Both are held until the end.
class two_threads_on_one_seat {
  std::promise<void> begun_, back_, release_first_;
  std::shared_future<void> const may_end_ = release_first_.get_future();
  rubato::pool pool_{rubato::pool_options().workers(1).name("engine")};

  void read_a_file() {
    rubato::trace::span const s("held by a test");
    rubato::blocking([this] {
      std::this_thread::sleep_for(1ms); // else the next such call may be taken for a brief one
      begun_.get_future().wait();
    });
    back_.set_value(); // without a seat
    may_end_.wait();
  }
  void compute() {
    begun_.set_value();
    back_.get_future().wait();
  }

public:
  /// When it returns, the second thread has given its seat back, and is asleep or about to sleep.
  two_threads_on_one_seat() {
    pool_.enqueue([this] { read_a_file(); });
    pool_.enqueue([this] { compute(); });
  }
  two_threads_on_one_seat(two_threads_on_one_seat const&) = delete;
  ~two_threads_on_one_seat() {
    release_first_.set_value();
    EXPECT_TRUE(pool_.wait_idle());
  }
};

bool has_idle_without_seat(timeline const& t) {
  return std::ranges::any_of(t.tracks, [](track const& k) { return k.idle.no_seat > 0; });
}

TEST(trace_seats, report_names_a_spare_thread_without_a_seat) {
  trace_path const path;
  trace_on const on(path);
  two_threads_on_one_seat const threads;
  timeline t;
  do {
    rubato::trace::span const later("a recording lasts to its last event");
    t = make_timeline(recording(path.rings()));
  } while (!has_idle_without_seat(t)); // hangs if it never is
  t = make_timeline(recording(path.rings())); // rings are read one after the other
  ASSERT_EQ(t.unseated.size(), 1U);
  EXPECT_EQ(t.names[t.unseated.front().name], "held by a test");
  std::string const text = report_of(t);
  EXPECT_THAT(text, HasSubstr("no seat: asleep, while other threads had all seats")) << text;
  EXPECT_THAT(text, HasSubstr("No seat free: 1 times a thread came back")) << text;
  EXPECT_THAT(text, ContainsRegex("\n +1  engine[^\n]*; held by a test\n")) << text;
  EXPECT_THAT(text, HasSubstr("held by a test waited in blocking")) << text; // a wait, no busy time
  EXPECT_THAT(to_json(t), HasSubstr("no seat is free: it runs on without one"));
  EXPECT_THAT(to_json(t), HasSubstr(R"("name":"blocking","cat":"wait")"));
  EXPECT_THAT(to_perfetto(t), HasSubstr("no seat is free: it runs on without one"));
}

TEST(trace_seats, live_view_says_that_none_is_free) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  two_threads_on_one_seat const threads;
  EXPECT_THAT(to.read_until("sleeps no seat is free"), HasSubstr("engine/"));
}

TEST(trace_seats, live_view_says_that_a_call_blocks) {
  frame_pipe to;
  rubato::live_view const view({.output = to.output(), .frames_per_second = 50, .width = 150});
  rubato::pool pool(1);
  std::promise<void> read;
  pool.enqueue([&] {
    rubato::trace::span const s("held by a test");
    rubato::blocking([&] { read.get_future().wait(); });
  });
  static_cast<void>(to.read_until("waits: blocking, in held by a test"));
  read.set_value();
  EXPECT_TRUE(pool.wait_idle());
}

TEST(trace_seats, an_idle_worker_has_a_free_seat) {
  trace_path const path;
  {
    trace_on const on(path);
    rubato::pool pool(2);
    for (int i = 0; i != 100; ++i) pool.spawn([] {}).get();
  }
  timeline const t = make_timeline(recording(path.rings()));
  EXPECT_FALSE(has_idle_without_seat(t));
  EXPECT_THAT(report_of(t), Not(HasSubstr("No seat free")));
}

TEST(trace_seats, events_tell_when_it_changed) {
  constexpr std::uint64_t then = 0x7fff'ffff'fff0, noted = 0x1'0000'0000'0020 + then;
  trace_event const e{.ticks = noted, .what = trace_event::pack(event_kind::seats, 1, noted - 0x30)};
  EXPECT_EQ(e.occurred(), noted - 0x30);
  trace_event const at_once{.ticks = then, .what = trace_event::pack(event_kind::seats, 1, then)};
  EXPECT_EQ(at_once.occurred(), then);
}

/// What a worker that sleeps from 0 to 100 is told.
idle_time explained(seats_of_pool seats, std::vector<interval> queued, std::vector<guest_time> guests = {},
                    std::int64_t late_from = 100) {
  constexpr std::uint64_t pool = 7;
  std::vector<track> tracks(1);
  beside_sleeps beside{.guests = std::move(guests), .queued = std::move(queued), .seats = {}};
  seats.end(100);
  beside.seats.emplace(pool, std::move(seats));
  explain_sleeps(tracks, {{.pool = pool, .time = {.from = 0, .to = 100}, .late_from = late_from}},
                 std::move(beside));
  EXPECT_EQ(tracks[0].idle.sum(), 100);
  return tracks[0].idle;
}

TEST(trace_seats, a_sleep_is_told_by_its_reason) {
  seats_of_pool taken; // from 20 to 60, and from 90 on
  taken.change(false, 20);
  taken.change(true, 60);
  taken.change(false, 90);
  idle_time const alone = explained(taken, {{.from = 50, .to = 70}});
  EXPECT_EQ(alone.no_seat, 50);
  EXPECT_EQ(alone.queued, 10); // from 60 on
  EXPECT_EQ(alone.nothing, 40);
  idle_time const beside_guest = explained(taken, {}, {{.pool = 7, .time = {.from = 30, .to = 50}}});
  EXPECT_EQ(beside_guest.displaced, 20);
  EXPECT_EQ(beside_guest.no_seat, 30);
  idle_time const late = explained(taken, {}, {}, 40);
  EXPECT_EQ(late.no_seat, 50);
  EXPECT_EQ(late.late, 30);
}

/// What was so before the first event is the opposite of what it tells. Events may be missing.
TEST(trace_seats, what_was_so_before_the_first_event) {
  seats_of_pool freed;
  freed.change(true, 30);
  freed.change(true, 50);
  EXPECT_EQ(explained(freed, {}).no_seat, 30);
  seats_of_pool none;
  EXPECT_EQ(explained(none, {}).no_seat, 0);
}

} // namespace rubato_test
