// A client of Redis: hiredis makes and reads the messages, the scheduler waits for its descriptor.
#pragma once

#include "failure.hpp"
#include "schedulers.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace savegame {

struct free_reply {
  void operator()(redisReply* r) const noexcept { ::freeReplyObject(r); }
};
using reply = std::unique_ptr<redisReply, free_reply>;

inline std::string_view text_of(const redisReply& r) { return {r.str, r.len}; }

/// The bytes of a command.
std::string command_bytes(const char* const* words, const std::size_t* sizes, int count);
/// Begins to connect, to "address:port" or the path of a Unix socket. Throws failure (503).
redisContext* begin_connecting(const std::string& where);

/// Connections to one of the databases of a server. A command has one to itself until its reply is there.
template<class S>
class database {
  template<class T>
  using task = typename S::template task<T>;

  struct disconnect {
    void operator()(redisContext* c) const noexcept {
      S::forget(c->fd); // its number may soon be that of another descriptor
      ::redisFree(c);
    }
  };
  using connection = std::unique_ptr<redisContext, disconnect>;

  const std::string where_;
  const std::string number_;
  std::mutex mutex_;
  std::vector<connection> idle_; ///< the last one used at the end

  [[noreturn]] static void fail(std::errc e) {
    if (e == std::errc::timed_out) throw failure(504, "the database is too slow");
    throw failure(503, "the database cannot be reached: " + std::make_error_code(e).message());
  }
  [[noreturn]] static void fail(const redisContext& c) {
    throw failure(503, std::string("the database cannot be reached: ") + c.errstr);
  }

  static task<void> send(redisContext& c, const std::string& bytes, time_point deadline) {
    if (::redisAppendFormattedCommand(&c, bytes.data(), bytes.size()) != REDIS_OK) fail(c);
    for (;;) {
      int done = 0;
      if (::redisBufferWrite(&c, &done) != REDIS_OK) fail(c);
      if (done != 0) co_return;
      const std::errc e = co_await S::writable(c.fd, deadline);
      if (e != std::errc()) fail(e);
    }
  }
  static task<reply> receive(redisContext& c, time_point deadline) {
    for (;;) {
      void* there = nullptr;
      if (::redisGetReplyFromReader(&c, &there) != REDIS_OK) fail(c);
      if (there != nullptr) co_return reply(static_cast<redisReply*>(there));
      const std::errc e = co_await S::readable(c.fd, deadline);
      if (e != std::errc()) fail(e);
      if (::redisBufferRead(&c) != REDIS_OK) fail(c);
    }
  }

  connection take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    connection c = std::move(idle_.back());
    idle_.pop_back();
    return c;
  }
  void give_back(connection c) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(c));
  }
  /// After one was lost: the others are of the same server, which has gone.
  void drop_idle() {
    std::vector<connection> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(idle_);
  }

  task<connection> connect(time_point deadline) {
    connection c(begin_connecting(where_));
    const std::errc e = co_await S::writable(c->fd, deadline); // it is connected, or has failed
    if (e != std::errc()) fail(e);
    co_await send(*c, bytes_of("SELECT", number_), deadline);
    const reply r = co_await receive(*c, deadline);
    if (r->type == REDIS_REPLY_ERROR) throw failure(503, "the database says: " + std::string(text_of(*r)));
    co_return c;
  }
  template<class... Words>
  static std::string bytes_of(const Words&... words) {
    const std::array<std::string_view, sizeof...(words)> all{words...};
    std::array<const char*, sizeof...(words)> at;
    std::array<std::size_t, sizeof...(words)> sizes;
    for (std::size_t i = 0; i != all.size(); ++i) at[i] = all[i].data(), sizes[i] = all[i].size();
    return command_bytes(at.data(), sizes.data(), static_cast<int>(all.size()));
  }

  task<reply> exchange(std::string bytes, time_point deadline) {
    try {
      connection c = take_idle();
      if (c == nullptr) c = co_await connect(deadline);
      co_await send(*c, bytes, deadline);
      reply r = co_await receive(*c, deadline);
      give_back(std::move(c));
      if (r->type == REDIS_REPLY_ERROR) throw failure(503, "the database says: " + std::string(text_of(*r)));
      co_return r;
    } catch (const failure& f) {
      if (f.status() == 503) drop_idle();
      throw;
    }
  }

public:
  database(std::string where, int number)
      : where_(std::move(where))
      , number_(std::to_string(number)) {}

  /// Sends a command and waits for the reply. Throws failure: 503, 504. Whether the command has had an effect
  /// is not known then.
  template<class... Words>
  task<reply> command(time_point deadline, const Words&... words) {
    return exchange(bytes_of(words...), deadline);
  }
  const std::string& number() const noexcept { return number_; }
};

} // namespace savegame
