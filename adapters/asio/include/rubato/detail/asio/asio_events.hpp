// Asio's reactor, timers and other services, and the thread that runs them.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include <thread>

namespace rubato::detail {

/// The thread ends before the services are shut down. One that Asio makes by itself, for a context that has
/// none, is still in the reactor at that moment (1.22).
class asio_events : public ::asio::io_context {
  ::asio::executor_work_guard<executor_type> keeps_running_{get_executor()};
  std::thread thread_{[this] { run(); }};

public:
  asio_events()
      : io_context(1) {} // one thread runs it
  asio_events(asio_events const&) = delete;
  asio_events& operator=(asio_events const&) = delete;
  ~asio_events() {
    if (thread_.joinable()) end_thread(); // the constructor of the context has thrown
  }

  void end_thread() {
    stop();
    thread_.join();
  }
  /// Destroys the handlers of what is pending.
  using ::asio::execution_context::shutdown;
};

} // namespace rubato::detail
