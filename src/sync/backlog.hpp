// The front part of a pool's injector, which its only worker has for itself: it pushes and pops there without
// a read-modify-write. docs/design/queues.md
//
// Invariant: every node here is older than every node of the injector. One thread at a time has access: the
// owner between enter() and leave(), as long as the access is not revoked; else the thread that holds the
// injector's lock.
//
// The race: the owner enters while another thread revokes. The owner stores inside_ and then loads revoked_;
// the other thread stores revoked_ and then loads inside_. heavy_barrier() stands in for the fence that the
// owner saves, so at least one of them sees the other's store. The owner that sees it takes the lock instead.
// The access stays revoked until the owner, under the lock, takes it back.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/base/policy.hpp"
#include "sync/injector.hpp"

namespace rubato::detail {

/// Unbounded, first in, first out. The owner is one thread at a time, which hands the role over.
template<class Policy>
class basic_backlog {
public:
  using injector = basic_injector<Policy>;
  using node = typename injector::node;

private:
  // By the thread that has access. Any thread may ask whether first_ is null.
  alignas(64) typename Policy::template atomic<node*> first_{nullptr};
  typename Policy::template plain<node*> last_{nullptr};
  typename Policy::template atomic<bool> inside_{false};  // by the owner
  typename Policy::template atomic<bool> revoked_{false}; // under the lock
  bool const asymmetric_; // heavy_barrier() works; else the owner executes a fence

  [[nodiscard]] bool enter() noexcept {
    // relaxed: only the owner writes it.
    RUBATO_ASSERT(!inside_.load(std::memory_order_relaxed), "the owner is in the backlog already", this);
    inside_.store(true, std::memory_order_relaxed);
    // Pairs with heavy_barrier() in revoke(): see the race above.
    if (asymmetric_)
      Policy::light_barrier();
    else
      Policy::fence();
    // relaxed: only the owner stores false.
    if (!revoked_.load(std::memory_order_relaxed)) return true;
    leave();
    return false;
  }
  // release: pairs with revoke(), because the other thread reads what the owner has written, at this access
  // or before.
  void leave() noexcept { inside_.store(false, std::memory_order_release); }

  // With access
  void append(node* first, node* last) noexcept {
    RUBATO_ASSERT(last_.get() != nullptr && last_.get() != last, "a node is in the backlog already", last);
    last_.get()->next.store(first, std::memory_order_relaxed);
    last_.set(last);
  }
  [[nodiscard]] node* take_first() noexcept {
    node* const n = first_.load(std::memory_order_relaxed);
    if (n == nullptr) return nullptr;
    RUBATO_ASSERT(last_.get() != nullptr, "the backlog has a first node and no last one", n);
    first_.store(n == last_.get() ? nullptr : injector::linked_after(n), std::memory_order_relaxed);
    return n;
  }

public:
  explicit basic_backlog(bool asymmetric) noexcept
      : asymmetric_(asymmetric) {}

  /// For any thread. relaxed: a node moves here before it leaves the injector, so a thread that asks the
  /// injector first sees it; and while the backlog is not empty, no store makes it look so.
  [[nodiscard]] bool empty() const noexcept { return first_.load(std::memory_order_relaxed) == nullptr; }

  // The owner

  /// Appends the node. False: it is empty, or the access is revoked. The node is no event: the backlog is not
  /// empty before, so no thread that looks at the queues goes to sleep.
  [[nodiscard]] bool push(node* n) noexcept {
    if (!enter()) return false;
    bool const any = !empty();
    if (any) {
      n->next.store(nullptr, std::memory_order_relaxed);
      append(n, n);
    }
    leave();
    return any;
  }
  /// The oldest. Null: it is empty, or the access is revoked.
  [[nodiscard]] node* pop() noexcept {
    if (!enter()) return nullptr;
    node* const n = take_first();
    leave();
    return n;
  }
  /// A hint: the node that pop() returns next, or null.
  [[nodiscard]] node* front() const noexcept { return first_.load(std::memory_order_relaxed); }
  /// Under the lock.
  void take_back() noexcept { revoked_.store(false, std::memory_order_relaxed); }

  // Under the injector's lock

  /// By another thread than the owner: from now on the access needs the lock.
  void revoke() noexcept {
    if (revoked_.load(std::memory_order_relaxed)) return;
    revoked_.store(true, std::memory_order_relaxed);
    Policy::heavy_barrier(); // pairs with enter()
    // acquire: pairs with leave().
    wait_briefly<Policy>([this] { return !inside_.load(std::memory_order_acquire); });
  }
  /// After revoke() or take_back(): moves all nodes of the injector here. Each stays visible in between.
  void absorb(injector& from) noexcept {
    bool const any = !empty();
    node* first = nullptr;
    node* const last = from.take_all([&](node* f) {
      first = f;
      // Before the nodes leave the injector: see empty().
      if (!any) first_.store(f, std::memory_order_relaxed);
    });
    if (last == nullptr) return;
    RUBATO_ASSERT(first != nullptr, "nodes have left the injector before they were seen here", last);
    if (any)
      append(first, last);
    else
      last_.set(last);
  }
  /// The same. False: it is empty.
  [[nodiscard]] bool push_locked(node* n) noexcept {
    if (empty()) return false;
    n->next.store(nullptr, std::memory_order_relaxed);
    append(n, n);
    return true;
  }
  [[nodiscard]] node* pop_locked() noexcept { return take_first(); }
};

using backlog = basic_backlog<std_policy>;

} // namespace rubato::detail
