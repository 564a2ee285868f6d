// What an asio_context waits for: its handlers in the pool, and the executors that track work.
#pragma once

#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/sched/wait/await.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/task.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace rubato::detail {

/// One word has both counts and the marks of the thread that waits, because a thread that subtracts the last
/// one may not touch this object again unless the waiter is still there.
class asio_work {
  static constexpr std::uint64_t handler = 1, handlers = 0xffff'ffff;
  static constexpr std::uint64_t executor = std::uint64_t{1} << 32;
  static constexpr std::uint64_t has_aside = std::uint64_t{1} << 60;
  static constexpr std::uint64_t waits_for_handlers = std::uint64_t{1} << 61;
  static constexpr std::uint64_t waits_for_all = std::uint64_t{1} << 62;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 63;
  static constexpr std::uint64_t counts = has_aside - 1;

  std::atomic<std::uint64_t> word_{0};
  promise_state<void>* waiter_ = nullptr; ///< written before a mark of a wait is set
  mutex mutex_;
  task* aside_ RUBATO_GUARDED_BY(mutex_) = nullptr;

  /// Subtracts n, sets `mark`, and ends a wait whose condition holds from now on.
  void subtract(std::uint64_t n, std::uint64_t mark = 0) noexcept {
    std::uint64_t before = word_.load(std::memory_order_relaxed);
    std::uint64_t ends = 0;
    std::uint64_t after = 0;
    do {
      after = (before - n) | mark;
      ends = 0;
      if ((after & counts) == 0 || (after & has_aside) != 0) ends |= after & waits_for_all;
      if ((after & handlers) == 0) ends |= after & waits_for_handlers;
      after &= ~ends;
      // acq_rel: pairs with itself and with wait(), because the waiter destroys what the others have used,
      // and because waiter_ is read next. One step ends the count and the wait: this is the last access.
    } while (
        !word_.compare_exchange_weak(before, after, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (ends == 0) return;
    waiter_->slot().emplace();
    waiter_->complete();
  }

  /// Waits until `counted` is 0, or, if it waits for all, a handler is put aside. By one thread at a time.
  /// Drives a pool without workers.
  void wait(std::uint64_t counted, std::uint64_t mark, pool_core& core) {
    auto* const made = make_in_slab<promise_state<void>>(); // with a reference for each side
    state_ref const ended(made);
    made->set_home(&core);
    waiter_ = made;
    // acquire: pairs with subtract(), because the caller destroys what the others have used.
    std::uint64_t before = word_.load(std::memory_order_acquire);
    do {
      if ((before & counted) == 0 || (mark == waits_for_all && (before & has_aside) != 0)) {
        made->release();
        return;
      }
      // release: pairs with subtract(), because the other side reads waiter_.
    } while (!word_.compare_exchange_weak(before, before | mark, std::memory_order_release,
                                          std::memory_order_acquire));
    await_end(*ended.get(), "handlers of Asio");
  }

public:
  asio_work() noexcept = default;
  asio_work(asio_work const&) = delete;
  asio_work& operator=(asio_work const&) = delete;
  ~asio_work() = default;

  // relaxed, both: the caller has work already, or uses the context, which waits for nothing meanwhile.
  void hold() noexcept { word_.fetch_add(executor, std::memory_order_relaxed); }
  void release() noexcept { subtract(executor); }
  /// A handler is about to be queued. False: the context ends, and the handler is put aside.
  [[nodiscard]] bool begin_handler() noexcept {
    return (word_.fetch_add(handler, std::memory_order_relaxed) & closed) == 0;
  }
  void end_handler() noexcept { subtract(handler); }
  /// A hint, which stays true. A handler that begins beside close() is waited for.
  [[nodiscard]] bool is_closed() const noexcept {
    return (word_.load(std::memory_order_relaxed) & closed) != 0;
  }

  /// Keeps a handler that will not run until it can be destroyed on a stack that is in no code of Asio: that
  /// of join() or of the destructor. `t.exec` destroys it.
  void put_aside(task& t) noexcept {
    {
      lock_guard const lock(mutex_);
      t.next.store(aside_, std::memory_order_relaxed); // the lock orders it
      aside_ = &t;
    }
    subtract(handler, has_aside);
  }

  /// Waits until no handler is left and no executor tracks work. Destroys what was put aside.
  void join(pool_core& core) {
    do {
      destroy_aside();
      wait(counts, waits_for_all, core);
      // acquire: pairs with subtract(), because the caller goes on with what the handlers have written.
    } while ((word_.load(std::memory_order_acquire) & counts) != 0);
    destroy_aside();
  }
  /// From now on no handler begins. Waits for those that run; those that are queued are put aside.
  void close(pool_core& core) {
    // acq_rel: as in subtract(). A handler is counted before, or sees the mark.
    word_.fetch_or(closed, std::memory_order_acq_rel);
    wait(handlers, waits_for_handlers, core);
  }
  /// Also what is put aside meanwhile.
  void destroy_aside() noexcept {
    while (task* next = [this] {
      // acquire: pairs with put_aside(), because what was put aside before the mark is taken next.
      word_.fetch_and(~has_aside, std::memory_order_acquire);
      lock_guard const lock(mutex_);
      return std::exchange(aside_, nullptr);
    }()) {
      while (next != nullptr) {
        task& t = *next;
        // relaxed: the lock has ordered it behind the thread that put the handler aside.
        next = static_cast<task*>(t.next.load(std::memory_order_relaxed));
        t.exec(t, nullptr);
      }
    }
  }
};

} // namespace rubato::detail
