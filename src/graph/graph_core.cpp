#include "rubato/detail/graph/graph_core.hpp"

#include "graph/graph_session.hpp"
#include "rubato/detail/base/assert.hpp"

#include <algorithm>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace rubato::detail {

namespace {

constexpr std::int64_t long_us = 1000; // a node is expected to take, before the first run

std::string quoted(std::string const& text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

/// The same edge as another that leaves the node?
bool is_same(graph_edge const& a, graph_edge const& b) noexcept {
  return a.to == b.to && a.kind == b.kind && a.result == b.result;
}

} // namespace

std::string graph_node::label() const {
  return !name_.empty() ? name_ : std::to_string(index_).insert(0, 1, '#');
}

void graph_node::add_after(graph_node& before) {
  graph_->expect_idle("after()");
  if (before.graph_ != graph_)
    throw std::invalid_argument("rubato: " + label() + ".after(" + before.label() +
                                "): the two nodes belong to different graphs");
  if (&before == this)
    throw std::invalid_argument("rubato: " + label() + ".after(" + label() +
                                "): a node cannot run after itself");
  before.add_edge({this, edge_kind::after, 0});
}

void graph_node::add_on(std::int64_t result, graph_node& next) {
  graph_->expect_idle("on()");
  if (next.graph_ != graph_)
    throw std::invalid_argument("rubato: " + label() + ".on(result, " + next.label() +
                                "): the two nodes belong to different graphs");
  if (&next == this)
    throw std::invalid_argument("rubato: " + label() + ".on(result, " + label() +
                                "): a node cannot run after itself; a loop is a node that runs another "
                                "graph again and again");
  if (!may_choose_)
    throw std::invalid_argument("rubato: " + label() +
                                ".on(result, ...): its callable returns no integer, enum or bool");
  add_edge({&next, edge_kind::on, result});
}

void graph_node::add_edge(graph_edge const& e) {
  // The shorter list first: a node before or behind 100,000 others must not take quadratic time.
  std::vector<graph_node*>& before = e.to->before_;
  bool const is_first =
      before.size() < edges_.size() && std::find(before.begin(), before.end(), this) == before.end();
  if (!is_first &&
      std::any_of(edges_.begin(), edges_.end(), [&](graph_edge const& x) { return is_same(x, e); }))
    return;
  if (e.to->in_.edges() == edge_count::most)
    throw std::length_error("rubato: more than two million edges lead to one node of a task_graph");
  before.push_back(this);
  try {
    edges_.push_back(e);
  } catch (...) {
    before.pop_back();
    throw;
  }
  static_cast<void>(e.to->in_.add(e.kind));
  graph_->changed();
}

graph_core::graph_core()
    : node_ticks_(long_us * ticks_per_us()) {}

graph_core::~graph_core() {
  RUBATO_ASSERT(!running_.get(), "a task_graph is destroyed while it runs", nodes_.size());
}

void graph_core::expect_idle(char const* what) const {
  if (running_.get()) throw std::logic_error(std::string("rubato: ") + what + " on a task_graph that runs");
}

graph_node& graph_core::add(std::unique_ptr<graph_node> n) {
  expect_idle("add()");
  n->index_ = nodes_.size();
  any_may_go_on_ = any_may_go_on_ || n->may_go_on();
  nodes_.push_back(std::move(n));
  checked_ = false;
  return *nodes_.back();
}

graph_node& graph_core::add_graph(std::string name, graph_core& nested) {
  if (&nested == this) throw std::invalid_argument("rubato: a task_graph is added to itself");
  return add(std::make_unique<nested_node>(*this, std::move(name), nested));
}

/// Finds the roots, and looks for a cycle. Lays out the edges beside each other.
void graph_core::check() {
  std::vector<std::uint64_t> left(nodes_.size());
  std::vector<graph_node*> found;
  found.reserve(nodes_.size());
  std::size_t number = 0;
  for (auto const& n : nodes_) {
    left[n->index_] = n->in_.edges();
    number += n->edges_.size();
    if (left[n->index_] == 0) found.push_back(n.get());
  }
  std::size_t const roots = found.size();
  for (std::size_t i = 0; i != found.size(); ++i)
    for (graph_edge const& e : found[i]->edges_)
      if (--left[e.to->index_] == 0) found.push_back(e.to);
  if (found.size() != nodes_.size()) throw_cycle(left);
  std::vector<graph_edge> all;
  all.reserve(number);
  found.resize(roots);
  for (auto const& n : nodes_) {
    n->first_edge_ = all.data() + all.size();
    all.insert(all.end(), n->edges_.begin(), n->edges_.end());
    n->last_edge_ = all.data() + all.size();
  }
  roots_.swap(found);
  edges_.swap(all); // the elements stay where they are
  checked_ = true;
}

/// Every node that is left has a node before it that is left: going backwards ends in a cycle.
void graph_core::throw_cycle(std::vector<std::uint64_t> const& left) const {
  std::vector<std::size_t> before(nodes_.size(), nodes_.size());
  std::size_t at = nodes_.size();
  for (auto const& n : nodes_) {
    if (left[n->index_] == 0) continue;
    at = n->index_;
    for (graph_edge const& e : n->edges_)
      if (left[e.to->index_] != 0) before[e.to->index_] = n->index_;
  }
  std::vector<bool> seen(nodes_.size());
  for (; !seen[at]; at = before[at]) seen[at] = true;
  std::string names = nodes_[at]->label();
  for (std::size_t n = before[at]; n != at; n = before[n]) names = nodes_[n]->label() + " -> " + names;
  throw std::invalid_argument("rubato: a task_graph has a cycle: " + nodes_[at]->label() + " -> " + names +
                              "; a loop is a node that runs another graph again and again");
}

void graph_core::dot(std::ostream& out) const {
  std::vector<graph_core const*> around;
  out << "digraph {\n  compound=true;\n";
  write_nodes(out, "n", "  ", around);
  out << "}\n";
}

void graph_core::write_nodes(std::ostream& out, std::string const& prefix, std::string const& indent,
                             std::vector<graph_core const*>& around) const {
  around.push_back(this);
  auto const name = [&](graph_node const& n) { return prefix + std::to_string(n.index_); };
  auto const is_box = [&](graph_node const& n) {
    return n.nested() != nullptr && std::find(around.begin(), around.end(), n.nested()) == around.end();
  };
  for (auto const& n : nodes_) {
    if (!is_box(*n)) {
      out << indent << name(*n) << " [label=" << quoted(n->label()) << "];\n";
      continue;
    }
    out << indent << "subgraph cluster_" << name(*n) << " {\n";
    out << indent << "  label=" << quoted(n->label()) << ";\n";
    out << indent << "  " << name(*n) << " [shape=point, style=invis];\n"; // where edges to the box end
    n->nested()->write_nodes(out, name(*n) + "_", indent + "  ", around);
    out << indent << "}\n";
  }
  for (auto const& n : nodes_)
    for (graph_edge const& e : n->edges_) {
      std::string options;
      auto const add = [&options](std::string const& o) { options += (options.empty() ? "" : ", ") + o; };
      if (e.kind == edge_kind::on) add("label=\"" + std::to_string(e.result) + "\", style=dashed");
      if (is_box(*n)) add("ltail=cluster_" + name(*n));
      if (is_box(*e.to)) add("lhead=cluster_" + name(*e.to));
      out << indent << name(*n) << " -> " << name(*e.to) << (options.empty() ? "" : " [" + options + "]")
          << ";\n";
    }
  around.pop_back();
}

} // namespace rubato::detail
