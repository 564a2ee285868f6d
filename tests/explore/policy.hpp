// The policy under which every access is a scheduled step: what rubato::detail::std_policy is in production.
#pragma once

#include "explore/scheduler.hpp"
#include "rubato/detail/base/policy.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <type_traits>

namespace rubato_test {

/// As std::atomic. The value is kept by the explorer under the object's address, so that an access to an
/// object that has ended reads none of its memory.
template<class T>
class atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  using location = std::source_location;
  using order = std::memory_order;

  alignas(T) std::byte unused_[sizeof(T)]{}; // so that arrays and lines are laid out as in production

  static std::uint64_t encode(T value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  static T decode(std::uint64_t bits) noexcept {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static constexpr order failure_of(order success) noexcept {
    if (success == order::acq_rel) return order::acquire;
    return success == order::release ? order::relaxed : success;
  }
  bool compare(T& expected, T desired, bool weak, order success, order failure,
               location const& where) noexcept {
    std::uint64_t bits = encode(expected);
    bool const exchanged =
        scheduler::current().compare_exchange(this, bits, encode(desired), weak, success, failure, where);
    if (!exchanged) expected = decode(bits);
    return exchanged;
  }
  T modify(scheduler::function f, std::uint64_t operand, char const* name, order o,
           location const& where) noexcept {
    return decode(scheduler::current().modify(this, f, operand, name, o, where));
  }

  /// The type of the operand of fetch_add and fetch_sub on a T.
  using difference = std::conditional_t<std::is_pointer_v<T>, std::ptrdiff_t, T>;
  /// On the bits, without overflow: the bits of a pointer are its address.
  static constexpr std::uint64_t unit = [] {
    if constexpr (std::is_pointer_v<T>)
      return std::uint64_t{sizeof(std::remove_pointer_t<T>)};
    else
      return std::uint64_t{1};
  }();
  static std::uint64_t scaled(difference d) noexcept { return static_cast<std::uint64_t>(d) * unit; }
  static std::uint64_t cut(std::uint64_t bits) noexcept {
    return sizeof(T) == 8 ? bits : bits & ((std::uint64_t{1} << (sizeof(T) * 8 % 64)) - 1);
  }

public:
  using value_type = T;

  constexpr atomic() noexcept
      : atomic(T{}) {}
  constexpr atomic(T value) noexcept { // NOLINT(google-explicit-constructor): as std::atomic
    if (!std::is_constant_evaluated())
      if (scheduler* const s = scheduler::active()) s->create(this, encode(value));
  }
  constexpr ~atomic() {
    if (!std::is_constant_evaluated())
      if (scheduler* const s = scheduler::active()) s->destroy(this);
  }
  atomic(atomic const&) = delete;
  atomic& operator=(atomic const&) = delete;

  [[nodiscard]] T load(order o = order::seq_cst, location const& where = location::current()) const noexcept {
    return decode(scheduler::current().load(this, o, where));
  }
  void store(T value, order o = order::seq_cst, location const& where = location::current()) noexcept {
    scheduler::current().store(this, encode(value), o, where);
  }
  T exchange(T value, order o = order::seq_cst, location const& where = location::current()) noexcept {
    return modify([](std::uint64_t, std::uint64_t b) { return b; }, encode(value), "exchange", o, where);
  }

  bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                               location const& where = location::current()) noexcept {
    return compare(expected, desired, false, success, failure, where);
  }
  bool compare_exchange_strong(T& expected, T desired, order o = order::seq_cst,
                               location const& where = location::current()) noexcept {
    return compare(expected, desired, false, o, failure_of(o), where);
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                             location const& where = location::current()) noexcept {
    return compare(expected, desired, true, success, failure, where);
  }
  bool compare_exchange_weak(T& expected, T desired, order o = order::seq_cst,
                             location const& where = location::current()) noexcept {
    return compare(expected, desired, true, o, failure_of(o), where);
  }

  T fetch_add(difference d, order o = order::seq_cst, location const& where = location::current()) noexcept {
    return modify([](std::uint64_t a, std::uint64_t b) { return cut(a + b); }, scaled(d), "fetch_add", o,
                  where);
  }
  T fetch_sub(difference d, order o = order::seq_cst, location const& where = location::current()) noexcept {
    return modify([](std::uint64_t a, std::uint64_t b) { return cut(a - b); }, scaled(d), "fetch_sub", o,
                  where);
  }
  T fetch_or(T m, order o = order::seq_cst, location const& where = location::current()) noexcept {
    return modify([](std::uint64_t a, std::uint64_t b) { return a | b; }, encode(m), "fetch_or", o, where);
  }
  T fetch_and(T m, order o = order::seq_cst, location const& where = location::current()) noexcept {
    return modify([](std::uint64_t a, std::uint64_t b) { return a & b; }, encode(m), "fetch_and", o, where);
  }
};

/// Plain data. Not a step: if its accesses are ordered, it does not matter what comes between, and if they
/// are not, that is seen in any order.
template<class T>
class plain {
  using location = std::source_location;
  T value_{};

  constexpr void create() noexcept {
    if (!std::is_constant_evaluated())
      if (scheduler* const s = scheduler::active()) s->create(this, 0);
  }

public:
  constexpr plain() noexcept { create(); }
  constexpr explicit plain(T v) noexcept
      : value_(v) {
    create();
  }
  constexpr ~plain() {
    if (!std::is_constant_evaluated())
      if (scheduler* const s = scheduler::active()) s->destroy(this);
  }
  plain(plain const&) = delete;
  plain& operator=(plain const&) = delete;

  [[nodiscard]] T get(location const& where = location::current()) const noexcept {
    scheduler::current().plain_read(this, where);
    return value_;
  }
  void set(T v, location const& where = location::current()) noexcept {
    scheduler::current().plain_write(this, where);
    value_ = v;
  }
};

struct policy {
  template<class T>
  using atomic = atomic<T>;
  template<class T>
  using plain = plain<T>;
  using location = std::source_location;

  static void fence(location const& where = location::current()) noexcept {
    scheduler::current().fence(where);
  }
  static void light_barrier(location const& where = location::current()) noexcept {
    scheduler::current().light_barrier(where);
  }
  static void heavy_barrier(location const& where = location::current()) noexcept {
    scheduler::current().heavy_barrier(where);
  }
  static void futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected,
                         location const& where = location::current()) noexcept {
    scheduler::current().futex_wait(&word, expected, where);
  }
  static void futex_wake(atomic<std::uint32_t>& word, unsigned count,
                         location const& where = location::current()) noexcept {
    scheduler::current().futex_wake(&word, count, where);
  }
  /// What poke() does; the test says it. One test runs at a time.
  static inline std::function<void()> poked;
  static void poke() noexcept { poked(); }
  static void note_parking(rubato::detail::parking /*what*/, void const* /*parker*/) noexcept {}
  [[nodiscard]] static std::uint64_t time_of_change() noexcept { return 0; }
  static void note_seats(void const* /*pool*/, bool /*any_is_free*/, std::uint64_t /*at*/) noexcept {}
  static void pause(location const& where = location::current()) noexcept {
    scheduler::current().pause(where);
  }
  static void back_off(unsigned /*round*/, location const& where = location::current()) noexcept {
    pause(where);
  }
  /// Enough to look again after a first look; more would only lengthen every schedule.
  static constexpr unsigned spins = 1;
};

} // namespace rubato_test
