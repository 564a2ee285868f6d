#include "rubato/detail/io/read_descriptor.hpp"

#include "io/descriptor.hpp"
#include "os/io/socket.hpp"
#include "rubato/readiness.hpp"
#include "rubato/thread_pool.hpp"

namespace rubato::detail {

rubato::task<std::size_t> read_descriptor(int fd, std::span<std::byte> into,
                                          std::chrono::steady_clock::time_point deadline,
                                          std::error_code* error) {
  io_errors const errors("buffered", error);
  errors.clear();
  for (;;) {
    auto e = co_await readable(fd, deadline);
    if (e == std::errc::operation_canceled && is_stopped()) {
      errors.report_stop();
      co_return 0;
    }
    bool const is_file = e == std::errc::operation_not_permitted;
    os::io_result r;
    if (is_file) {
      auto const read = [&] { return os::read_from(fd, into); };
      r = blocking(read); // the file may be on a slow disk
    } else if (e == std::errc()) {
      r = os::read_from(fd, into);
      if (r.would_wait()) continue; // another reader was faster
    }
    if (r.error == 0 && r.value >= 0) co_return static_cast<std::size_t>(r.value);
    if (r.error != 0) e = static_cast<std::errc>(r.error);
    errors.report(e);
    co_return 0;
  }
}

} // namespace rubato::detail
