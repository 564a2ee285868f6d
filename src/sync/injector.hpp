// The queue through which work enters from outside: many producers, first in first out. docs/design/queues.md
//
// Source: D. Vyukov, "Intrusive MPSC node-based queue". Consumers take turns under a lock.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

/// Unbounded. push() is one exchange and two stores, from any thread; pop() needs the lock.
template<class Policy>
class RUBATO_CAPABILITY basic_injector {
public:
  using node = basic_queue_node<Policy>;

private:
  alignas(64) typename Policy::template atomic<node*> tail_{&stub_};
  alignas(64) basic_mutex<Policy> consumer_;
  node* head_ = &stub_; // guarded by consumer_
  node stub_;

public:
  basic_injector() noexcept = default;

  void push(node* n) noexcept { push_chain(n, n); }

  /// Appends a chain that is linked already, in one step: nothing comes in between.
  void push_chain(node* first, node* last) noexcept {
    last->next.store(nullptr, std::memory_order_relaxed);
    // seq_cst: the event of guarantee W. The pusher reads the sleepers afterwards; a sleeper announces
    // itself and then calls empty(). acq_rel among producers: the link below is written to a node that is
    // there.
    node* const previous = tail_.exchange(last, std::memory_order_seq_cst);
    RUBATO_ASSERT(previous != last, "a node was pushed that is in the queue", last);
    // release: pairs with the acquire in pop(), because the node was written before.
    previous->next.store(first, std::memory_order_release);
  }

  /// False from the moment a push has begun until the node is popped. Exact for a thread that has ordered
  /// itself after the push, even if the push is not finished.
  [[nodiscard]] bool empty() const noexcept {
    // seq_cst: see push_chain().
    return tail_.load(std::memory_order_seq_cst) == &stub_;
  }

  // The lock of the popping thread: to the analysis, the injector itself.
  [[nodiscard]] bool try_lock() noexcept RUBATO_TRY_ACQUIRE(true) RUBATO_NOT_ANALYSED {
    return consumer_.try_lock();
  }
  void lock() noexcept RUBATO_ACQUIRE() RUBATO_NOT_ANALYSED { consumer_.lock(); }
  void unlock() noexcept RUBATO_RELEASE() RUBATO_NOT_ANALYSED { consumer_.unlock(); }

  /// Under the lock: the oldest node, or null. Waits for a producer that is between its two steps.
  [[nodiscard]] node* pop() noexcept {
    node* head = head_;
    if (head == &stub_) {
      // The tail is read only if the link says that it may be the stub: producers change the tail at each
      // push, so every look at it costs both sides a cache miss. relaxed: linked_after() reads the link
      // again.
      if (head->next.load(std::memory_order_relaxed) == nullptr && empty()) return nullptr;
      head_ = head = linked_after(head);
    }
    node* next = head->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      // The last node. The stub takes its place, but only if no push has come since: otherwise the queue
      // would look empty with a node in it. release: pairs with a producer's exchange, because it will link
      // to the stub. acquire on failure: a node that is there now is linked behind the head, or about to be.
      stub_.next.store(nullptr, std::memory_order_relaxed);
      node* expected = head;
      if (tail_.compare_exchange_strong(expected, &stub_, std::memory_order_seq_cst,
                                        std::memory_order_acquire)) {
        head_ = &stub_;
        return head;
      }
      // A producer pushes at this moment. Close behind it, both threads would wait for the same cache lines
      // at each node. So the consumer falls back: about a microsecond.
      for (unsigned i = 0; i != Policy::spins / 4; ++i) Policy::pause();
      next = linked_after(head);
    }
    head_ = next;
    return head;
  }

  /// Under the lock: takes all nodes out as a chain, and returns the last one; null: there is none. Producers
  /// may not have written all links yet. `see(first)` is called before they leave.
  template<class See>
  [[nodiscard]] node* take_all(See see) noexcept {
    node* head = head_;
    if (head == &stub_) {
      if (empty()) return nullptr;
      head = linked_after(head);
    }
    see(head);
    stub_.next.store(nullptr, std::memory_order_relaxed);
    // release: pairs with empty() and with a producer's exchange, because the first sees what see() did, and
    // the second will link to the stub. acquire: pairs with push_chain(), because the caller may link the
    // last node before it has come to it.
    node* const last = tail_.exchange(&stub_, std::memory_order_acq_rel);
    RUBATO_ASSERT(last != &stub_, "the nodes were taken out that another thread has taken", head);
    head_ = &stub_;
    return last;
  }

  /// The node behind `n`. Waits for a producer that is between its two steps.
  [[nodiscard]] static node* linked_after(node* n) noexcept {
    node* next = nullptr;
    // acquire: pairs with the release in push_chain().
    while ((next = n->next.load(std::memory_order_acquire)) == nullptr)
      // relaxed: the load above acquires.
      wait_briefly<Policy>([n] { return n->next.load(std::memory_order_relaxed) != nullptr; });
    return next;
  }
};

using injector = basic_injector<std_policy>;

} // namespace rubato::detail
