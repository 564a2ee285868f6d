#include "explore/sites.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>

namespace rubato_test {

namespace {

using order = std::memory_order;

std::string source_text(std::source_location const& where) {
  static std::map<std::string, std::vector<std::string>> files;
  auto const [file, added] = files.try_emplace(where.file_name());
  if (added) {
    std::ifstream stream(where.file_name());
    for (std::string line; std::getline(stream, line);)
      file->second.push_back(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
  }
  return where.line() <= file->second.size() && where.line() != 0 ? file->second[where.line() - 1] : "";
}

/// "lock" of "void ns::basic_mutex<Policy>::lock() [with Policy = ns::policy]".
std::string function_name(std::source_location const& where) {
  std::string_view name = where.function_name();
  // clang writes "(anonymous namespace)::" in a template's arguments.
  std::size_t parameters = name.find('(');
  while (name.substr(std::min(parameters, name.size())).starts_with("(anonymous"))
    parameters = name.find('(', parameters + 1);
  name = name.substr(0, parameters);
  std::size_t const begin = name.find_last_of(": *&>");
  return std::string(begin == std::string_view::npos ? name : name.substr(begin + 1));
}

std::vector<order> weaker_load(order o) {
  if (o == order::seq_cst) return {order::acquire};
  if (o == order::acquire) return {order::relaxed};
  return {};
}

std::vector<order> weaker_store(order o) {
  if (o == order::seq_cst) return {order::release};
  if (o == order::release) return {order::relaxed};
  return {};
}

std::vector<order> weaker_modify(order o) {
  if (o == order::seq_cst) return {order::acq_rel};
  if (o == order::acq_rel) return {order::acquire, order::release};
  if (o == order::acquire || o == order::release) return {order::relaxed};
  return {};
}

} // namespace

char const* name_of(std::memory_order o) {
  switch (o) {
  case order::relaxed:
    return "relaxed";
  case order::consume:
    return "consume";
  case order::acquire:
    return "acquire";
  case order::release:
    return "release";
  case order::acq_rel:
    return "acq_rel";
  case order::seq_cst:
    return "seq_cst";
  }
  return "?";
}

std::vector<weakening> weakenings(site const& s) {
  std::vector<weakening> result;
  auto const add = [&](std::vector<order> const& orders, bool of_failure = false) {
    for (order const o : orders) result.push_back({s, of_failure, o});
  };
  switch (s.what) {
  case operation::load:
    add(weaker_load(s.order));
    break;
  case operation::store:
    add(weaker_store(s.order));
    break;
  case operation::modify:
    add(weaker_modify(s.order));
    break;
  case operation::compare:
    add(weaker_modify(s.order));
    add(weaker_load(s.failure), true);
    break;
  case operation::fence:
  case operation::light_barrier:
  case operation::heavy_barrier:
    add({order::relaxed});
    break;
  }
  return result;
}

std::string describe(std::source_location const& where) {
  std::string_view file = where.file_name();
  file = file.substr(file.rfind('/') + 1);
  std::string result = std::string(file) + ":" + std::to_string(where.line()) + " " + function_name(where);
  std::string const text = source_text(where);
  return text.empty() ? result : result + ": " + text;
}

std::string describe(weakening const& w) {
  std::string change = " [left out] ";
  if (w.where.what < operation::fence)
    change = std::string(w.of_failure ? " [failure " : " [") +
             name_of(w.of_failure ? w.where.failure : w.where.order) + " -> " + name_of(w.to) + "] ";
  std::string const place = describe(w.where.where);
  std::size_t const end = place.find(' ');
  return place.substr(0, end) + change + place.substr(end + 1);
}

bool same_place(std::source_location const& a, std::source_location const& b) noexcept {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

void site_set::insert(site const& s) {
  std::uint32_t& recent = recent_[(s.where.line() * 31U + s.where.column()) % recent_.size()];
  if (recent != 0 && same_place(sites_[recent - 1].where, s.where)) return;
  auto const known = std::find_if(sites_.begin(), sites_.end(),
                                  [&](site const& other) { return same_place(other.where, s.where); });
  recent = static_cast<std::uint32_t>(known - sites_.begin()) + 1;
  if (known == sites_.end()) sites_.push_back(s);
}

} // namespace rubato_test
