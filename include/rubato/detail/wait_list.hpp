// Who waits, first come, first served; anybody can be taken out. docs/design/async-sync.md
#pragma once

#include "rubato/detail/race.hpp"

namespace rubato::detail {

/// Says what was done wrong and terminates: there is nobody who could be told.
[[noreturn]] void misuse(char const* what) noexcept;

template<class Policy>
class basic_wait_list;
template<class Policy>
class basic_wait_chain;

/// A place in one list at a time. Belongs to whoever holds that list's lock; after it was taken out, to
/// whoever took it.
template<class Policy>
class basic_wait_node {
  friend class basic_wait_list<Policy>;
  friend class basic_wait_chain<Policy>;
  enum class place : unsigned char { nowhere, listed, urgent, taken, called, lost };
  basic_wait_node* next_ = nullptr;
  basic_wait_node* previous_ = nullptr;
  basic_race<Policy>* race_ = nullptr;
  std::uint32_t index_ = 0; ///< in the race
  place place_ = place::nowhere;

public:
  /// By its owner, before it waits: it is a member of that race.
  void enter(basic_race<Policy>& r, std::uint32_t index) noexcept {
    race_ = &r;
    index_ = index;
  }
  /// Its race is null: it is in none.
  [[nodiscard]] basic_race_entry<Policy> entry() const noexcept { return {race_, index_}; }

  /// It was taken out by pop(): it has got what it waited for.
  [[nodiscard]] bool was_taken() const noexcept { return place_ == place::taken; }
  /// It was taken out by call(): it may try to get it.
  [[nodiscard]] bool was_called() const noexcept { return place_ == place::called; }
  /// It is in the list, has been called, and found nothing.
  [[nodiscard]] bool is_urgent() const noexcept { return place_ == place::urgent; }
  /// It has got it.
  void take() noexcept { place_ = place::taken; }
  /// It has seen to that.
  void settle() noexcept { place_ = place::nowhere; }
};

/// Guarded by its owner's lock.
template<class Policy>
class basic_wait_list {
  using node = basic_wait_node<Policy>;
  using place = typename node::place;
  node* first_ = nullptr;
  node* last_ = nullptr;

  void unlink(node& n, place to) noexcept {
    (n.previous_ != nullptr ? n.previous_->next_ : first_) = n.next_;
    (n.next_ != nullptr ? n.next_->previous_ : last_) = n.previous_;
    n.place_ = to;
  }

public:
  constexpr basic_wait_list() noexcept = default;
  basic_wait_list(basic_wait_list const&) = delete;
  basic_wait_list& operator=(basic_wait_list const&) = delete;
  ~basic_wait_list() {
    if (first_ != nullptr)
      misuse("a lock, semaphore, latch, barrier or channel was destroyed while a coroutine waited for it");
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] node* front() const noexcept { return first_; }
  [[nodiscard]] static node* after(node const& n) noexcept { return n.next_; }
  void push(node& n) noexcept {
    n.next_ = nullptr;
    n.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &n;
    last_ = &n;
    n.place_ = place::listed;
  }
  /// To the head of the list: it was called in vain.
  void push_urgent(node& n) noexcept {
    n.next_ = first_;
    n.previous_ = nullptr;
    (first_ != nullptr ? first_->previous_ : last_) = &n;
    first_ = &n;
    n.place_ = place::urgent;
  }
  /// The one that has waited longest; null: nobody waits.
  node* pop() noexcept {
    node* const n = first_;
    if (n != nullptr) unlink(*n, place::taken);
    return n;
  }
  /// The same with one that is in the list.
  void take(node& n) noexcept { unlink(n, place::taken); }
  /// Its race was decided for another: takes it out, and returns the one behind it.
  node* lose(node& n) noexcept {
    node* const next = n.next_;
    unlink(n, place::lost);
    return next;
  }
  /// The same as pop(), to try again, while there is a waiter.
  node& call() noexcept {
    node& n = *first_;
    unlink(n, place::called);
    return n;
  }
  /// False: it is not in the list, or not any more. One that has lost its race counts as in it.
  [[nodiscard]] bool remove(node& n) noexcept {
    if (n.place_ == place::lost) {
      n.place_ = place::nowhere;
      return true;
    }
    if (n.place_ != place::listed && n.place_ != place::urgent) return false;
    unlink(n, place::nowhere);
    return true;
  }
};

/// Some that were taken out, in the order in which they came.
template<class Policy>
class basic_wait_chain {
  using node = basic_wait_node<Policy>;
  node* first_ = nullptr;
  node* last_ = nullptr;

public:
  constexpr basic_wait_chain() noexcept = default;
  basic_wait_chain(basic_wait_chain const&) = delete;
  basic_wait_chain& operator=(basic_wait_chain const&) = delete;
  ~basic_wait_chain() = default;

  void push(node& n) noexcept {
    n.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &n;
    last_ = &n;
  }
  [[nodiscard]] node* pop() noexcept {
    node* const n = first_;
    if (n == nullptr) return nullptr;
    first_ = n->next_;
    if (first_ == nullptr) last_ = nullptr;
    return n;
  }
  /// Everybody. In no race.
  void take(basic_wait_list<Policy>& from) noexcept {
    while (node* const n = from.pop()) push(*n);
  }
  /// Everybody whose race, if there is one, is open; it is decided for that one.
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
