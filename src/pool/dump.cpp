// The text of dump(). The words are those of scripts/gdb/rubato_gdb.py. docs/design/dump.md
#include "rubato/dump.hpp"

#include "os/modules.hpp"
#include "pool/pool_view.hpp"
#include "sched/core/outside_waiters.hpp"
#include "trace/reader/file/symbols.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <locale>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace rubato::detail {

namespace {

std::vector<recorded_module> recorded(std::vector<os::loaded_module>& loaded) {
  std::vector<recorded_module> modules;
  for (os::loaded_module& m : loaded)
    modules.push_back({m.load_address, m.first, m.last, std::move(m.build_id), std::move(m.path)});
  return modules;
}

std::string hexadecimal(std::uintptr_t n) {
  std::array<char, 20> text;
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(n));
  return text.data();
}

std::string seconds(std::chrono::microseconds t) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(t.count()) / 1e6);
  return text.data();
}

/// What the library's own frames stand for.
std::string of_frame(std::string name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> own{{
      {"rubato::detail::forked_group", "when_all()"},
      {"rubato::detail::race_tasks", "when_any() or when_first()"},
      {"rubato::detail::race_for_some", "when_some()"},
      {"rubato::detail::run_until", "with_deadline()"},
      {"rubato::detail::run_shielded", "shielded()"},
  }};
  for (auto const& [part, text] : own)
    if (name.find(part) != name.npos) return std::string(text);
  return name;
}

/// `kind`: the class of the wait.
std::string of_wait(std::string_view kind) {
  constexpr std::string_view of_future = "rubato::detail::future_awaiter<rubato::";
  if (kind.starts_with(of_future)) {
    std::string_view future = kind.substr(of_future.size());
    future = future.substr(0, future.rfind('>'));
    while (future.ends_with(' ')) future.remove_suffix(1);
    return "awaits a " + std::string(future);
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 17> known{{
      {"sleep_awaiter", "sleeps"},
      {"tick_awaiter", "awaits a tick of an interval"},
      {"io_wait", "awaits a descriptor"},
      {"end_of_work", "awaits the end of a task"},
      {"scope_joiner", "awaits the end of a scope"},
      {"wait_for_rest", "awaits its when_all()"},
      {"wait_for_all", "awaits the tasks that lost"},
      {"send_awaiter", "awaits room in a channel"},
      {"receive_awaiter", "awaits a value of a channel"},
      {"news_awaiter", "awaits news of a watch or a broadcast_channel"},
      {"gate::awaiter", "awaits an event or a latch"},
      {"group_race", "awaits the first of several"},
      {"race_wait", "awaits the first of several operations"},
      {"permit", "awaits a lock or a semaphore"},
      {"graph_awaiter", "awaits a run of a task_graph"},
      {"pipeline_awaiter", "awaits a pipeline"},
      {"async_barrier", "awaits the others at a barrier"},
  }};
  std::string_view const name = kind.substr(0, kind.find('<'));
  for (auto const& [part, text] : known)
    if (name.find(part) != name.npos) return std::string(text);
  return "awaits " + std::string(kind);
}

class writer {
  symbols names_;
  std::map<std::uint64_t, std::string> of_code_, of_wait_;
  std::chrono::steady_clock::time_point const now_ = std::chrono::steady_clock::now();
  std::map<std::uintptr_t, std::size_t> shown_; // coroutines of a pool by their addresses
  std::ostream& to_;

  std::string const& frame(std::uint64_t code) {
    auto const [at, is_new] = of_code_.try_emplace(code);
    if (is_new) at->second = of_frame(names_.symbol(code));
    return at->second;
  }
  std::string const& wait(std::uint64_t type) {
    auto const [at, is_new] = of_wait_.try_emplace(type);
    if (is_new) at->second = of_wait(names_.symbol(type));
    return at->second;
  }

  void thread(thread_view const& t);
  void coroutine(coroutine_views const& all, std::size_t i);
  void line_of_execution(coroutine_views const& all, std::size_t i, std::string const& indent);
  [[nodiscard]] bool was_shown(coroutine_views const& all, std::size_t i) const;
  void awaited(coroutine_views::view const& v, std::string const& indent);

public:
  writer(std::ostream& to, std::vector<recorded_module> const& modules)
      : names_(modules)
      , to_(to) {}
  void pool(pool_view const& p);
};

void writer::thread(thread_view const& t) {
  using condition = thread_view::condition;
  to_ << (t.is_guest ? "guest " : "thread ") << t.index;
  if (t.kernel_id != 0) to_ << " (" << t.kernel_id << ")";
  switch (t.is) {
  case condition::waits:
    to_ << " waits in " << t.in;
    if (t.runner >= 0) to_ << " for thread " << t.runner;
    to_ << ", for " << seconds(t.since);
    if (!t.node.empty()) to_ << ", in the node \"" << t.node << "\" of a task_graph";
    break;
  case condition::runs:
    to_ << (t.is_guest ? " runs" : " runs a task");
    break;
  case condition::blocked:
    to_ << (t.is_guest ? " runs, and" : " runs a task, which") << " is blocked in the kernel";
    break;
  case condition::idle:
    to_ << " is idle";
    break;
  case condition::between:
    to_ << " is between two tasks";
    break;
  }
  to_ << '\n';
}

/// Behind the lines of what waits: what it waits for.
void writer::awaited(coroutine_views::view const& v, std::string const& indent) {
  to_ << indent << (v.is == coroutine_view::condition::ready ? "is ready; it " : "") << wait(v.wait);
  if (v.descriptor >= 0) to_ << ", number " << v.descriptor;
  if (v.until != std::chrono::steady_clock::time_point::max()) {
    auto const left = std::chrono::duration_cast<std::chrono::microseconds>(v.until - now_);
    to_ << (left.count() > 0 ? ", for another " + seconds(left) : ", and the time has come");
  }
  to_ << '\n';
}

/// Of the view with that index: its lines, then those of what it awaits.
void writer::line_of_execution(coroutine_views const& all, std::size_t i, std::string const& indent) {
  coroutine_views::view const& v = all.views[i];
  shown_.try_emplace(v.address, i);
  std::string const inner = indent + "  ";
  if (v.frames == 0) {
    if (v.is == coroutine_view::condition::ready)
      to_ << inner << "is ready\n";
    else
      to_ << inner << (v.has_begun ? "runs" : "runs, or has not begun") << ", or awaits something foreign\n";
    return;
  }
  std::size_t number = 0;
  for (; number != v.frames; ++number)
    to_ << inner << '#' << number << ' ' << frame(all.codes[v.first_code + number]) << '\n';
  if (v.has_more) to_ << inner << '#' << number++ << " and others, outside of these\n";
  if (!v.node.empty()) to_ << inner << '#' << number << " the node \"" << v.node << "\" of a task_graph\n";
  if (v.group != 0)
    to_ << inner << '#' << number << " when_all(), when_any() or the like of the coroutine at "
        << hexadecimal(v.group) << '\n';
  awaited(v, inner);
  if (v.result == 0) return;
  std::string const deeper = inner + "  ";
  using link = coroutine_view::link;
  if (v.goes_on == link::none) {
    to_ << deeper << (v.result_is_ready ? "ready" : "pending");
    if (!v.result_is_ready && v.result_begun_by != 0) to_ << ", begun by thread " << v.result_begun_by - 1;
    to_ << '\n';
    return;
  }
  to_ << deeper << "of the coroutine at " << hexadecimal(v.result) << ":\n";
  if (v.goes_on == link::next)
    line_of_execution(all, i + 1, deeper);
  else
    to_ << deeper
        << (v.goes_on == link::above ? "  ... which is printed above: they wait for each other\n"
                                     : "  ... which was not looked at\n");
}

void writer::coroutine(coroutine_views const& all, std::size_t i) {
  to_ << "coroutine at " << hexadecimal(all.views[i].address);
  if (all.views[i].more != 0) to_ << ", and " << all.views[i].more << " more like it";
  to_ << ":\n";
  line_of_execution(all, i, "");
}

/// As it is: at its address there may have been another one.
bool writer::was_shown(coroutine_views const& all, std::size_t i) const {
  coroutine_views::view const& v = all.views[i];
  auto const at = shown_.find(v.address);
  if (at == shown_.end()) return false;
  coroutine_views::view const& w = all.views[at->second];
  auto const code = all.codes.begin();
  return v.is == w.is && v.frames == w.frames && v.wait == w.wait && v.result == w.result &&
         std::equal(code + static_cast<std::ptrdiff_t>(v.first_code),
                    code + static_cast<std::ptrdiff_t>(v.first_code + v.frames),
                    code + static_cast<std::ptrdiff_t>(w.first_code));
}

void writer::pool(pool_view const& p) {
  shown_.clear();
  to_ << "pool \"" << p.name << "\": size " << p.size << ", queued " << p.queued << ", threads " << p.made
      << '\n';
  for (thread_view const& t : p.threads) thread(t);
  coroutine_views const& all = p.coroutines;
  std::vector<std::size_t> heads; // of the chains
  std::set<std::uintptr_t> below; // another one in a chain
  for (std::size_t i = 0; i != all.views.size(); ++i) {
    heads.push_back(i);
    for (; all.views[i].goes_on == coroutine_view::link::next; ++i) below.insert(all.views[i + 1].address);
  }
  // First those that no other one awaits. Then what these chains have not shown: some are long, some a ring.
  std::erase_if(heads, [&](std::size_t i) {
    if (below.contains(all.views[i].address)) return false;
    coroutine(all, i);
    return true;
  });
  for (std::size_t const i : heads)
    if (!was_shown(all, i)) coroutine(all, i);
  if (all.others != 0) to_ << all.others << " continuation(s) wait for results\n";
}

} // namespace

void dump_fn::operator()(std::ostream& to) const {
  process_view seen = view_process();
  std::size_t const strangers = waiting_outside();
  if (seen.pools.empty()) {
    to << "no pool has started\n";
    return;
  }
  std::ostringstream text; // in one piece, and not as `to` writes numbers
  text.imbue(std::locale::classic());
  writer all(text, recorded(seen.modules));
  for (pool_view const& p : seen.pools) all.pool(p);
  if (strangers != 0) text << strangers << " thread(s) outside all pools wait for results\n";
  std::string const whole = std::move(text).str();
  to.write(whole.data(), static_cast<std::streamsize>(whole.size()));
}

} // namespace rubato::detail
