#include "trace/ring.hpp"

#include "os/thread.hpp"
#include "rubato/detail/base/assert.hpp"

#include <algorithm>
#include <chrono>

namespace rubato::detail {

namespace {

/// Another activity often follows at once, so that its begin can stand for this end. A span's end may be the
/// last event of its thread.
bool may_be_implied(unsigned char aux) noexcept { return aux < static_cast<unsigned char>(activity::node); }

std::chrono::nanoseconds monotonic() noexcept { return std::chrono::steady_clock::now().time_since_epoch(); }

} // namespace

void ring::begin(std::uint32_t session, std::uint64_t capacity, std::uint64_t thread,
                 std::uint64_t thread_name, trace_event const& place) noexcept {
  RUBATO_ASSERT((capacity & (capacity - 1)) == 0, "the capacity of a ring is no power of two", capacity,
                session);
  bool const goes_on = session_ == session && is_mapped(); // with the slots of an owner that has ended
  session_ = session;
  mask_ = capacity == 0 ? 0 : capacity - 1;
  if (!goes_on) count_ = 0;
  ended_at_ = 0;
  place_ = place;
  brief_ = os::ticks_from(std::chrono::microseconds(1));
  head().first.set(count_);
  head().thread.set(thread);
  head().name.set(thread_name);
  head().of.set(0);
  cpu_before_ = os::cpu_time(static_cast<os::thread_id>(thread));
  ready_before_ = os::time_without_cpu(static_cast<os::thread_id>(thread));
  switches_before_ = os::waits_in_kernel(static_cast<os::thread_id>(thread));
  began_ = monotonic();
  put(os::now(), thread, trace_event::pack(event_kind::thread, 0, thread_name));
  put_clock();
  put_place();
}

void ring::measure_cpu() noexcept {
  auto const thread = static_cast<os::thread_id>(head().thread.get());
  auto const cpu = os::cpu_time(thread);
  if (cpu <= cpu_before_) return; // the kernel does not tell
  auto const ready = std::max(os::time_without_cpu(thread), ready_before_);
  head().on_cpu.set(static_cast<std::uint64_t>((cpu - cpu_before_).count()));
  head().ready.set(static_cast<std::uint64_t>((ready - ready_before_).count()));
  head().switches.set(os::waits_in_kernel(thread) - switches_before_);
  head().of.set(static_cast<std::uint64_t>((monotonic() - began_).count()));
}

/// Publishes an event. The slot is relaxed: `written` orders it.
void ring::put(os::ticks at, std::uint64_t id, std::uint64_t what) noexcept {
  auto& to = reinterpret_cast<slot*>(memory_ + head_bytes)[count_ & mask_];
  to.ticks.set(static_cast<std::uint64_t>(at));
  to.id.set(id);
  to.what.set(what);
  head().written.publish(++count_);
}

/// Both clocks at one moment: again, if the thread has lost its CPU between them.
void ring::put_clock() noexcept {
  os::ticks before = 0, after = 0;
  std::chrono::steady_clock::duration now{};
  for (unsigned tries = 0; tries == 0 || (tries != 4 && after - before > brief_); ++tries) {
    before = os::now();
    now = std::chrono::steady_clock::now().time_since_epoch();
    after = os::now();
  }
  auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  put(after, static_cast<std::uint64_t>(ns), trace_event::pack(event_kind::clock, 0, 0));
}

void ring::put_place() noexcept {
  if (place_.what != 0) put(os::now(), place_.id, place_.what);
}

void ring::write(event_kind kind, std::uint64_t id, std::uint64_t name, unsigned char aux) noexcept {
  os::ticks now = os::now();
  if (ended_at_ != 0) {
    if (kind == event_kind::begin && now - ended_at_ < brief_)
      aux |= follows;
    else
      put(ended_at_, ended_id_, trace_event::pack(event_kind::end, ended_aux_, 0));
    ended_at_ = 0;
  }
  if (kind == event_kind::end && may_be_implied(aux)) {
    ended_at_ = now;
    ended_id_ = id;
    ended_aux_ = aux;
    return;
  }
  if (count_ % clock_every == 0) [[unlikely]] {
    put_clock();
    put_place();
    now = os::now(); // the events of a ring are in order
  }
  if (aux == 1 && (kind == event_kind::joined || kind == event_kind::left)) [[unlikely]] // a worker
    place_ = kind == event_kind::joined ? trace_event{.id = id, .what = trace_event::pack(kind, aux, name)}
                                        : trace_event{};
  put(now, id, trace_event::pack(kind, aux, name));
}

} // namespace rubato::detail
