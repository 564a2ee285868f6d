// Who waits, first come, first served; anybody can be taken out. docs/design/async-sync.md
#pragma once

namespace rubato::detail {

/// Says what was done wrong and terminates: there is nobody who could be told.
[[noreturn]] void misuse(char const* what) noexcept;

/// A place in one list at a time. Belongs to whoever holds that list's lock; after it was taken out, to
/// whoever took it.
class wait_node {
  friend class wait_list;
  friend class wait_chain;
  enum class place : unsigned char { nowhere, listed, urgent, taken, called };
  wait_node* next_ = nullptr;
  wait_node* previous_ = nullptr;
  place place_ = place::nowhere;

public:
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
class wait_list {
  wait_node* first_ = nullptr;
  wait_node* last_ = nullptr;

  void unlink(wait_node& n, wait_node::place to) noexcept {
    (n.previous_ != nullptr ? n.previous_->next_ : first_) = n.next_;
    (n.next_ != nullptr ? n.next_->previous_ : last_) = n.previous_;
    n.place_ = to;
  }

public:
  constexpr wait_list() noexcept = default;
  wait_list(wait_list const&) = delete;
  wait_list& operator=(wait_list const&) = delete;
  ~wait_list() {
    if (first_ != nullptr)
      misuse("a lock, semaphore, latch, barrier or channel was destroyed while a coroutine waited for it");
  }

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] wait_node* front() const noexcept { return first_; }
  void push(wait_node& n) noexcept {
    n.next_ = nullptr;
    n.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &n;
    last_ = &n;
    n.place_ = wait_node::place::listed;
  }
  /// To the head of the list: it was called in vain.
  void push_urgent(wait_node& n) noexcept {
    n.next_ = first_;
    n.previous_ = nullptr;
    (first_ != nullptr ? first_->previous_ : last_) = &n;
    first_ = &n;
    n.place_ = wait_node::place::urgent;
  }
  /// The one that has waited longest; null: nobody waits.
  wait_node* pop() noexcept {
    wait_node* const n = first_;
    if (n != nullptr) unlink(*n, wait_node::place::taken);
    return n;
  }
  /// The same, to try again. Somebody waits.
  wait_node& call() noexcept {
    wait_node& n = *first_;
    unlink(n, wait_node::place::called);
    return n;
  }
  /// False: it is not in the list, or not any more.
  [[nodiscard]] bool remove(wait_node& n) noexcept {
    if (n.place_ != wait_node::place::listed && n.place_ != wait_node::place::urgent) return false;
    unlink(n, wait_node::place::nowhere);
    return true;
  }
};

/// Some that were taken out, in the order in which they came.
class wait_chain {
  wait_node* first_ = nullptr;
  wait_node* last_ = nullptr;

public:
  constexpr wait_chain() noexcept = default;
  wait_chain(wait_chain const&) = delete;
  wait_chain& operator=(wait_chain const&) = delete;
  ~wait_chain() = default;

  void push(wait_node& n) noexcept {
    n.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &n;
    last_ = &n;
  }
  [[nodiscard]] wait_node* pop() noexcept {
    wait_node* const n = first_;
    if (n == nullptr) return nullptr;
    first_ = n->next_;
    if (first_ == nullptr) last_ = nullptr;
    return n;
  }
  /// Everybody.
  void take(wait_list& from) noexcept {
    while (wait_node* const n = from.pop()) push(*n);
  }
};

} // namespace rubato::detail
