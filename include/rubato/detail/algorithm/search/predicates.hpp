// A predicate with its projection, as the algorithms call it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace rubato::detail {

/// Copying it copies two pointers: both are called where the caller has them.
template<class Pred, class Proj>
class test_of {
  Pred const* pred_;
  Proj const* proj_;

public:
  test_of(Pred const& pred, Proj const& proj) noexcept
      : pred_(std::addressof(pred))
      , proj_(std::addressof(proj)) {}
  template<class A>
  [[gnu::always_inline]] bool operator()(A&& a) const {
    return static_cast<bool>(std::invoke(*pred_, std::invoke(*proj_, std::forward<A>(a))));
  }
};

} // namespace rubato::detail
