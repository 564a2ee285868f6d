// Iterators over two vectors at once, as std::views::zip makes them in C++23: what they refer to is a pair of
// references, so moves and swaps need iter_move and iter_swap.
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato_test {

/// A pair of references that can be assigned through, also if it is const.
template<class A, class B>
struct pair_reference {
  A& first;
  B& second;
  pair_reference(A& a, B& b) noexcept
      : first(a)
      , second(b) {}
  pair_reference(pair_reference const&) = default;
  pair_reference const& operator=(std::pair<A, B>&& p) const {
    first = std::move(p.first);
    second = std::move(p.second);
    return *this;
  }
  pair_reference const& operator=(std::pair<A, B> const& p) const {
    first = p.first;
    second = p.second;
    return *this;
  }
  pair_reference& operator=(pair_reference const& p) {
    first = p.first;
    second = p.second;
    return *this;
  }
  operator std::pair<A, B>() const { return {first, second}; }
};

template<class A, class B>
class zip_iterator {
  A* a_ = nullptr;
  B* b_ = nullptr;

public:
  using value_type = std::pair<A, B>;
  using reference = pair_reference<A, B>;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;

  zip_iterator() = default;
  zip_iterator(std::vector<A>& a, std::vector<B>& b)
      : a_(a.data())
      , b_(b.data()) {}
  reference operator*() const { return {*a_, *b_}; }
  reference operator[](difference_type n) const { return {a_[n], b_[n]}; }
  zip_iterator& operator+=(difference_type n) {
    a_ += n;
    b_ += n;
    return *this;
  }
  zip_iterator& operator-=(difference_type n) { return *this += -n; }
  zip_iterator& operator++() { return *this += 1; }
  zip_iterator& operator--() { return *this -= 1; }
  zip_iterator operator++(int) { return std::exchange(*this, *this + 1); }
  zip_iterator operator--(int) { return std::exchange(*this, *this - 1); }
  friend zip_iterator operator+(zip_iterator i, difference_type n) { return i += n; }
  friend zip_iterator operator+(difference_type n, zip_iterator i) { return i += n; }
  friend zip_iterator operator-(zip_iterator i, difference_type n) { return i -= n; }
  friend difference_type operator-(zip_iterator x, zip_iterator y) { return x.a_ - y.a_; }
  friend bool operator==(zip_iterator x, zip_iterator y) { return x.a_ == y.a_; }
  friend auto operator<=>(zip_iterator x, zip_iterator y) { return x.a_ <=> y.a_; }

  friend std::pair<A, B> iter_move(zip_iterator i) { return {std::move(*i.a_), std::move(*i.b_)}; }
  friend void iter_swap(zip_iterator i, zip_iterator j) {
    using std::swap;
    swap(*i.a_, *j.a_);
    swap(*i.b_, *j.b_);
  }
};

} // namespace rubato_test

template<class A, class B, template<class> class Q, template<class> class R>
struct std::basic_common_reference<rubato_test::pair_reference<A, B>, std::pair<A, B>, Q, R> {
  using type = std::pair<A, B>;
};
template<class A, class B, template<class> class Q, template<class> class R>
struct std::basic_common_reference<std::pair<A, B>, rubato_test::pair_reference<A, B>, Q, R> {
  using type = std::pair<A, B>;
};
