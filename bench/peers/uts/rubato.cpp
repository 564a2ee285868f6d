// The unbalanced tree search: counts the nodes and leaves of a tree whose nodes come from hashes of their
// parents, a fork at each. `coroutines`: when_all(tasks, results); `closures`: joins, the children halved
// down to one.
#include <rubato/rubato.hpp>

#include "search.hpp"

namespace {

/// As many of something as a node has children: most have few.
template<class T>
class per_child {
  static constexpr std::size_t few = 8;
  std::array<T, few> near_;
  std::vector<T> far_;
  std::span<T> all_;

public:
  explicit per_child(std::size_t n)
      : far_(n > few ? n : 0)
      , all_(n > few ? std::span<T>(far_) : std::span<T>(near_).first(n)) {}
  std::span<T> all() const { return all_; }
  T& operator[](std::size_t i) const { return all_[i]; }
};

/// The number of children, which the node is told, too.
std::size_t count_children(Node* parent) {
  parent->numChildren = uts_numChildren(parent);
  return static_cast<std::size_t>(parent->numChildren);
}

void make_child(Node* parent, Node& child, std::size_t place) {
  child.type = uts_childType(parent);
  child.height = parent->height + 1;
  child.numChildren = -1; // not known yet
  for (int i = 0; i < computeGranularity; ++i)
    rng_spawn(parent->state.state, child.state.state, static_cast<int>(place));
}

result sum_of(result a, result const& b) {
  a.maxdepth = max(a.maxdepth, b.maxdepth);
  a.size += b.size;
  a.leaves += b.leaves;
  return a;
}

result leaf(counter_t depth) { return {depth, 1, 1}; }

rubato::task<result> search_by_coroutines(counter_t depth, Node* parent) {
  std::size_t const count = count_children(parent);
  if (count == 0) co_return leaf(depth);
  per_child<Node> const children(count);
  per_child<rubato::task<result>> const tasks(count);
  per_child<result> const found(count);
  for (std::size_t i = 0; i != count; ++i) {
    make_child(parent, children[i], i);
    tasks[i] = search_by_coroutines(depth + 1, &children[i]);
  }
  co_await rubato::when_all(tasks.all(), found.all());
  result total{depth, 1, 0};
  for (result const& r : found.all()) total = sum_of(total, r);
  co_return total;
}

result search_by_closures(counter_t depth, Node* parent);

result search_between(counter_t depth, Node* parent, std::size_t first, std::size_t last) {
  if (last - first == 1) {
    Node child;
    make_child(parent, child, first);
    return search_by_closures(depth, &child);
  }
  std::size_t const middle = first + (last - first) / 2;
  auto [low, high] = rubato::join([=] { return search_between(depth, parent, first, middle); },
                                  [=] { return search_between(depth, parent, middle, last); });
  return sum_of(low, high);
}

result search_by_closures(counter_t depth, Node* parent) {
  std::size_t const count = count_children(parent);
  if (count == 0) return leaf(depth);
  return sum_of(result{depth, 1, 0}, search_between(depth + 1, parent, 0, count));
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  rubato::pool pool(arguments.threads(2));
  bool const closures = arguments.has_variant(3, "closures");
  search::measure(search::tree_of(argc, argv), [&](Node* root) {
    return closures ? pool.run([=] { return search_by_closures(0, root); })
                    : pool.block_on(search_by_coroutines(0, root));
  });
}
