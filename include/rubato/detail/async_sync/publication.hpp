// What is published to any number of receivers, and the receivers that wait for news: the common part of a
// watch and a broadcast channel. docs/design/async-sync.md
//
// Invariant: a receiver is in the list only while it has seen all that was published, and the publication is
// not closed. The giver only tells a receiver that there is news; the receiver takes it when its coroutine
// goes on. So a wait that ends in another way has changed nothing.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/coro/waiter.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/sync/wait_list.hpp"

#include <cstdint>
#include <utility>

namespace rubato::detail {

class publication {
protected:
  references holders_{1}; ///< the publisher, and each receiver
  mutable mutex mutex_;
  std::uint64_t published_ RUBATO_GUARDED_BY(mutex_) = 0;
  bool closed_ RUBATO_GUARDED_BY(mutex_) = false;
  wait_list waiting_ RUBATO_GUARDED_BY(mutex_);

  publication() noexcept = default;
  ~publication() = default;
  [[nodiscard]] bool has_news(std::uint64_t seen) const noexcept RUBATO_REQUIRES(mutex_) {
    return published_ != seen || closed_;
  }
  /// One thing more was published. `all` was declared before the lock.
  void tell(woken& all) noexcept RUBATO_REQUIRES(mutex_) {
    ++published_;
    all.claim_all(waiting_);
  }

public:
  publication(publication const&) = delete;
  publication& operator=(publication const&) = delete;

  void hold() noexcept { holders_.hold(); }
  void close() noexcept {
    woken all;
    lock_guard const guard(mutex_);
    closed_ = true;
    all.claim_all(waiting_);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    lock_guard const guard(mutex_);
    return closed_;
  }

  // For the wait of a receiver that has seen so much.
  [[nodiscard]] bool need_not_wait(std::uint64_t seen) const noexcept {
    lock_guard const guard(mutex_);
    return has_news(seen);
  }
  /// False: there is news, or w has lost its race.
  [[nodiscard]] bool add(waiter& w, std::uint64_t seen) noexcept {
    lock_guard const guard(mutex_);
    if (has_news(seen)) {
      claim c(w.entry());
      if (c.is_open()) c.decide();
      return false;
    }
    waiting_.push(w);
    return true;
  }
  [[nodiscard]] bool remove(waiter& w) noexcept {
    lock_guard const guard(mutex_);
    return waiting_.remove(w);
  }
};

/// A coroutine's wait for news. Receiver: knows its source() and what it has seen(), and take_news() yields
/// the result; `false`: the wait was stopped, and takes nothing.
template<class Receiver>
class [[nodiscard("rubato: a receiver gets no news before it is awaited, with co_await")]] news_awaiter final
    : public waiter {
  Receiver* receiver_;

  [[nodiscard]] bool insert() noexcept override { return receiver_->source().add(*this, receiver_->seen()); }
  [[nodiscard]] bool remove() noexcept override { return receiver_->source().remove(*this); }

public:
  using wait_operation::was_stopped;
  static constexpr bool is_one_step = true;

  explicit news_awaiter(Receiver& r) noexcept
      : receiver_(&r) {}
  news_awaiter(news_awaiter&& other) noexcept
      : receiver_(other.receiver_) {}
  ~news_awaiter() { retire(); }

  [[nodiscard]] bool await_ready() const noexcept {
    return receiver_->source().need_not_wait(receiver_->seen());
  }
  [[nodiscard]] auto await_resume() { return receiver_->take_news(!retire()); }
};

/// The reference of a publisher or a receiver. Empty: it was moved from.
template<class Core>
[[nodiscard]] Core& present(counted_ref<Core> const& c) noexcept {
  if (!c) [[unlikely]]
    misuse("a receiver is used that was moved from");
  return *c.get();
}

} // namespace rubato::detail
