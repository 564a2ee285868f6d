// schedule | then, and others, on a pool by its stdexec_scheduler, and on exec::static_thread_pool.
// bench/executors.py
#include "rounds.hpp"

#include <rubato/stdexec.hpp>

#include <exec/async_scope.hpp>
#include <exec/static_thread_pool.hpp>
#include <stdexec/execution.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using bench::countdown;

struct receiver {
  using receiver_concept = stdexec::receiver_t;
  countdown* all;
  void set_value() noexcept { all->arrive(); }
  void set_stopped() noexcept { all->arrive(); }
  void set_error(std::exception_ptr) noexcept { all->arrive(); }
};

template<class Scheduler>
auto schedule_then(Scheduler s) {
  return stdexec::schedule(s) | stdexec::then([] {});
}

/// Operations in a row, none of which moves.
template<class Scheduler>
struct operations {
  using state = stdexec::connect_result_t<decltype(schedule_then(std::declval<Scheduler>())), receiver>;
  struct place {
    state operation;
    place(Scheduler s, countdown& all)
        : operation(stdexec::connect(schedule_then(s), receiver{&all})) {}
  };
  std::size_t n;
  std::unique_ptr<std::optional<place>[]> places{new std::optional<place>[n]};
  explicit operations(std::size_t number)
      : n(number) {}
  void start(std::size_t i, Scheduler s, countdown& all) {
    stdexec::start(places[i].emplace(s, all).operation);
  }
};

template<class Scheduler>
struct chain {
  Scheduler s;
  countdown& all;
  std::size_t left;
  struct link {
    using receiver_concept = stdexec::receiver_t;
    chain* of;
    void set_value() noexcept { of->next(); }
    void set_stopped() noexcept { of->all.arrive(); }
    void set_error(std::exception_ptr) noexcept { of->all.arrive(); }
  };
  using state = stdexec::connect_result_t<decltype(schedule_then(std::declval<Scheduler>())), link>;
  struct place {
    state operation;
    explicit place(chain& c)
        : operation(stdexec::connect(schedule_then(c.s), link{&c})) {}
  };
  std::optional<place> places[2]{}; // the one that completes calls next()
  void next() noexcept {
    if (left == 0) return all.arrive();
    stdexec::start(places[left-- % 2].emplace(*this).operation);
  }
};

template<class Scheduler>
void run(Scheduler s, std::string_view what, std::size_t n) {
  if (what == "outside") {
    countdown all(n);
    operations<Scheduler> started(n);
    for (std::size_t i = 0; i != n; ++i) started.start(i, s, all);
    all.wait();
  } else if (what == "producers") {
    constexpr std::size_t threads = 4;
    countdown all(threads * (n / threads));
    operations<Scheduler> started(n);
    std::vector<std::jthread> producers;
    for (std::size_t t = 0; t != threads; ++t)
      producers.emplace_back([&, t] {
        for (std::size_t i = 0; i != n / threads; ++i) started.start(t * (n / threads) + i, s, all);
      });
    all.wait();
  } else if (what == "sync_wait") {
    for (std::size_t i = 0; i != n; ++i) stdexec::sync_wait(schedule_then(s));
  } else if (what == "spawn") {
    exec::async_scope scope;
    for (std::size_t i = 0; i != n; ++i) scope.spawn(schedule_then(s));
    stdexec::sync_wait(scope.on_empty());
  } else if (what == "when_all") { // four at a time
    for (std::size_t i = 0; i < n; i += 4)
      stdexec::sync_wait(
          stdexec::when_all(schedule_then(s), schedule_then(s), schedule_then(s), schedule_then(s)));
  } else if (what == "bulk") { // n indices in loops of 1,000,000
    std::vector<unsigned> items(1'000'000);
    for (std::size_t i = 0; i < n; i += items.size())
      stdexec::sync_wait(stdexec::schedule(s) | stdexec::bulk(stdexec::par, items.size(), [&](std::size_t k) {
                           items[k] += unsigned(k);
                         }));
  } else { // chain, chains
    std::size_t const chains = what == "chains" ? 8 : 1;
    countdown all(chains);
    std::vector<std::unique_ptr<chain<Scheduler>>> each;
    for (std::size_t c = 0; c != chains; ++c)
      each.push_back(std::unique_ptr<chain<Scheduler>>(new chain<Scheduler>{s, all, n / chains}));
    for (auto& c : each) c->next();
    all.wait();
  }
}

} // namespace

int main(int argc, char** argv) {
  bench::arguments const with(argc, argv);
  rubato::pool pool(with.workers);
  rubato::stdexec_scheduler const ours(pool);
  exec::static_thread_pool theirs(with.workers);
  bench::alternate(with, {"rubato", [&] { run(ours, with.what, with.n); }},
                   {"static-thread-pool", [&] { run(theirs.get_scheduler(), with.what, with.n); }});
}
