// periodic: work that depends on time, in three ways. A coroutine samples the load at fixed intervals, a
// routine serves requests and notices when none comes, and a timer ends the program unless it is cancelled.
//
//   periodic [MILLISECONDS]
#include <rubato/rubato.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace std::chrono_literals;

/// Counts requests. It costs no coroutine frame, and no allocation per request.
class server {
  rubato::pool& pool_;
  std::atomic<int> waiting_{0};
  std::atomic<int> served_{0};
  std::atomic<int> quiet_{0};
  rubato::routine step_{[this](rubato::routine& r) { run(r); }};

  void run(rubato::routine& r) {
    if (r.expired()) ++quiet_; // 20 ms without a request
    served_ += waiting_.exchange(0);
    if (!r.receive_signal()) r.post_after(pool_, 20ms);
  }

public:
  explicit server(rubato::pool& p)
      : pool_(p) {
    step_.post(pool_);
  }
  void request() {
    ++waiting_;
    step_.wake();
  }
  /// No request comes after this.
  void stop() { step_.signal(); }
  [[nodiscard]] int served() const { return served_; }
  [[nodiscard]] int quiet() const { return quiet_; }
};

/// Sends a request every 5 ms, without drift, for the first half of the time; then none.
rubato::task<int> send(server& s, std::chrono::milliseconds time) {
  rubato::interval every(5ms);
  auto const end = std::chrono::steady_clock::now() + time / 2;
  int sent = 0;
  while (std::chrono::steady_clock::now() < end) {
    co_await every.tick();
    s.request();
    ++sent;
  }
  co_await rubato::sleep_for(time / 2);
  co_return sent;
}

} // namespace

int main(int argc, char** argv) {
  int ms = 200;
  if (argc == 2) {
    char const* const end = argv[1] + std::strlen(argv[1]);
    auto const [rest, error] = std::from_chars(argv[1], end, ms);
    if (error != std::errc() || rest != end) ms = 0;
  }
  if (argc > 2 || ms <= 0) {
    std::fputs("usage: periodic [MILLISECONDS]\n", stderr);
    return 2;
  }
  rubato::pool pool;
  rubato::timer_handle watchdog = pool.enqueue_after(60s + std::chrono::milliseconds(ms), [] {
    std::fputs("periodic: this takes too long\n", stderr);
    std::_Exit(1);
  });
  server s(pool);
  int const sent = pool.spawn(send, std::ref(s), std::chrono::milliseconds(ms)).get();
  s.stop();
  watchdog.cancel();
  pool.wait_idle(); // the routine has received its signal
  std::printf("%d requests sent, %d served, quiet %s\n", sent, s.served(),
              s.quiet() != 0 ? "at times" : "never");
  return sent == s.served() ? 0 : 1;
}
