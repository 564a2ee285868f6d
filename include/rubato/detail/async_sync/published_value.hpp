// A value that several receivers read: no code of its type runs under a lock. docs/design/async-sync.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/counted_ref.hpp"
#include "rubato/detail/memory/slab.hpp"

#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Counts the references to it.
template<class V>
class published_value {
  references holders_{1};

public:
  V value; ///< only the owner of the only reference changes it

  template<class U>
  explicit published_value(std::in_place_t /*tag*/, U&& from)
      : value(std::forward<U>(from)) {}

  void hold() noexcept { holders_.hold(); }
  void release() noexcept {
    if (!holders_.release()) return;
    if constexpr (fits_slab<published_value>)
      free_in_slab(this);
    else
      delete this;
  }
  /// True: the caller has the only reference.
  [[nodiscard]] bool is_only() const noexcept { return holders_.is_only(); }
};
template<class V>
using published_ref = counted_ref<published_value<V>>;

/// Throws std::bad_alloc, and what the value's constructor throws.
template<class V, class U>
[[nodiscard]] published_ref<V> publish_value(U&& from) {
  if constexpr (fits_slab<published_value<V>>)
    return published_ref<V>(make_in_slab<published_value<V>>(std::in_place, std::forward<U>(from)));
  else
    return published_ref<V>(new published_value<V>(std::in_place, std::forward<U>(from)));
}

/// For a receiver that reads nothing of it afterwards: moves the value if no other party can read it.
template<class V>
[[nodiscard]] V copy_or_move_out(published_ref<V> from) {
  if constexpr (std::is_move_constructible_v<V>)
    if (from->is_only()) return std::move(from->value);
  return std::as_const(from->value);
}

} // namespace rubato::detail
