// What a request runs on. The service is written once, as coroutines over one of these.
#pragma once

#include "baseline/socket.hpp"
#include "baseline/task.hpp"
#include "baseline/waiting.hpp"

#include <rubato/rubato.hpp>

#include <chrono>
#include <system_error>
#include <utility>

namespace savegame {

using time_point = std::chrono::steady_clock::time_point;

/// The pool's workers: a wait costs no thread, and ends at the event.
struct on_rubato {
  template<class T>
  using task = rubato::task<T>;
  using socket = rubato::tcp_socket;

  static task<std::errc> readable(int fd, time_point deadline) { return rubato::readable(fd, deadline); }
  static task<std::errc> writable(int fd, time_point deadline) { return rubato::writable(fd, deadline); }
  static void forget(int fd) noexcept { rubato::forget(fd); }
  static auto sleep_for(std::chrono::milliseconds d) { return rubato::sleep_for(d); }
  /// Ends of its own accord, even if the pool ends meanwhile.
  template<class T>
  static task<T> shielded(task<T> t) {
    return rubato::shielded(std::move(t));
  }
};

/// An updater's thread or a thread per connection, as its server decides (baseline/waiting.hpp).
struct on_baseline {
  template<class T>
  using task = baseline::task<T>;
  using socket = baseline::socket;

  static baseline::wait readable(int fd, time_point deadline) noexcept { return {fd, POLLIN, deadline}; }
  static baseline::wait writable(int fd, time_point deadline) noexcept { return {fd, POLLOUT, deadline}; }
  static void forget(int) noexcept {}
  static baseline::wait sleep_for(std::chrono::milliseconds d) noexcept {
    return {-1, 0, std::chrono::steady_clock::now() + d};
  }
  template<class T>
  static task<T> shielded(task<T> t) {
    return t; // nothing is stopped here
  }
};

} // namespace savegame
