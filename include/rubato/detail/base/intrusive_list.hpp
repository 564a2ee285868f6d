// Objects that contain their links. A doubly linked list of them allocates nothing, and any object can be
// erased in O(1). The owner of the list guards it and the links.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

/// The link of an entry in the lock-free queues.
template<class Policy>
struct basic_queue_node {
  typename Policy::template atomic<basic_queue_node*> next{nullptr};
};

using queue_node = basic_queue_node<std_policy>;

template<class T>
class intrusive_list;

/// The base of an object that can be in one list of T at a time.
template<class T>
class list_node {
  friend class intrusive_list<T>;
  friend T;
  T* next_ = nullptr;
  T* previous_ = nullptr;
  constexpr list_node() noexcept = default;
};

/// T derives from list_node<T>. The list owns nothing. All operations but for_each() are O(1).
template<class T>
class intrusive_list {
  using node = list_node<T>;
  T* first_ = nullptr;
  T* last_ = nullptr;

  [[nodiscard]] static constexpr node& links(T& t) noexcept { return t; }

public:
  constexpr intrusive_list() noexcept = default;
  intrusive_list(intrusive_list const&) = delete;
  intrusive_list& operator=(intrusive_list const&) = delete;
  ~intrusive_list() = default;

  [[nodiscard]] constexpr bool empty() const noexcept { return first_ == nullptr; }
  /// The first object; null: the list is empty.
  [[nodiscard]] constexpr T* front() const noexcept { return first_; }
  /// The next object; null: there is none.
  [[nodiscard]] static constexpr T* after(T& t) noexcept { return links(t).next_; }

  constexpr void push_front(T& t) noexcept {
    links(t).next_ = first_;
    links(t).previous_ = nullptr;
    (first_ != nullptr ? links(*first_).previous_ : last_) = &t;
    first_ = &t;
  }
  constexpr void push_back(T& t) noexcept {
    links(t).next_ = nullptr;
    links(t).previous_ = last_;
    (last_ != nullptr ? links(*last_).next_ : first_) = &t;
    last_ = &t;
  }
  /// Takes out an object of this list. Its link to the next one stays, for a walk that erases.
  constexpr void erase(T& t) noexcept {
    T* const next = links(t).next_;
    T* const previous = links(t).previous_;
    RUBATO_ASSERT_STEP((previous != nullptr ? links(*previous).next_ : first_) == &t &&
                           (next != nullptr ? links(*next).previous_ : last_) == &t,
                       "an object leaves a list that it is not in", &t, previous, next);
    (previous != nullptr ? links(*previous).next_ : first_) = next;
    (next != nullptr ? links(*next).previous_ : last_) = previous;
  }
  /// Takes out the first object; null: the list is empty.
  constexpr T* pop_front() noexcept {
    T* const t = first_;
    if (t != nullptr) erase(*t);
    return t;
  }
  /// Empties the list without touching the objects.
  constexpr void clear() noexcept { first_ = last_ = nullptr; }
  /// Calls f(T&) for each object, from the first on; f may erase the object that it gets.
  template<class F>
  constexpr void for_each(F f) const {
    for (T* t = first_; t != nullptr;) {
      T* const next = links(*t).next_;
      f(*t);
      t = next;
    }
  }
};

} // namespace rubato::detail
