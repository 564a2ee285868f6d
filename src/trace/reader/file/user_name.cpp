#include "trace/reader/file/user_name.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace rubato::detail {

namespace {

/// Behind the bracket that opens at `from`: where its partner is. A bracket of an operator is none.
std::size_t partner(std::string_view text, std::size_t from) noexcept {
  int depth = 0;
  for (std::size_t i = from; i != text.size(); ++i) {
    char const c = text[i];
    if (text.substr(i).starts_with("operator")) {
      i += 7;
      while (i + 1 != text.size() &&
             (text[i + 1] == '<' || text[i + 1] == '>' || text[i + 1] == '-' || text[i + 1] == '='))
        ++i;
    } else if (c == '<' || c == '(' || c == '{' || c == '[') {
      ++depth;
    } else if (c == '>' || c == ')' || c == '}' || c == ']') {
      if (--depth == 0) return i;
    }
  }
  return text.npos;
}

/// The arguments of a template, or of a function, between its brackets.
std::vector<std::string_view> arguments_in(std::string_view text) {
  std::vector<std::string_view> all;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') {
      std::size_t const end = partner(text, i);
      if (end == text.npos) break;
      i = end;
    } else if (c == ',') {
      all.push_back(text.substr(begin, i - begin));
      begin = i + 1;
      while (begin < text.size() && text[begin] == ' ') ++begin;
      i = begin - 1;
    }
  }
  if (begin < text.size()) all.push_back(text.substr(begin));
  return all;
}

bool is_own(std::string_view text) noexcept { return text.starts_with("rubato::"); }

bool drop_prefix(std::string_view& text, std::string_view prefix) noexcept {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// A function or type of the library without arguments: `rubato::detail::a<int>::b(int)` is `a::b`.
std::string bare(std::string_view text) {
  drop_prefix(text, "rubato::");
  drop_prefix(text, "detail::");
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("(anonymous namespace)::")) {
      i += 22;
    } else if (text[i] == '<') {
      std::size_t const end = partner(text, i);
      if (end == text.npos) break;
      i = end;
    } else if (text[i] == '(' || text[i] == '{' || text[i] == ' ') {
      break;
    } else {
      name += text[i];
    }
  }
  while (name.ends_with(':')) name.pop_back();
  if (name.ends_with("::operator")) name.resize(name.size() - 10);
  return name;
}

/// What the library's parts are called in its documentation.
std::string in_words(std::string_view own) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 23> words{{
      {"permit_wait", "a lock or a semaphore"},
      {"sleep_awaiter", "a sleep"},
      {"io_wait", "a socket or another descriptor"},
      {"future_awaiter", "a future"},
      {"end_of_work", "the end of a task"},
      {"forked_group::wait_for_rest", "when_all"},
      {"queued_group::wait_for_all", "when_all"},
      {"group_race", "when_any"},
      {"race_wait", "when_any or select"},
      {"run_awaiter", "a graph"},
      {"pipeline_awaiter", "a pipeline"},
      {"run_graph", "run of a graph"},
      {"graph_node::run_elsewhere", "nodes of a graph"},
      {"sort_elements", "sort"},
      {"sort_tree", "sort"},
      {"radix_sort", "sort"},
      {"quicksort", "sort"},
      {"merge_sort", "stable_sort"},
      {"partition_blocks", "partition"},
      {"await_quiescence", "wait_idle"},
      {"acquire_capacity", "enqueue, while the queue is full"},
      {"reverse_in_parallel", "reverse"},
      {"forked_group::run_elsewhere", "a member of when_all"},
  }};
  for (auto const& [part, name] : words)
    if (own == part || (own.starts_with(part) && own.substr(part.size()).starts_with("::")))
      return std::string(name);
  return "rubato::" + std::string(own);
}

/// What a type may be, by how likely it is what the user has passed to the library.
enum class origin : unsigned char { none, own, standard, user, callable };

struct candidate {
  origin from = origin::none;
  std::string_view name;
};

/// A number, a type of the language, or a pointer is no callable.
origin origin_of(std::string_view type) noexcept {
  static constexpr std::array<std::string_view, 12> plain{"void",     "bool",   "char", "signed",
                                                          "unsigned", "short",  "int",  "long",
                                                          "float",    "double", "true", "false"};
  if (type.find("{lambda") != type.npos || type.find("'lambda") != type.npos ||
      type.find("::$_") != type.npos) // as Clang calls one
    return origin::callable;
  drop_prefix(type, "(anonymous namespace)::");
  std::string_view const first = type.substr(0, std::min(type.find(' '), type.find('*')));
  if (type.empty() || (type.front() >= '0' && type.front() <= '9') || type.front() == '-' ||
      std::ranges::find(plain, first) != plain.end())
    return origin::none;
  if (type.front() == '(') return type.find("(*)") != type.npos ? origin::callable : origin::none;
  if (type.ends_with('*') || type.ends_with('&') || type.ends_with("const")) {
    if (type.find("(*)") == type.npos && type.find("::*") == type.npos) return origin::none;
    return origin::callable;
  }
  if (type.starts_with("std::function") || type.starts_with("std::_Bind")) return origin::standard;
  if (type.starts_with("std::") || type.starts_with("__gnu_cxx::")) return origin::none;
  return type.find('(') != type.npos ? origin::callable : origin::user;
}

std::string_view without_reference(std::string_view type) noexcept {
  while (type.ends_with('&')) type.remove_suffix(1);
  if (type.ends_with(" const")) type.remove_suffix(6);
  return type;
}

/// What the user has written in a type or a function: for the library's own templates one of their arguments.
/// If there is none, the innermost operation of the library that a lambda of it comes from.
candidate written_in(std::string_view type) {
  if (!is_own(type)) return {.from = origin_of(type), .name = type};
  candidate best;
  if (type.find("{lambda") != type.npos || type.find("'lambda") != type.npos)
    best = {.from = origin::own, .name = type};
  std::size_t const open = type.find('<');
  if (open == type.npos || type.substr(0, open).find('(') != type.npos) return best;
  std::size_t const close = partner(type, open);
  if (close == type.npos) return best;
  bool is_first = true;
  bool const of_copies = type.substr(0, open).ends_with("call_copies"); // which refer to the callable
  for (std::string_view const a : arguments_in(type.substr(open + 1, close - open - 1))) {
    candidate const c = written_in(of_copies ? without_reference(a) : a);
    if (c.from > best.from || (c.from == origin::own && is_first)) {
      best = c;
      if (c.from == origin::own) is_first = false;
    }
  }
  return best;
}

/// g++ calls the body of a coroutine f(int) `f(f(int)::_Z1fi.Frame*)`.
std::optional<std::string_view> coroutine_of(std::string_view text) noexcept {
  std::size_t const frame = text.find(".Frame*)");
  if (frame == text.npos) return {};
  constexpr std::string_view call_operator = "operator()";
  for (std::size_t i = 0; i < frame; ++i) {
    if (text.substr(i).starts_with(call_operator)) {
      i += call_operator.size() - 1;
      continue;
    }
    if (text[i] != '<' && text[i] != '(' && text[i] != '{') continue;
    std::size_t const end = partner(text, i);
    if (end == text.npos) return {};
    if (end > frame && text[i] == '(') return text.substr(i + 1, text.rfind("::", frame) - i - 1);
    i = end;
  }
  return {};
}

/// `main::{lambda(int)#1}::operator()(int) const`, as a coroutine is called, without its operator.
std::string_view without_call_of_lambda(std::string_view text) noexcept {
  constexpr std::string_view call_operator = "::operator()";
  std::size_t const at = text.rfind(call_operator);
  if (at == text.npos || at == 0) return text;
  std::size_t const end = partner(text, at + call_operator.size());
  if (end == text.npos || (end + 1 != text.size() && text.substr(end + 1) != " const")) return text;
  std::size_t const name = text.rfind("::", at - 1);
  bool const by_clang = name != text.npos && text.substr(name + 2).starts_with("$_");
  return text[at - 1] == '}' || by_clang ? text.substr(0, at) : text;
}

/// The function of the user in which a lambda stands: the first one that is local to no function of the
/// library. Empty: there is none.
std::string function_in_mangled(std::string_view text) {
  for (std::size_t z = text.find('Z', 2); z != text.npos; z = text.find('Z', z + 1)) {
    std::string name;
    std::size_t i = z + 1;
    if (i < text.size() && text[i] == 'N') ++i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      std::size_t n = 0;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
        n = std::min<std::size_t>(n * 10 + static_cast<std::size_t>(text[i] - '0'), text.size());
      std::string_view const part = text.substr(i, n);
      i += part.size();
      if (part == "_GLOBAL__N_1") continue;
      name += name.empty() ? std::string(part) : "::" + std::string(part);
    }
    if (!name.empty() && !name.starts_with("rubato")) return name;
  }
  return {};
}

/// Demanglers fail at some names of generic lambdas: the first part of such a name that says something.
std::string in_mangled(std::string_view text) {
  if (std::string const function = function_in_mangled(text); !function.empty())
    return function + "::{lambda}";
  static constexpr std::array<std::string_view, 14> says_nothing{
      "rubato",    "detail",         "join_job",       "joined_call",   "context",
      "fork_tree", "fork",           "for_each_index", "join_slow",     "fork_loop",
      "on_pool",   "with_fork_tree", "held",           "thread_context"};
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == 'S' || text[i] == 'T') { // refers to what came before: S_, S1_, T0_; or is such as St
      std::size_t const end = text.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
      i = end != text.npos && text[end] == '_' ? end + 1 : i + 2;
      continue;
    }
    std::size_t n = 0;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9')
      n = std::min<std::size_t>(n * 10 + static_cast<std::size_t>(text[i++] - '0'), text.size());
    if (n == 0) {
      ++i;
      continue;
    }
    std::string_view const part = text.substr(i, n);
    if (part.front() == '_' || part.size() < 3) continue;
    i += part.size();
    if (std::ranges::find(says_nothing, part) == says_nothing.end()) return in_words(part);
  }
  return std::string(text);
}

std::string_view without_suffix(std::string_view text) noexcept {
  text = text.substr(0, text.find(" [clone"));
  drop_prefix(text, "vtable for ");
  drop_prefix(text, "void ");
  return text;
}

/// A demangler writes what an instance of a template returns before its name: `void f<int>(int)`.
std::string_view without_result(std::string_view text) noexcept {
  std::size_t result = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ' && !text.substr(0, i).ends_with("operator")) result = i + 1;
    if (text[i] != '<' && text[i] != '(' && text[i] != '{') continue;
    std::size_t const end = partner(text, i);
    if (end == text.npos) return text;
    std::string_view const behind = text.substr(end + 1);
    if (text[i] == '(' && (behind.empty() || behind == " const")) return text.substr(result);
    i = end;
  }
  return text;
}

/// What the library's own coroutines are called where users look.
std::string in_words_of_users(std::string_view own) {
  if (own == "rubato::await_borrowed") return "block_on";
  if (own == "rubato::group_member::run_elsewhere") return "a member of when_all()";
  return std::string(own);
}

} // namespace

std::string user_name(std::string_view text) {
  text = without_suffix(text);
  if (text.starts_with("_Z") && text.find("6rubato") != text.npos) return in_mangled(text);
  if (auto const coroutine = coroutine_of(text)) text = *coroutine;
  text = without_call_of_lambda(without_result(text));
  candidate const c = written_in(text);
  if (c.from == origin::own || (c.from == origin::none && is_own(text)))
    return in_words_of_users(in_words(bare(c.from == origin::own ? c.name : text)));
  std::string name(c.from != origin::none ? c.name : text);
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = name.find(anonymous)) != name.npos;) name.erase(at, anonymous.size());
  return name;
}

std::string wait_name(std::string_view text) {
  text = without_suffix(text);
  return is_own(text) ? in_words(bare(text)) : std::string(text);
}

std::string symbol_name(std::string_view text) {
  text = without_suffix(text);
  return std::string(coroutine_of(text).value_or(text));
}

} // namespace rubato::detail
