// libfork's own coroutines for the tree search, measured as ours are. The variant `vectors` is its program
// that keeps the children in a std::vector; without it they are on the coroutine's stack.
#include <libfork.hpp> // first: config.hpp defines the macros min and max

#include "search.hpp"

#include "uts/libfork.cpp" // from its checkout

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  lf::lazy_pool pool(arguments.threads(2));
  bool const vectors = arguments.has_variant(3, "vectors");
  search::measure(search::tree_of(argc, argv), [&](Node* root) {
    return vectors ? lf::sync_wait(pool, uts_alloc, 0, root) : lf::sync_wait(pool, uts, 0, root);
  });
}
