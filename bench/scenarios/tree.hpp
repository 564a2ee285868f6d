// The sum of a balanced binary tree, a fork at every node; ns per node. Small trees are summed over and over.
#pragma once

#include "fib.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include <sys/mman.h>

namespace bench {

struct node {
  std::uint64_t value = 1;
  node* left = nullptr;
  node* right = nullptr;
};

/// The tree of `layers` layers, its nodes in the order of a depth-first walk, as an allocator would lay them
/// out. In huge pages where there are any: to fault in three gigabytes by fours of kilobytes takes far longer
/// than to sum them.
class forest {
  std::size_t size_;
  node* nodes_;
  std::size_t used_ = 0;

  std::size_t bytes() const { return size_ * sizeof(node); }
  node* grow(std::uint64_t layers) {
    node* n = new (&nodes_[used_++]) node;
    if (layers > 1) {
      n->left = grow(layers - 1);
      n->right = grow(layers - 1);
    }
    return n;
  }

public:
  explicit forest(std::uint64_t layers)
      : size_((std::size_t{1} << layers) - 1) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, bytes(), MADV_HUGEPAGE);
    nodes_ = static_cast<node*>(memory);
    grow(layers);
  }
  forest(const forest&) = delete;
  forest& operator=(const forest&) = delete;
  ~forest() { munmap(nodes_, bytes()); }

  const node* root() const { return nodes_; }
  std::size_t size() const { return size_; }
};

template<bool Busy, class R>
[[gnu::noinline]] std::uint64_t sum_of(const node* n) {
  item_work<Busy>();
  auto [l, r] = R::join([n] { return n->left ? sum_of<Busy, R>(n->left) : 0; },
                        [n] { return n->right ? sum_of<Busy, R>(n->right) : 0; });
  return n->value + l + r;
}

/// The same by a scope at each node, which spawns one of the two children.
template<class R>
[[gnu::noinline]] std::uint64_t sum_by_scopes(const node* n) {
  if (!n->left) return n->value;
  std::uint64_t l = 0, r = 0;
  R::scope_of_two([&l, n] { l = sum_by_scopes<R>(n->left); }, [&r, n] { r = sum_by_scopes<R>(n->right); });
  return n->value + l + r;
}

/// `sum(root)` inside r.run, as often as makes about 2^24 nodes.
template<class R, class Sum>
measurement tree_with(R& r, std::uint64_t layers, Sum sum) {
  const forest trees(layers);
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 24) / trees.size());
  warm_up(r);
  measurement m;
  r.run([&] {
    m = timed(static_cast<double>(trees.size() * repeats), [&] {
      std::uint64_t total = 0;
      for (std::size_t i = 0; i != repeats; ++i) total += keep(sum(trees.root()));
      return total;
    });
  });
  return m;
}

template<bool Busy, class R>
measurement tree(R& r, std::uint64_t layers) {
  return tree_with(r, layers, [](const node* root) { return sum_of<Busy, R>(root); });
}
template<class R>
measurement scope_tree(R& r, std::uint64_t layers) {
  return tree_with(r, layers, [](const node* root) { return sum_by_scopes<R>(root); });
}

} // namespace bench
