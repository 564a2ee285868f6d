// The form in which a value goes through a channel: no code of its type runs under the channel's lock.
// docs/design/async-sync.md
#pragma once

#include "rubato/detail/memory/slab.hpp"

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Frees what make_box() has made.
struct box_deleter {
  template<class V>
  void operator()(V* v) const noexcept {
    if constexpr (fits_slab<V>) {
      std::destroy_at(v);
      deallocate(v, sizeof(V));
    } else {
      ::delete v;
    }
  }
};
/// Owns a value. Its moves are those of a pointer.
template<class V>
using box = std::unique_ptr<V, box_deleter>;

/// Throws std::bad_alloc, and what the value's constructor throws.
template<class V, class U>
[[nodiscard]] box<V> make_box(U&& from) {
  if constexpr (fits_slab<V>)
    return box<V>(make_in_slab<V>(std::forward<U>(from)));
  else
    return box<V>(::new V(std::forward<U>(from))); // the global operator, whatever V declares
}

/// False: moving a V and destroying it run no code, so a channel holds the V itself.
template<class V>
inline constexpr bool is_boxed =
    !(std::is_trivially_move_constructible_v<V> && std::is_trivially_destructible_v<V>);

/// What a channel holds for a V, which may be incomplete where the channel is declared.
template<class V>
struct channel_cell {
  using type = std::conditional_t<is_boxed<V>, box<std::remove_const_t<V>>, V>;
};
template<class V>
using channel_cell_t = typename channel_cell<V>::type;

/// The value of a send(). Held: V, or V&& for a value that the caller keeps unless it is accepted.
template<class V, class Held, bool = is_boxed<V>>
class outgoing_value {
  Held held_;

public:
  template<class U>
  explicit outgoing_value(U&& v)
      : held_(std::forward<U>(v)) {}

  /// For put(), which leaves it as it is unless it is accepted.
  [[nodiscard]] channel_cell_t<V>& cell() noexcept { return held_; }
  /// cell() has been called before.
  [[nodiscard]] channel_cell_t<V>& made_cell() noexcept { return held_; }
  /// For the sender, if the value was refused.
  static void give_back() noexcept {}
};

/// In a box of its own.
template<class V, class Held>
class outgoing_value<V, Held, true> {
  channel_cell_t<V> cell_;

public:
  explicit outgoing_value(V const& v)
      : cell_(make_box<std::remove_const_t<V>>(v)) {}

  [[nodiscard]] channel_cell_t<V>& cell() noexcept { return cell_; }
  [[nodiscard]] channel_cell_t<V>& made_cell() noexcept { return cell_; }
  static void give_back() noexcept {}
};

/// In its place until cell() is called, and back there if it was refused.
template<class V>
class outgoing_value<V, V&&, true> {
  V* place_;
  channel_cell_t<V> cell_;           ///< not empty: made, and not accepted
  outgoing_value* holder_ = nullptr; ///< the value in the same place, whose cell stands for both

public:
  explicit outgoing_value(V&& v) noexcept
      : place_(std::addressof(v)) {}
  outgoing_value(outgoing_value&& /*without a cell yet*/) noexcept = default;
  outgoing_value& operator=(outgoing_value&&) = delete;
  ~outgoing_value() {
    try {
      if (holder_ == nullptr) give_back();
    } catch (...) { // NOLINT(bugprone-empty-catch): a losing operation of a race has no result to throw it
    }
  }

  /// Two operations of one race that offer the same object have one cell. Both stay where they are.
  void share_cell_of(outgoing_value& earlier) noexcept {
    if (earlier.place_ == place_) holder_ = &earlier;
  }
  /// Throws std::bad_alloc, and exceptions of the value's move.
  [[nodiscard]] channel_cell_t<V>& cell() {
    if (holder_ != nullptr) return holder_->cell();
    if (cell_ == nullptr) cell_ = make_box<std::remove_const_t<V>>(static_cast<V&&>(*place_));
    return cell_;
  }
  /// Reads nothing of the cell: a receiver may be taking it.
  [[nodiscard]] channel_cell_t<V>& made_cell() noexcept {
    return holder_ != nullptr ? holder_->made_cell() : cell_;
  }
  /// Throws exceptions of the value's move assignment; then the value is lost.
  void give_back() {
    if (holder_ != nullptr) return holder_->give_back();
    auto const refused = std::move(cell_);
    if (refused == nullptr) return;
    if constexpr (std::is_move_assignable_v<V>) {
      *place_ = std::move(*refused);
    } else if constexpr (!std::is_const_v<V>) { // a const value was copied
      [&]() noexcept {                          // an exception would leave no value in its place
        std::destroy_at(place_);
        std::construct_at(place_, std::move(*refused));
      }();
    }
  }
};

/// For a parameter U&& that is a V.
template<class U, class V>
using outgoing_as = outgoing_value<V, std::conditional_t<std::is_lvalue_reference_v<U>, V, V&&>>;

/// The value that a receiver got. Throws exceptions of its move; then the value is lost.
template<class V>
[[nodiscard]] std::optional<V> received_value(std::optional<channel_cell_t<V>>&& cell) {
  if constexpr (is_boxed<V>) {
    if (!cell) return std::nullopt;
    auto const got = *std::move(cell);
    return std::optional<V>(std::in_place, std::move(*got));
  } else {
    return std::move(cell);
  }
}

} // namespace rubato::detail
