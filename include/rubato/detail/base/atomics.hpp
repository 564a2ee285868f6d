// Atomics by what they are for: each type fixes the memory order and says why, once. What needs more than
// these is a protocol of its own, in sync/.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

/// A count, a hint, or a value that changes under a lock and is also looked at without it. It orders nothing:
/// a reader gets some value of the recent past, and concludes nothing from it about other data.
template<class Policy, class T>
class basic_relaxed {
  typename Policy::template atomic<T> value_{};

public:
  constexpr basic_relaxed() noexcept = default;
  constexpr explicit basic_relaxed(T v) noexcept
      : value_(v) {}

  [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_relaxed); }
  void set(T v) noexcept { value_.store(v, std::memory_order_relaxed); }
  // These return the value before.
  T exchange(T v) noexcept { return value_.exchange(v, std::memory_order_relaxed); }
  T add(T n) noexcept { return value_.fetch_add(n, std::memory_order_relaxed); }
  T subtract(T n) noexcept { return value_.fetch_sub(n, std::memory_order_relaxed); }
};

/// Says that something has happened: a thread that sees it raised sees what came before.
template<class Policy>
class basic_flag {
  typename Policy::template atomic<bool> value_{false};

public:
  constexpr basic_flag() noexcept = default;

  // release, and acquire in the others: they pair with each other, because the reader uses what the thread
  // that raised it had written.
  void raise() noexcept { value_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_raised() const noexcept { return value_.load(std::memory_order_acquire); }
  /// Lowers it. True: it was raised, and the caller is the one that sees it.
  [[nodiscard]] bool take() noexcept { return value_.exchange(false, std::memory_order_acquire); }
  /// True for the first caller. Every later one sees what came before the first one's call.
  [[nodiscard]] bool try_raise() noexcept { return !value_.exchange(true, std::memory_order_acq_rel); }
  /// relaxed: it publishes nothing.
  void lower() noexcept { value_.store(false, std::memory_order_relaxed); }
};

/// Parts that have to end: the last of them, and a thread that asks afterwards, sees what all have done.
template<class Policy, class N>
class basic_countdown {
  typename Policy::template atomic<N> value_;

public:
  constexpr explicit basic_countdown(N parts = 0) noexcept
      : value_(parts) {}

  /// Before the new parts begin. relaxed: the caller hands each one over, or has a part itself.
  void add(N parts = 1) noexcept { value_.fetch_add(parts, std::memory_order_relaxed); }
  /// True: these were the last. Else the object may be gone.
  [[nodiscard]] bool arrive(N parts = 1) noexcept {
    // acq_rel: pairs with itself, because the last one goes on with what the others have written.
    N const before = value_.fetch_sub(parts, std::memory_order_acq_rel);
    RUBATO_ASSERT_STEP(before >= parts, "more parts have ended than there are", before, parts);
    return before == parts;
  }
  /// Returns how many were left before; nothing changes if those were fewer.
  [[nodiscard]] N arrive_unless_fewer(N parts) noexcept {
    N left = value_.load(std::memory_order_relaxed);
    // acq_rel: as in arrive().
    while (parts <= left && !value_.compare_exchange_weak(left, left - parts, std::memory_order_acq_rel,
                                                          std::memory_order_relaxed)) {
    }
    return left;
  }
  [[nodiscard]] bool is_over() const noexcept {
    return value_.load(std::memory_order_acquire) == 0; // pairs with arrive()
  }
};

/// The references to an object.
template<class Policy>
class basic_references {
  typename Policy::template atomic<std::uint32_t> value_;

  static std::uint32_t at_least(std::uint32_t n, std::uint32_t before) noexcept {
    RUBATO_ASSERT_STEP(before >= n, "more references are released than there are", before, n);
    return before;
  }

public:
  constexpr explicit basic_references(std::uint32_t n) noexcept
      : value_(n) {}

  /// relaxed: the caller has a reference already.
  void hold() noexcept {
    std::uint32_t const before = value_.fetch_add(1, std::memory_order_relaxed);
    RUBATO_ASSERT_STEP(before != 0, "an object is held that is gone", before);
  }
  /// The caller has n. True: they were the last, and it destroys the object. No read-modify-write in that
  /// case.
  [[nodiscard]] bool release(std::uint32_t n = 1) noexcept {
    // acq_rel: pairs with the other threads' release(), because the last one destroys what they have written.
    return value_.load(std::memory_order_acquire) == n ||
           at_least(n, value_.fetch_sub(n, std::memory_order_acq_rel)) == n;
  }
  /// True: the caller has n, and there are no others. acquire: pairs with release(), because the caller goes
  /// on with what the other threads have read and written.
  [[nodiscard]] bool is_only(std::uint32_t n = 1) const noexcept {
    return value_.load(std::memory_order_acquire) == n;
  }
  /// False: the caller has the only reference, and keeps it.
  [[nodiscard]] bool release_unless_last() noexcept {
    // acquire: pairs with release(), because the caller goes on with what the other threads have written.
    std::uint32_t n = value_.load(std::memory_order_acquire);
    while (n != 1)
      if (value_.compare_exchange_weak(n, n - 1, std::memory_order_release, std::memory_order_acquire))
        return true; // release: pairs with release() and with itself, because the last one destroys the
                     // object
    return false;
  }
};

/// Which of several was the first.
template<class Policy, class N>
class basic_first {
  typename Policy::template atomic<N> value_{none};

public:
  static constexpr N none = static_cast<N>(~N{0});

  /// True for one caller.
  [[nodiscard]] bool claim(N index) noexcept {
    N expected = none;
    // acq_rel: pairs with is_claimed_now().
    return value_.compare_exchange_strong(expected, index, std::memory_order_acq_rel,
                                          std::memory_order_relaxed);
  }
  /// relaxed: what orders the caller behind the claim is its own business.
  [[nodiscard]] N get() const noexcept { return value_.load(std::memory_order_relaxed); }
  /// For a caller that has just put something where the thread that has claimed looks next: either that
  /// thread finds it, or this says true, and the caller sees what came before the claim. A read-modify-write
  /// with acq_rel, therefore: it comes before the claim or reads it.
  [[nodiscard]] bool is_claimed_now() noexcept {
    return value_.fetch_add(0, std::memory_order_acq_rel) != none;
  }
};

/// A value that stands for what was written before it: a pointer to an object, a number of objects. Its
/// initial value T{} stands for nothing.
template<class Policy, class T>
class basic_published {
  typename Policy::template atomic<T> value_{};

public:
  constexpr basic_published() noexcept = default;
  constexpr explicit basic_published(T v) noexcept
      : value_(v) {}

  /// acquire: pairs with the functions that publish, because what the value stands for is read next.
  [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_acquire); }
  /// By one thread at a time.
  void publish(T v) noexcept { value_.store(v, std::memory_order_release); }
  /// By any thread: the next number.
  void advance() noexcept { value_.fetch_add(1, std::memory_order_release); }
  /// For the thread that publishes, or has the lock under which the value is published.
  [[nodiscard]] T own() const noexcept { return value_.load(std::memory_order_relaxed); }
  /// By any thread: publishes it unless another thread was faster. Returns what is published now.
  [[nodiscard]] T try_publish(T v) noexcept {
    T found{};
    // release pairs with get(); acquire with another thread's call, because what it has published is used
    // next.
    return value_.compare_exchange_strong(found, v, std::memory_order_release, std::memory_order_acquire)
               ? v
               : found;
  }
};

/// A value by which a thread announces something, before it reads what other threads announce to it: of two
/// threads that do so with two variables, one at least sees the other. The use names the two.
template<class Policy, class T>
class basic_announced {
  typename Policy::template atomic<T> value_{};

public:
  constexpr basic_announced() noexcept = default;

  // seq_cst, all: it is the one order in which the write of one variable stays before the read of the other.
  [[nodiscard]] T get() const noexcept { return value_.load(std::memory_order_seq_cst); }
  void set(T v) noexcept { value_.store(v, std::memory_order_seq_cst); }
  // These return the value before.
  T exchange(T v) noexcept { return value_.exchange(v, std::memory_order_seq_cst); }
  T add(T n) noexcept { return value_.fetch_add(n, std::memory_order_seq_cst); }
  T subtract(T n) noexcept { return value_.fetch_sub(n, std::memory_order_seq_cst); }
  /// For a thread that announces nothing, or has the lock under which the value changes.
  [[nodiscard]] T peek() const noexcept { return value_.load(std::memory_order_relaxed); }
};

/// A place for one object on its way to another thread.
template<class Policy, class T>
class basic_single_slot {
  typename Policy::template atomic<T*> value_{nullptr};

public:
  constexpr basic_single_slot() noexcept = default;

  /// Returns what was there before, which the caller takes with it. seq_cst: pairs with is_empty_now().
  [[nodiscard]] T* put(T* object) noexcept { return value_.exchange(object, std::memory_order_seq_cst); }
  /// Null: there is nothing. acquire: pairs with put(), because the object is used next.
  [[nodiscard]] T* take() noexcept {
    return is_empty() ? nullptr : value_.exchange(nullptr, std::memory_order_acquire);
  }
  /// A hint.
  [[nodiscard]] bool is_empty() const noexcept { return value_.load(std::memory_order_relaxed) == nullptr; }
  /// For a thread that has announced its sleep with a seq_cst access or fence. A thread that puts something
  /// in looks for sleepers next, so one of the two sees the other.
  [[nodiscard]] bool is_empty_now() const noexcept {
    return value_.load(std::memory_order_seq_cst) == nullptr;
  }
};

template<class T>
using relaxed = basic_relaxed<std_policy, T>;
using flag = basic_flag<std_policy>;
template<class N>
using countdown = basic_countdown<std_policy, N>;
using references = basic_references<std_policy>;
template<class N>
using first_of = basic_first<std_policy, N>;
template<class T>
using published = basic_published<std_policy, T>;
template<class T>
using announced = basic_announced<std_policy, T>;
template<class T>
using single_slot = basic_single_slot<std_policy, T>;

} // namespace rubato::detail
