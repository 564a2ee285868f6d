// docs/design/reactor.md
#include "rubato/signal_set.hpp"

#include "base/never_destroyed.hpp"
#include "coro/own_race.hpp"
#include "io/reactor.hpp"
#include "os/io/epoll.hpp"
#include "os/io/process.hpp"
#include "os/io/signals.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/readiness.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <system_error>

namespace rubato {

namespace detail {

namespace {

/// Of a signal from 1 to 64.
[[nodiscard]] constexpr std::uint64_t bit_of(int signal) noexcept {
  return std::uint64_t{1} << (static_cast<unsigned>(signal - 1) % 64);
}

} // namespace

/// A set's part in the process's signals. Its eventfd is up while a signal of the set waits to be received.
class signal_subscription : public list_node<signal_subscription> {
  std::uint64_t signals_ = 0; // guarded by the lock of all_signals, as is the next
  std::uint64_t pending_ = 0;
  unsigned process_ = 0; ///< that of all_signals when it was listed
  int const fd_ = os::make_event_fd();

public:
  signal_subscription() = default;
  signal_subscription(signal_subscription const&) = delete;
  signal_subscription& operator=(signal_subscription const&) = delete;
  ~signal_subscription();

  void add(int signal);
  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// 0: none waits.
  [[nodiscard]] int take() noexcept;
  void deliver(std::uint64_t came) noexcept {
    if ((came & signals_) == 0) return;
    pending_ |= came & signals_;
    os::raise_event_fd(fd_);
  }
};

namespace {

struct all_signals {
  mutex guard;
  intrusive_list<signal_subscription> sets RUBATO_GUARDED_BY(guard);
  std::array<unsigned, os::most_signals + 1> users RUBATO_GUARDED_BY(guard){};
  unsigned process RUBATO_GUARDED_BY(guard) = 0; ///< the number of forks that lie before this process
};
constinit never_destroyed<all_signals> storage; // sets may be static objects

/// The child receives signals by sets of its own only: it shares the eventfds of the others with its parent.
/// So its signals have their earlier actions again.
void register_fork_handler() {
  static bool const registered =
      (os::register_fork_handlers([]() RUBATO_NOT_ANALYSED { storage.object.guard.lock(); },
                                  []() RUBATO_NOT_ANALYSED { storage.object.guard.unlock(); },
                                  []() RUBATO_NOT_ANALYSED {
                                    all_signals& all = storage.object;
                                    all.sets.clear();
                                    for (int s = 1; s <= os::most_signals; ++s)
                                      if (all.users[static_cast<std::size_t>(s)] != 0) os::release_signal(s);
                                    all.users.fill(0);
                                    ++all.process;
                                    all.guard.unlock();
                                  }),
       true);
  static_cast<void>(registered);
}

/// On any thread that takes the kernel's events.
void signals_arrived() noexcept {
  all_signals& all = storage.object;
  lock_guard const guard(all.guard); // a set that is made after a signal was taken is not to get it
  std::uint64_t came = 0;
  for (int s = 1; s <= os::most_signals; ++s)
    if (os::take_signal(s)) came |= bit_of(s);
  all.sets.for_each([came](signal_subscription& s) { s.deliver(came); });
}

} // namespace

void signal_subscription::add(int signal) {
  all_signals& all = storage.object;
  register_fork_handler();
  lock_guard const guard(all.guard);
  os::raise_at_signals(watch_signals(&signals_arrived)); // each time: the child of a fork() has its own
  if (signal > 0 && signal <= os::most_signals && (signals_ & bit_of(signal)) != 0) return;
  if (signal <= 0 || signal > os::most_signals || all.users[static_cast<std::size_t>(signal)] == 0)
    os::catch_signal(signal);
  if (all.users[static_cast<std::size_t>(signal)] == 0)
    static_cast<void>(os::take_signal(signal)); // one that came for a set that is gone
  ++all.users[static_cast<std::size_t>(signal)];
  if (signals_ == 0) all.sets.push_back(*this);
  process_ = all.process;
  signals_ |= bit_of(signal);
}

signal_subscription::~signal_subscription() {
  {
    all_signals& all = storage.object;
    lock_guard const guard(all.guard);
    bool const is_listed = signals_ != 0 && process_ == all.process;
    if (is_listed) all.sets.erase(*this);
    for (int s = 1; is_listed && s <= os::most_signals; ++s)
      if ((signals_ & bit_of(s)) != 0 && --all.users[static_cast<std::size_t>(s)] == 0) os::release_signal(s);
  }
  forget(fd_);
  os::close_fd(fd_);
}

int signal_subscription::take() noexcept {
  lock_guard const guard(storage.object.guard);
  if (pending_ == 0) return 0;
  int const signal = std::countr_zero(pending_) + 1;
  pending_ &= pending_ - 1;
  if (pending_ == 0) os::lower_event_fd(fd_);
  return signal;
}

} // namespace detail

signal_set::signal_set(std::span<int const> signals)
    : state_(std::make_unique<detail::signal_subscription>()) {
  for (int const s : signals) state_->add(s);
}
signal_set::signal_set(signal_set&&) noexcept = default;
signal_set& signal_set::operator=(signal_set&&) noexcept = default;
signal_set::~signal_set() = default;

task<int> signal_set::next() {
  detail::signal_subscription& own = *state_;
  detail::race_entry const among = co_await detail::own_race();
  co_await detail::ready_wait();
  for (;;) {
    int signal = 0;
    bool const has_tried = detail::try_in_race(among, [&] { return (signal = own.take()) != 0; });
    if (!has_tried) throw cancelled();
    if (signal != 0) co_return signal;
    std::errc const e = co_await readable(own.fd());
    if (e == std::errc::operation_canceled) throw cancelled();
    if (e != std::errc()) throw std::system_error(std::make_error_code(e), "rubato: signal_set::next()");
  }
}

} // namespace rubato
