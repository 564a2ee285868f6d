// Waiters, first come, first served; any of them can be removed. docs/design/async-sync.md
//
// Places of a node: nowhere -> listed; listed -> taken (it has got what it waits for), called (it may try to
// get it), lost (another operation has won its race) or nowhere (removed); called -> taken, or urgent (back
// at the head of the list); urgent -> as listed. Invariant: a node is in the list exactly while it is listed
// or urgent. The lock of the object that owns the list guards all of this.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/sync/race.hpp"

namespace rubato::detail {

template<class Policy>
class basic_wait_list;
template<class Policy>
class basic_wait_chain;

// The place of a node. Not in the class: g++ warns of enumerators in templates that shadow a program's global
// names.
enum class wait_place : unsigned char { nowhere, listed, urgent, taken, called, lost };

/// A node of one list at a time. Only the thread that holds that list's lock may touch it; after it was taken
/// out, only the thread that took it out.
template<class Policy>
class basic_wait_node : list_node<basic_wait_node<Policy>> {
  friend class intrusive_list<basic_wait_node>;
  friend class basic_wait_list<Policy>;
  using place = wait_place;
  basic_race<Policy>* race_ = nullptr;
  std::uint32_t index_ = 0; ///< in the race
  place place_ = place::nowhere;

public:
  /// For its owner, before it waits: the node takes part in that race.
  void enter(basic_race<Policy>& r, std::uint32_t index) noexcept {
    race_ = &r;
    index_ = index;
  }
  /// Its race is null if it is in none.
  [[nodiscard]] basic_race_entry<Policy> entry() const noexcept { return {race_, index_}; }

  /// pop() has taken it out: it has got what it waited for.
  [[nodiscard]] bool was_taken() const noexcept { return place_ == place::taken; }
  /// call() has taken it out: it may try to get what it waits for.
  [[nodiscard]] bool was_called() const noexcept { return place_ == place::called; }
  /// It is back in the list: it was called and found nothing.
  [[nodiscard]] bool is_urgent() const noexcept { return place_ == place::urgent; }
  /// It has got what it waited for.
  void take() noexcept {
    RUBATO_ASSERT_STEP(!is_linked(), "a waiter takes what it waits for and stays in its list", place_);
    place_ = place::taken;
  }
  /// It has handled its taking or its call.
  void settle() noexcept {
    RUBATO_ASSERT_STEP(!is_linked(), "a waiter goes on and stays in its list", place_);
    place_ = place::nowhere;
  }

private:
  [[nodiscard]] bool is_linked() const noexcept { return place_ == place::listed || place_ == place::urgent; }
};

/// The lock of the object that owns the list guards it.
template<class Policy>
class basic_wait_list {
  using node = basic_wait_node<Policy>;
  using place = typename node::place;
  intrusive_list<node> nodes_;

  void unlink(node& n, place to) noexcept {
    RUBATO_ASSERT_STEP(n.is_linked(), "a waiter leaves a list that it is not in", n.place_, to);
    nodes_.erase(n);
    n.place_ = to;
  }

public:
  constexpr basic_wait_list() noexcept = default;
  ~basic_wait_list() {
    if (!nodes_.empty())
      misuse("a lock, semaphore, latch, barrier or channel was destroyed while a coroutine waited for it");
  }

  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }
  [[nodiscard]] node* front() const noexcept { return nodes_.front(); }
  [[nodiscard]] static node* after(node& n) noexcept { return intrusive_list<node>::after(n); }
  void push(node& n) noexcept {
    RUBATO_ASSERT_STEP(n.place_ == place::nowhere, "a waiter enters a list and has not left the last one",
                       n.place_);
    nodes_.push_back(n);
    n.place_ = place::listed;
  }
  /// Puts a node that found nothing when called at the head of the list.
  void push_urgent(node& n) noexcept {
    RUBATO_ASSERT_STEP(n.place_ == place::called, "a waiter goes to the head of its list and was not called",
                       n.place_);
    nodes_.push_front(n);
    n.place_ = place::urgent;
  }
  /// Takes out the longest waiter; null: none waits.
  node* pop() noexcept {
    node* const n = nodes_.front();
    if (n != nullptr) unlink(*n, place::taken);
    return n;
  }
  /// Takes out this node, which is in the list.
  void take(node& n) noexcept { unlink(n, place::taken); }
  /// Takes out a node whose race another operation has won, and returns the next node.
  node* lose(node& n) noexcept {
    node* const next = after(n);
    unlink(n, place::lost);
    return next;
  }
  /// Takes out the longest waiter, which exists, to try again.
  node& call() noexcept {
    RUBATO_ASSERT_STEP(!nodes_.empty(), "a waiter is called and none is listed");
    node& n = *nodes_.front();
    unlink(n, place::called);
    return n;
  }
  /// False: it is not in the list. A node that has lost its race counts as in the list.
  [[nodiscard]] bool remove(node& n) noexcept {
    if (n.place_ == place::lost) {
      n.place_ = place::nowhere;
      return true;
    }
    if (!n.is_linked()) return false;
    unlink(n, place::nowhere);
    return true;
  }
};

/// Nodes that were taken out, in the order in which they came.
template<class Policy>
class basic_wait_chain {
  using node = basic_wait_node<Policy>;
  intrusive_list<node> nodes_;

public:
  constexpr basic_wait_chain() noexcept = default;

  void push(node& n) noexcept {
    RUBATO_ASSERT_STEP(n.was_taken() || n.was_called(),
                       "a waiter is woken that was not taken out of its list", &n);
    nodes_.push_back(n);
  }
  [[nodiscard]] node* pop() noexcept { return nodes_.pop_front(); }
  /// Takes all waiters, which are in no race.
  void take(basic_wait_list<Policy>& from) noexcept {
    while (node* const n = from.pop()) push(*n);
  }
  /// Takes all waiters that are in no race or in an open one, and decides that race for them.
  void claim_all(basic_wait_list<Policy>& from) noexcept {
    while (node* const n = from.front()) {
      basic_claim<Policy> c({}, n->entry());
      if (c.is_open()) {
        c.decide();
        from.take(*n);
        push(*n);
      } else {
        from.lose(*n);
      }
    }
  }
};

using wait_node = basic_wait_node<std_policy>;
using wait_list = basic_wait_list<std_policy>;
using wait_chain = basic_wait_chain<std_policy>;

} // namespace rubato::detail
