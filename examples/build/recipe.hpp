// What to build: targets, what each needs, and the commands that make them.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

namespace build {

struct target {
  std::string name;
  std::string commands;           ///< a script for the shell, a line each; none: the target only has needs
  std::vector<std::size_t> needs; ///< places of other targets in the recipe, each once
  std::vector<std::size_t> needed_by; ///< the same, seen from the other side
};

/// Reads
///
///   # a comment
///   program: main.o shapes.o
///     cc -o program main.o shapes.o
///
/// in any order of the targets. Throws std::runtime_error, with the number of the line, if a line makes no
/// sense, a target is there twice or needs something that is none; and with the names of the targets on it
/// if needs go in a circle.
std::vector<target> read_recipe(std::istream& text);

} // namespace build
