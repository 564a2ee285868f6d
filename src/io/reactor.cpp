#include "io/reactor.hpp"

#include "base/never_destroyed.hpp"
#include "io/io_wait.hpp"
#include "os/clock.hpp"
#include "os/cpus/affinity.hpp"
#include "os/io/epoll.hpp"
#include "os/io/process.hpp"
#include "os/io/signals.hpp"
#include "os/io/socket.hpp"
#include "os/thread.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/trace/note.hpp"
#include "sync/event_key.hpp"
#include "timer/event_source.hpp"
#include "timer/timers.hpp"
#include "work/pool_thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::size_t slots_in_chunk = 256, most_chunks = 4096; // 2^20 descriptors, the kernel's own limit

struct chunk {
  std::array<descriptor_slot, slots_in_chunk> slots;
};

struct reactor_state {
  mutex guard; // for the start, and for new chunks
  flag started;
  os::epoll events;
  event_key key;
  int poke = -1;            // an eventfd
  int alarm = -1;           // a timerfd
  relaxed<int> signals{-1}; // an eventfd
  void (*signals_arrived)() noexcept = nullptr;
  relaxed<os::ticks> looked_at; // by a worker, at the events
  int reserve = -1;             // a descriptor to give up when there is no other
  relaxed<unsigned> process;    // the number of forks that lie before this process
  std::array<published<chunk*>, most_chunks> chunks{};
};
constinit never_destroyed<reactor_state> storage; // the standby runs until the process ends
reactor_state& reactor() noexcept { return storage.object; }

constexpr std::uint64_t of_signals = ~std::uint64_t{0}, of_poke = of_signals - 1, of_alarm = of_signals - 2;
// EPOLLPRI: without it a reader would not know why urgent data have ended its read early.
constexpr std::uint32_t edges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;

[[nodiscard]] std::uint64_t tag(int fd, std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << 32U | static_cast<std::uint32_t>(fd);
}

[[nodiscard]] descriptor_slot* known_slot(int fd) noexcept {
  chunk* const c = reactor().chunks[static_cast<std::size_t>(fd) / slots_in_chunk].get();
  return c != nullptr ? &c->slots[static_cast<std::size_t>(fd) % slots_in_chunk] : nullptr;
}

/// Arms a descriptor of others for one event. Its number may be that of a descriptor that was closed: then
/// the kernel does not know it.
[[nodiscard]] bool arm_level(int fd, descriptor_slot::registration& r, int& error) noexcept {
  std::uint32_t events = EPOLLONESHOT;
  if (r.edges)
    events = edges;
  else {
    if ((r.awaited & bit(direction::reading)) != 0) events |= EPOLLIN | EPOLLRDHUP;
    if ((r.awaited & bit(direction::writing)) != 0) events |= EPOLLOUT;
  }
  error = r.registered ? reactor().events.modify(fd, events, tag(fd, r.generation)) : ENOENT;
  if (error == ENOENT) {
    if (r.registered) ++r.generation; // no event of the former registration counts
    error = reactor().events.add(fd, events, tag(fd, r.generation));
    if (error == EEXIST) error = reactor().events.modify(fd, events, tag(fd, r.generation));
  }
  r.registered = error == 0;
  return error == 0;
}

/// True: it gave a free worker something to do. False: the workers are busy, perhaps with this descriptor.
bool end_taken(descriptor_slot::taken const& all, std::errc result) noexcept {
  bool const reader_runs = all.reader != nullptr && all.reader->end(result);
  bool const writer_runs = all.writer != nullptr && all.writer->end(result);
  return reader_runs || writer_runs;
}

bool deliver(std::uint64_t data, std::uint32_t events) noexcept {
  directions ready = 0;
  constexpr std::uint32_t both = EPOLLERR | EPOLLHUP; // the operation reports the error
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI | both)) != 0) ready = bit(direction::reading);
  if ((events & (EPOLLOUT | both)) != 0) ready = static_cast<directions>(ready | bit(direction::writing));
  if ((events & (EPOLLRDHUP | EPOLLPRI | both)) != 0) ready = static_cast<directions>(ready | unusual);
  auto const fd = static_cast<int>(static_cast<std::uint32_t>(data));
  note<event_kind::io>(static_cast<std::uint32_t>(data), events);
  return end_taken(known_slot(fd)->deliver(static_cast<std::uint32_t>(data >> 32U), ready,
                                           [fd](descriptor_slot::registration& r) {
                                             int error = 0;
                                             return arm_level(fd, r, error);
                                           }),
                   std::errc());
}

struct harvest {
  std::array<os::epoll::event, 256> events;
  std::size_t size = 0;
  bool poked = false;   ///< a poke was among the events
  bool alarmed = false; ///< the alarm of the timers was
  bool is_late = false; ///< an event gave no free worker anything to do

  void deliver_all() noexcept {
    for (os::epoll::event const& e : std::span(events).first(size)) {
      std::uint64_t const data = e.data.u64;
      if (data == of_poke) {
        poked = true;
      } else if (data == of_alarm) {
        alarmed = true;
        fire_timers();
      } else if (data == of_signals) {
        os::lower_event_fd(reactor().signals.get()); // before the look at the signals: a later one raises it
        reactor().signals_arrived();
      } else if (!deliver(data, e.events)) {
        is_late = true;
      }
    }
  }
};

/// What idle workers do with the events.
class workers_events final : public event_source {
public:
  constexpr workers_events() noexcept = default;
  [[nodiscard]] bool sleep(parker& own) noexcept override {
    harvest h;
    if (!reactor().key.sleep(own, [&h] { h.size = reactor().events.wait(h.events); })) return false;
    reactor().looked_at.set(os::now());
    h.deliver_all(); // without the key: another thread may look for the next events
    return true;
  }
  void look() noexcept override {
    harvest h;
    reactor().key.look([&h] {
      reactor().looked_at.set(os::now()); // before: what comes later may wait for the standby
      h.size = reactor().events.poll(h.events);
    });
    h.deliver_all();
  }
  void set_alarm(std::chrono::steady_clock::time_point due) noexcept override {
    os::set_timer_fd(reactor().alarm, due);
  }
};
constinit workers_events for_workers;

constexpr std::int64_t stays_away_us = 1'000;

/// Long ago, if the clock has gone back meanwhile, as after a suspension of the machine.
std::int64_t since_workers_looked_us() noexcept {
  std::int64_t const ticks = os::now() - reactor().looked_at.get();
  return ticks < 0 ? stays_away_us : ticks / ticks_per_us();
}

/// The standby has met busy workers, which look for events between their tasks. To be woken for each event
/// would cost them time, and to have their events delivered from another CPU does too. So it stays away for a
/// millisecond, and for as long as they have looked within the last one. A worker that has slept among the
/// events since was not busy: then the standby comes back at once.
void leave_to_workers() noexcept {
  for (std::int64_t us = stays_away_us; us > 0;) {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
    if (reactor().key.stand_back(false)) return;
    us = std::min(stays_away_us, stays_away_us - since_workers_looked_us());
  }
}

/// The standby: it takes the events while no idle worker sleeps among them. It runs no user code.
void standby_main(void*) {
  os::ticks last_alarm = 0;
  for (;;) {
    harvest h;
    h.size = reactor().events.wait(h.events);
    h.deliver_all();
    static_cast<void>(reactor().key.stand_back(h.poked));
    // Timers in a row that no idle worker took: workers that look often fire them, too.
    os::ticks const now = os::now();
    bool const in_a_row = h.alarmed && now - std::exchange(last_alarm, now) < stays_away_us * ticks_per_us();
    if (h.is_late || (in_a_row && since_workers_looked_us() < stays_away_us)) leave_to_workers();
  }
}

/// The child of a fork() has none of the threads that take events, and nothing that waits. The inherited set
/// is the parent's: it is left as it is. No lock is held around the fork, so the start may be half done.
void forget_in_child() {
  reactor_state& own = reactor();
  ::new (&own.guard) mutex;
  installed_events.set(nullptr);
  own.process.set(own.process.get() + 1);
  own.started.lower();
  own.key.reset();
  own.events.close();
  os::set_poke(-1);
  os::raise_at_signals(-1);
  os::close_fd(std::exchange(own.poke, -1));
  os::close_fd(std::exchange(own.alarm, -1));
  os::close_fd(own.signals.exchange(-1));
  os::close_fd(std::exchange(own.reserve, -1));
  for (auto const& where : own.chunks)
    if (chunk* const c = where.own())
      for (descriptor_slot& d : c->slots) d.forget_others();
}

/// Throws std::system_error.
void watch_own(int fd, std::uint64_t data) {
  if (int const error = reactor().events.add(fd, EPOLLIN | EPOLLET, data); error != 0)
    throw std::system_error(error, std::generic_category(), "rubato: no events can be watched");
}

void start() {
  reactor_state& r = reactor();
  static bool const handlers = (os::register_fork_handlers(nullptr, nullptr, forget_in_child), true);
  static_cast<void>(handlers);
  os::cpu_mask const everywhere = os::cpu_mask::of_process(); // allocates: before there is anything to close
  r.events.open();
  r.reserve = os::open_reserve();
  try {
    r.poke = os::make_event_fd();
    r.alarm = os::make_timer_fd();
    watch_own(r.poke, of_poke);
    watch_own(r.alarm, of_alarm);
    os::set_poke(r.poke);
    os::thread made({.name = "rubato/io", .blocks_signals = true, .cpus = &everywhere}, &standby_main,
                    nullptr);
    made.detach();
  } catch (...) {
    os::set_poke(-1);
    os::close_fd(std::exchange(r.poke, -1));
    os::close_fd(std::exchange(r.alarm, -1));
    r.events.close();
    os::close_fd(std::exchange(r.reserve, -1));
    throw;
  }
  installed_events.set(&for_workers); // see fire_without_reactor() and set_timer_alarm()
  fire_timers();
  r.started.raise();
}

void ensure_started() {
  reactor_state& r = reactor();
  if (r.started.is_raised()) return;
  lock_guard const guard(r.guard);
  if (!r.started.is_raised()) start();
}

descriptor_slot& make_chunk(int fd) {
  reactor_state& r = reactor();
  lock_guard const guard(r.guard);
  auto& where = r.chunks[static_cast<std::size_t>(fd) / slots_in_chunk];
  if (where.own() == nullptr) where.publish(new chunk);
  return *known_slot(fd);
}

[[nodiscard]] std::errc result_of(listing l, int error) noexcept {
  switch (l) {
  case listing::waits:
    return {};
  case listing::ready:
    return std::errc::resource_unavailable_try_again;
  case listing::busy:
    return std::errc::device_or_resource_busy;
  case listing::closed:
    return std::errc::operation_canceled;
  case listing::refused:
    break;
  }
  return static_cast<std::errc>(error);
}

} // namespace

void try_to_start_events() noexcept {
  using namespace std::chrono;
  // A process without a free descriptor is asked ten times a second, not at each timer.
  static constinit relaxed<steady_clock::rep> next_try;
  auto const now = steady_clock::now().time_since_epoch();
  if (now.count() < next_try.get()) return;
  try {
    ensure_started();
  } catch (std::exception const&) { // the caller does without
    next_try.set((now + steady_clock::duration(100ms)).count());
  }
}

descriptor_slot& slot_of(int fd) {
  if (fd < 0 || static_cast<std::size_t>(fd) >= slots_in_chunk * most_chunks)
    throw std::system_error(std::make_error_code(std::errc::bad_file_descriptor),
                            "rubato: " + std::to_string(fd) + " is no descriptor that can be waited for");
  ensure_started();
  descriptor_slot* const known = known_slot(fd);
  return known != nullptr ? *known : make_chunk(fd);
}

descriptor_slot* find_slot(int fd) noexcept {
  bool const is_number = fd >= 0 && static_cast<std::size_t>(fd) < slots_in_chunk * most_chunks;
  return is_number ? known_slot(fd) : nullptr;
}

std::errc await_edge(descriptor_slot& slot, int fd, slot_seen before, direction d, io_wait& w) noexcept {
  int error = 0;
  listing const l = slot.await_edge(d, w, before, [&](std::uint32_t g) {
    error = reactor().events.add(fd, edges, tag(fd, g));
    if (error == EEXIST) error = reactor().events.modify(fd, edges, tag(fd, g));
    return error == 0;
  });
  return result_of(l, error);
}

std::errc await_level(descriptor_slot& slot, int fd, std::uint32_t& generation, direction d,
                      io_wait& w) noexcept {
  int error = 0;
  listing const l = slot.await_level(
      d, w, generation, [&](descriptor_slot::registration& r) { return arm_level(fd, r, error); });
  return result_of(l, error);
}

void end_waits(descriptor_slot& slot, int fd) noexcept {
  end_taken(slot.close([fd] { reactor().events.remove(fd); }), std::errc::operation_canceled);
}

void raise_events(descriptor_slot& slot, std::uint32_t generation, directions ended) noexcept {
  end_taken(slot.raise(generation, ended), std::errc());
}

unsigned process_number() noexcept { return reactor().process.get(); }

void count_io_event() noexcept { thread_of(*current).bump(counted::io_events); }

int watch_signals(void (*arrived)() noexcept) {
  ensure_started();
  reactor_state& r = reactor();
  lock_guard const guard(r.guard);
  if (int const known = r.signals.get(); known >= 0) return known;
  int const fd = os::make_event_fd();
  r.signals_arrived = arrived; // before the kernel knows the descriptor
  if (int const error = r.events.add(fd, EPOLLIN | EPOLLET, of_signals); error != 0) {
    os::close_fd(fd);
    throw std::system_error(error, std::generic_category(), "rubato: signals cannot be watched");
  }
  r.signals.set(fd); // an event brings its number to the thread that takes the event
  return fd;
}

void refuse_connections(int listener) noexcept {
  constexpr int most = 1'024; // of a flood that does not end: others want this thread
  reactor_state& r = reactor();
  lock_guard const guard(r.guard);
  if (r.reserve < 0) r.reserve = os::open_reserve();
  if (r.reserve < 0) return;
  os::close_fd(r.reserve);
  for (int n = 0; n != most; ++n) {
    os::io_result const one = os::accept_from(listener);
    if (one.error != 0)
      break; // there is none, or another thread was faster than this one with the descriptor
    os::close_fd(static_cast<int>(one.value));
  }
  r.reserve = os::open_reserve();
}

} // namespace rubato::detail
