// Saves in Redis: profiles in one database, the locks of those that are being changed in another.
//
// A save holds the lock of its user from before it reads the profile until after it has written it. The lock
// has the token of its owner and a time to live, so that one whose owner has died ends by itself. That alone
// would not do: a writer that was held up for longer than the lock lived, or whose command arrives late,
// would undo a save that was acknowledged meanwhile. So Redis stores a profile only while the lock has the
// writer's token, in one step (a fence).
#pragma once

#include "options.hpp"
#include "profile.hpp"
#include "redis.hpp"
#include "schedulers.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace savegame {

/// A text that no other save of any process has.
std::string new_token();

template<class S>
class saves {
  template<class T>
  using task = typename S::template task<T>;

  static constexpr std::string_view unlock_script =
      "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0";
  static constexpr std::string_view store_script =
      "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
      "redis.call('select', ARGV[2]) redis.call('set', KEYS[2], ARGV[3]) return 1";

  const options& limits_;
  database<S> locks_{limits_.redis, 0};
  database<S> profiles_{limits_.redis, 1};

  static std::string lock_of(const std::string& user) { return "lock:" + user; }
  static std::string profile_of(const std::string& user) { return "profile:" + user; }

  /// False: another save has the lock.
  task<bool> lock(const std::string& user, const std::string& token, time_point deadline) {
    const auto life = std::to_string(limits_.lock_life().count());
    const reply r = co_await locks_.command(deadline, "SET", lock_of(user), token, "NX", "PX", life);
    co_return r->type != REDIS_REPLY_NIL;
  }
  task<void> unlock(const std::string& user, const std::string& token, time_point deadline) {
    deadline = std::max(deadline, std::chrono::steady_clock::now() + limits_.time_to_unlock);
    co_await locks_.command(deadline, "EVAL", unlock_script, "1", lock_of(user), token);
  }
  task<void> store(const std::string& user, const std::string& token, std::string bytes,
                   time_point deadline) {
    const reply r = co_await locks_.command(deadline, "EVAL", store_script, "2", lock_of(user),
                                            profile_of(user), token, profiles_.number(), bytes);
    if (r->integer != 1) throw failure(504, "the save took longer than its lock lived");
  }

  task<std::uint64_t> change(const std::string& user, const std::string& token, const std::string& lines,
                             time_point deadline) {
    const std::string old = co_await load(user, deadline);
    profile p(old);
    p.edit(lines);
    p.check(limits_.largest_profile);
    co_await store(user, token, deflated(p.text()), deadline);
    co_return p.revision();
  }

  /// Zero: another save has the lock.
  task<std::uint64_t> try_save(const std::string& user, const std::string& lines, time_point deadline) {
    const std::string token = new_token();
    std::uint64_t revision = 0;
    std::exception_ptr error;
    try {
      const bool locked = co_await lock(user, token, deadline);
      if (!locked) co_return 0;
      revision = co_await change(user, token, lines, deadline);
    } catch (...) {
      error = std::current_exception();
    }
    try { // also if the reply to lock() was lost: it may have been set
      co_await unlock(user, token, deadline);
    } catch (const failure&) { // NOLINT(bugprone-empty-catch): then its time to live ends it
    }
    if (error) std::rethrow_exception(error);
    co_return revision;
  }

public:
  explicit saves(const options& limits)
      : limits_(limits) {}

  /// The text of a profile; empty if there is none. Throws failure.
  task<std::string> load(const std::string& user, time_point deadline) {
    const reply r = co_await profiles_.command(deadline, "GET", profile_of(user));
    if (r->type == REDIS_REPLY_NIL) co_return std::string();
    co_return inflated(text_of(*r), limits_.largest_profile);
  }

  /// Changes a profile; returns its revision when it is stored for good. Throws failure: then it has
  /// not been stored, unless the database did not answer.
  task<std::uint64_t> save(const std::string& user, const std::string& lines, time_point deadline) {
    using std::chrono::milliseconds;
    for (milliseconds pause(1);; pause = std::min(2 * pause, milliseconds(64))) {
      // Once it is locked it goes on to its end, whatever ends meanwhile: each of its steps has a deadline.
      const std::uint64_t revision = co_await S::shielded(try_save(user, lines, deadline));
      if (revision != 0) co_return revision;
      if (std::chrono::steady_clock::now() + pause >= deadline)
        throw failure(503, "another save of this user is under way");
      co_await S::sleep_for(pause);
    }
  }
};

} // namespace savegame
