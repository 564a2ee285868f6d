// One value per piece of a loop, in the order of the pieces.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/fork/loop.hpp"

#include <cstdint>
#include <new>
#include <utility>

namespace rubato::detail {

/// The base of a loop's body whose pieces have a value each. The cells are linked in the order of the range:
/// the cell of a split-off piece comes right behind that of its origin.
template<class T>
class pieces {
public:
  struct cell {
    T value{};
    cell* next = nullptr; // changed under the lock of the chain that holds this cell's piece
  };
  loop_root root;

  explicit pieces(thread_context& me)
      : root(me) {}
  pieces(pieces const&) = delete;
  ~pieces() {
    for (cell* c = head_.next; c != nullptr;) delete std::exchange(c, c->next);
  }

  /// The first cell for each 2^32 elements, when all earlier pieces have ended.
  cell* first_cell(std::uint64_t base) {
    if (base == 0) return &head_;
    return last_first_ = insert_after(last_of_all(), new cell);
  }
  cell* next_cell(cell* c) noexcept {
    cell* const made = new (std::nothrow) cell;
    return made != nullptr ? insert_after(c, made) : nullptr;
  }
  void drop_cell(cell* c, cell* made) noexcept {
    c->next = made->next;
    delete made;
  }
  template<class F>
  void for_each_value(F f) {
    for (cell* c = &head_; c != nullptr; c = c->next) f(c->value);
  }

private:
  cell head_;
  cell* last_first_ = &head_;

  static cell* insert_after(cell* c, cell* made) noexcept {
    made->next = c->next;
    c->next = made;
    return made;
  }
  cell* last_of_all() noexcept {
    cell* c = last_first_;
    while (c->next != nullptr) c = c->next;
    return c;
  }
};

/// For an algorithm that is about to run without a loop: as a loop does before it begins.
inline void throw_if_stopped() {
  if (stop_around(*current).stopped()) throw cancelled();
}

} // namespace rubato::detail
