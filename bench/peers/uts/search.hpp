// What the programs of the unbalanced tree search share. libfork's checkout, in bench/source/uts, has the
// trees and the numbers of their nodes.
//
//   uts t1 | t3 [THREADS [VARIANT]]
#pragma once

#include "program.hpp" // of our entry for the suite

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "config.hpp" // libfork's; after all others, as it defines the macros min and max

namespace search {

/// Calls find(root) twice, and prints how long the second time took.
template<class Find>
void measure(int tree, Find find) {
  setup_tree(tree);
  auto const once = [&] {
    Node root;
    uts_initRoot(&root, type);
    result const found = find(&root);
    if (found != result_tree(tree)) entry::fail("nodes of the tree", result_tree(tree).size, found.size);
  };
  once(); // warms up
  auto const time = entry::microseconds(once);
  entry::report_begin();
  entry::report_time(time);
  entry::report_memory();
}

inline int tree_of(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "t3" ? 31 : 11; }

} // namespace search
