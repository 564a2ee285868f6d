#include "lookup.hpp"

#include <ares.h>
#include <netdb.h>
#include <sys/time.h>

#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace lookup {

namespace {

using std::chrono::steady_clock;

/// The library must be made ready once, before a channel is.
struct library {
  library() {
    if (const int e = ::ares_library_init(ARES_LIB_INIT_ALL); e != ARES_SUCCESS)
      throw std::runtime_error(::ares_strerror(e));
  }
  ~library() { ::ares_library_cleanup(); }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
};

/// A channel of c-ares and the descriptors that it waits for. c-ares calls back in the functions that this
/// calls and in no others, so one task uses it and no lock is needed.
class channel {
  struct interest {
    bool in = false, out = false;
  };
  struct destroy {
    void operator()(ares_channel c) const noexcept { ::ares_destroy(c); }
  };
  std::map<ares_socket_t, interest> waits_for_;
  std::unique_ptr<ares_channeldata, destroy> channel_; // its end calls note()

  static void note(void* self, ares_socket_t fd, int in, int out) {
    auto& mine = static_cast<channel*>(self)->waits_for_;
    if (in != 0 || out != 0) {
      mine[fd] = {in != 0, out != 0};
      return;
    }
    mine.erase(fd);
    rubato::forget(fd); // c-ares closes it next
  }

  /// One event: of which descriptor, and in which direction.
  struct event {
    ares_socket_t in = ARES_SOCKET_BAD, out = ARES_SOCKET_BAD;
  };
  rubato::task<event> next() {
    timeval wait{};
    ::ares_timeout(channel_.get(), nullptr, &wait);
    const auto deadline =
        steady_clock::now() + std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec);
    std::vector<event> events;
    std::vector<rubato::task<std::errc>> waits;
    for (const auto& [fd, wants] : waits_for_) {
      if (wants.in) events.push_back({.in = fd}), waits.push_back(rubato::readable(fd, deadline));
      if (wants.out) events.push_back({.out = fd}), waits.push_back(rubato::writable(fd, deadline));
    }
    const auto first = co_await rubato::when_any(std::move(waits)); // the others have ended, too
    if (first.value == std::errc::operation_canceled) throw rubato::cancelled();
    co_return first.value == std::errc::timed_out ? event() : events[first.index];
  }

public:
  explicit channel(const settings& s) {
    ares_options o{};
    o.flags = ARES_FLAG_NOSEARCH;
    o.timeout = static_cast<int>(s.timeout.count());
    o.tries = s.tries;
    o.sock_state_cb = &note;
    o.sock_state_cb_data = this;
    int chosen = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
    char only_servers[] = "b";
    if (!s.servers.empty()) o.lookups = only_servers, chosen |= ARES_OPT_LOOKUPS;
    ares_channel made = nullptr;
    if (const int e = ::ares_init_options(&made, &o, chosen); e != ARES_SUCCESS)
      throw std::runtime_error(::ares_strerror(e));
    channel_.reset(made);
    if (s.servers.empty()) return;
    if (const int e = ::ares_set_servers_ports_csv(made, s.servers.c_str()); e != ARES_SUCCESS)
      throw std::runtime_error("the servers " + s.servers + ": " + ::ares_strerror(e));
  }
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// `into` must live until drive() has ended, or the channel has.
  void ask(answer& into) {
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM; // one entry for an address, not one for each protocol
    const auto done = [](void* to, int status, int, ares_addrinfo* found) {
      auto& a = *static_cast<answer*>(to);
      if (status != ARES_SUCCESS) a.error = ::ares_strerror(status);
      if (found == nullptr) return;
      for (const ares_addrinfo_node* n = found->nodes; n != nullptr; n = n->ai_next)
        a.addresses.push_back(rubato::address::from_bytes(n->ai_addr, n->ai_addrlen));
      ::ares_freeaddrinfo(found);
    };
    ::ares_getaddrinfo(channel_.get(), into.name.c_str(), nullptr, &hints, done, &into);
  }
  /// Until all questions are answered, or given up.
  rubato::task<void> drive() {
    while (!waits_for_.empty()) {
      const event e = co_await next();
      ::ares_process_fd(channel_.get(), e.in, e.out);
    }
  }
};

} // namespace

rubato::task<std::vector<answer>> look_up(std::vector<std::string> names, settings s) {
  static const library ready;
  std::vector<answer> answers(names.size());
  channel c(s);
  for (std::size_t i = 0; i != names.size(); ++i) {
    answers[i].name = std::move(names[i]);
    c.ask(answers[i]);
  }
  co_await c.drive();
  co_return answers;
}

} // namespace lookup
