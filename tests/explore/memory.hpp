// The C++20 memory model as a machine: what a load may read. docs/design/explorer.md
//
// Source: the view machine of Kang, Hur, Lahav, Vafeiadis and Dreyer, "A promising semantics for
// relaxed-memory concurrency" (2017), without promises; sequentially consistent accesses as in C++20.
#pragma once

#include "explore/failure.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rubato_test {

/// Threads of one execution, the one that prepares and inspects it, number 0, included.
inline constexpr unsigned max_threads = 8;
/// How often each thread had made a step; of one thread: when it made this one.
using clock_vector = std::array<std::uint32_t, max_threads>;
/// A place in the modification order of one location. There is room between two for writes that come later.
using stamp = std::uint64_t;

/// For each location the oldest write that may still be read.
class front {
  std::vector<stamp> at_;

public:
  stamp operator[](std::size_t location) const noexcept { return location < at_.size() ? at_[location] : 0; }
  void raise(std::size_t location, stamp s);
  void join(front const& other);
  void clear() noexcept { at_.clear(); }
};

/// What a thread knows, or what a write tells its reader: the front is about coherence, the clock about
/// happens-before.
struct view {
  front seen;
  clock_vector clock{};

  void join(view const& other);
  void clear() noexcept;
};

class memory {
public:
  using id = std::uint32_t;
  static constexpr id nowhere = ~id{0};

  /// Forgets everything. Of each location the newest `history` writes can be read.
  void reset(unsigned history);

  // Threads

  void fork(unsigned parent, unsigned child) { threads_[child].now = threads_[parent].now; }
  void join(unsigned parent, unsigned child) { threads_[parent].now.join(threads_[child].now); }
  /// Writes become visible in finite time: what this thread read too old it will not read again. True: there
  /// is something new to see.
  bool catch_up(unsigned thread);

  // Objects

  /// A new object. At most one lives at an address: an older one there has ended without saying so.
  id create(unsigned thread, void const* address, std::uint64_t bits);
  /// The object ends; fails unless every access to it happened before.
  void destroy(unsigned thread, void const* address);
  /// Everything in the range ends, as destroy() does it.
  void destroy_range(unsigned thread, void const* begin, std::size_t size);
  /// Which atomic or plain object lives there? Fails if none does, or if its birth did not happen before.
  id access(unsigned thread, void const* address);
  /// As it is called in a trace.
  [[nodiscard]] std::string name(void const* address) const;

  // Plain data

  /// After access(), which is all that a read needs: fails unless every other access happened before.
  void plain_write(unsigned thread, id object);

  // Atomics

  // Writes are numbered backwards in modification order: number 0 is the newest.

  /// How many writes a load may read.
  [[nodiscard]] unsigned readable(unsigned thread, id object, std::memory_order order) const;
  /// Whether a write, if it may read this one, may also come right behind it.
  [[nodiscard]] bool room(id object, unsigned number) const;
  [[nodiscard]] std::uint64_t value(id object, unsigned number = 0) const;

  std::uint64_t read(unsigned thread, id object, unsigned number, std::memory_order order);
  /// Right behind the write of this number.
  void write(unsigned thread, id object, unsigned number, std::uint64_t bits, std::memory_order order);
  /// The second half of a read-modify-write that has read this one.
  void modify(unsigned thread, id object, unsigned number, std::uint64_t bits, std::memory_order order);

  // Fences

  void full_fence(unsigned thread);
  void light_barrier(unsigned thread);
  /// Makes another thread execute a full fence somewhere between its last light barrier and its next.
  void remote_fence(unsigned thread);

private:
  struct message {
    stamp at = 0;
    std::uint64_t value = 0;
    bool modified = false; // read-modify-write: nothing may come between it and the write before
    view carried;          // for a load that reads it with acquire
  };
  struct record {
    void const* address = nullptr;
    bool alive = false;
    std::vector<message> messages; // the first `count` in modification order; the rest is spare
    unsigned count = 0;
    unsigned writer = 0; // birth or last plain write: which thread, and at what time of its clock
    std::uint32_t written = 0;
    clock_vector touched{}; // each thread's last access
  };
  struct thread_state {
    view now;
    view pending;           // carried by what was read without acquire: an acquire fence joins it
    view fenced;            // at the last release fence: carried by relaxed stores
    std::vector<id> behind; // read too old
    front marked;           // at the last light barrier: known to whatever fence comes later
    front delivered;        // by remote fences: known at the next light barrier
  };
  struct entry {
    void const* address = nullptr;
    std::uint64_t generation = 0;
    id object = nowhere;
  };

  /// What a thread does next is later than what it has published so far.
  void tick(unsigned thread) noexcept { ++threads_[thread].now.clock[thread]; }
  [[nodiscard]] entry& find(void const* address);
  [[nodiscard]] id lookup(void const* address) const;
  message& insert(record& o, unsigned position);
  void publish(unsigned thread, id object, message& m, std::memory_order order);
  void end(unsigned thread, record& o);
  void unordered(unsigned thread, record const& o, unsigned other, char const* what) const;

  unsigned history_ = 0;
  std::array<thread_state, max_threads> threads_;
  std::vector<record> objects_; // the first `used_`; the rest is spare
  id used_ = 0;
  std::vector<entry> table_; // from address to object, open addressing
  std::uint64_t generation_ = 0;
  front sc_; // what sequentially consistent accesses and fences have ordered so far
};

} // namespace rubato_test
