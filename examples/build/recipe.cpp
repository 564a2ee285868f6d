#include "recipe.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace build {
namespace {

[[noreturn]] void refuse(std::size_t line, const std::string& why) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + why);
}

/// The names that a line gives, before it is known what they stand for.
struct need {
  std::size_t line;
  std::size_t of;
  std::string name;
};

/// Removes targets that need nothing that is left until none does. What is left then stands on a circle or
/// needs one that does: a walk along needs meets one target twice.
void refuse_circle(const std::vector<target>& all) {
  std::vector<std::size_t> missing, made;
  for (std::size_t i = 0; i != all.size(); ++i) {
    missing.push_back(all[i].needs.size());
    if (all[i].needs.empty()) made.push_back(i);
  }
  for (std::size_t k = 0; k != made.size(); ++k)
    for (const std::size_t next : all[made[k]].needed_by)
      if (--missing[next] == 0) made.push_back(next);
  if (made.size() == all.size()) return;

  const auto is_left = [&](std::size_t i) { return missing[i] != 0; };
  std::vector<std::size_t> walk;
  std::size_t at = 0;
  while (!is_left(at)) ++at;
  while (std::ranges::find(walk, at) == walk.end()) {
    walk.push_back(at);
    at = *std::ranges::find_if(all[at].needs, is_left);
  }
  std::string circle = all[at].name;
  for (auto i = std::ranges::find(walk, at) + 1; i != walk.end(); ++i) circle += " -> " + all[*i].name;
  throw std::runtime_error("targets need each other in a circle: " + circle + " -> " + all[at].name);
}

} // namespace

std::vector<target> read_recipe(std::istream& text) {
  std::vector<target> all;
  std::map<std::string, std::size_t> places;
  std::vector<need> needs;
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '#') continue;
    if (begin != 0) {
      if (all.empty()) refuse(number, "a command before the first target");
      all.back().commands += line.substr(begin) + '\n';
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos)
      refuse(number, "neither a target, `name: needs`, nor an indented command");
    std::istringstream left(line.substr(0, colon)), right(line.substr(colon + 1));
    target next;
    std::string more;
    if (!(left >> next.name) || left >> more) refuse(number, "a target has one name, without spaces");
    if (!places.emplace(next.name, all.size()).second) refuse(number, "a second target " + next.name);
    for (std::string name; right >> name;) needs.push_back({number, all.size(), name});
    all.push_back(std::move(next));
  }
  for (const auto& [line, of, name] : needs) {
    const auto found = places.find(name);
    if (found == places.end()) refuse(line, "no target " + name);
    auto& known = all[of].needs;
    if (std::ranges::find(known, found->second) != known.end()) continue;
    known.push_back(found->second);
    all[found->second].needed_by.push_back(of);
  }
  refuse_circle(all);
  return all;
}

} // namespace build
