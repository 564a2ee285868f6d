// The records of a pool's threads by their numbers, and which of them are in use. docs/design/lifecycle.md
//
// A record is published once, with the next number, and lives as long as the pool: any thread reads it at any
// time. A search visits those in use only; the counters of the others are read by stats().
#pragma once

#include "os/memory.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "work/pool_thread.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class record_table {
  static constexpr unsigned width = 64;
  struct alignas(64) group {
    std::atomic<std::uint64_t> in_use{
        0}; // one bit for each record; changed as enter(), leave() and list() say
    std::array<published<pool_thread*>, width> records{};
  };
  unsigned const slots_;
  group* const groups_; // reserved for all slots; the system backs the used part
  published<unsigned> known_;

  [[nodiscard]] static std::uint64_t bit_of(unsigned i) noexcept { return std::uint64_t{1} << (i % width); }
  [[nodiscard]] static std::size_t groups_for(unsigned records) noexcept {
    return (std::size_t{records} + width - 1) / width;
  }

public:
  explicit record_table(unsigned slots)
      : slots_(slots)
      , groups_(static_cast<group*>(os::reserve(groups_for(slots) * sizeof(group)))) {} // zeros: none
  record_table(record_table const&) = delete;
  record_table& operator=(record_table const&) = delete;
  ~record_table() = default;
  /// No thread reads the table any more.
  void release() noexcept { os::release(groups_, groups_for(slots_) * sizeof(group)); }

  [[nodiscard]] unsigned slots() const noexcept { return slots_; }
  [[nodiscard]] unsigned known() const noexcept { return known_.get(); }
  /// Null: that number has not been given yet.
  [[nodiscard]] pool_thread* at(unsigned i) const noexcept {
    return groups_[i / width].records[i % width].get();
  }

  // By one caller at a time.
  /// The record's number is known().
  void publish(pool_thread& t) noexcept;
  /// A thread is about to use the record.
  void enter(pool_thread& t) noexcept;
  /// The thread has done its last with it. Children of its scopes that have not begun are still found.
  void leave(pool_thread& t) noexcept;

  // By any thread that holds the record's scopes_mutex, after its thread has left.
  /// The record has a scope in its list again.
  void list(pool_thread& t) noexcept;
  /// The last one has left the list.
  void unlist(pool_thread& t) noexcept;

  /// How often all threads but `t` have passed a task boundary. It never goes back.
  [[nodiscard]] unsigned boundaries_of_all_but(pool_thread const* t) const noexcept;

  /// Calls f(record) for each record that is in use, until f returns true: from number `first` to the last,
  /// then from 0. The record of number `first` need not be in use. Returns the record that ended it, or null.
  template<class F>
  pool_thread* find(unsigned first, F f) const {
    auto const n = static_cast<unsigned>(groups_for(known()));
    if (n == 0) return nullptr;
    std::uint64_t const from_first = ~std::uint64_t{0} << (first % width);
    unsigned g = first / width % n;
    unsigned const last =
        first % width == 0 ? n - 1 : n; // n: the group of `first` comes twice, its beginning last
    for (unsigned k = 0; k <= last; ++k) {
      // seq_cst: pairs with list(), because a thread that announces its sleep looks here afterwards, and a
      // thread that makes work ready enters here before it looks for sleepers.
      std::uint64_t bits = groups_[g].in_use.load(std::memory_order_seq_cst);
      if (k == 0) bits &= from_first;
      if (k == n) bits &= ~from_first;
      for (; bits != 0; bits &= bits - 1) {
        unsigned const i = g * width + static_cast<unsigned>(std::countr_zero(bits));
        if (pool_thread& t = *at(i); f(t)) return &t;
      }
      g = g + 1 == n ? 0 : g + 1;
    }
    return nullptr;
  }
  /// Calls f(record) for each record that is in use.
  template<class F>
  void for_each(F f) const {
    find(0, [&](pool_thread& t) { return f(t), false; });
  }
  /// The same for all records that there ever were.
  template<class F>
  void for_each_known(F f) const {
    for (unsigned i = 0, n = known(); i != n; ++i) f(*at(i));
  }
};

} // namespace rubato::detail
