// The memory of the explorer, checked against the axioms of C++20 on random programs: the same outcomes,
// neither more nor fewer. What differs from the standard is said in docs/design/explorer.md and stated below.
#include "explore/explore.hpp"
#include "explore/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;
using order = std::memory_order;

constexpr int locations = 2;

enum class kind { load, store, exchange, light, heavy };

/// Event number e writes e + 1, so that a value names the write that it comes from; 0 is the beginning.
struct event {
  kind what;
  int location;
  order o;
  int thread;

  [[nodiscard]] bool reads() const { return what == kind::load || what == kind::exchange; }
  [[nodiscard]] bool writes() const { return what == kind::store || what == kind::exchange; }
  [[nodiscard]] bool fences() const { return what == kind::heavy; }
  [[nodiscard]] bool sequential() const { return o == order::seq_cst; }
  [[nodiscard]] bool acquires() const { return o == order::acquire || o == order::acq_rel || sequential(); }
  [[nodiscard]] bool releases() const { return o == order::release || o == order::acq_rel || sequential(); }
};
using program = std::vector<event>; // of one thread after the other

/// What each event has read, then what each location holds at the end.
using outcome = std::vector<int>;

// What the explorer finds

std::set<outcome> explored(program const& p, int threads) {
  std::set<outcome> seen;
  result const r = run({.preemptions = 99, .stale = 99}, [&](execution& e) {
    struct state {
      std::array<policy::atomic<int>, locations> at;
      outcome read;
    };
    auto const s = std::make_shared<state>();
    s->read.assign(p.size() + locations, 0);
    for (int t = 0; t != threads; ++t)
      e.thread([s, t, &p] {
        for (std::size_t i = 0; i != p.size(); ++i) {
          event const& step = p[i];
          if (step.thread != t) continue;
          auto const location = static_cast<std::size_t>(step.location);
          int const value = static_cast<int>(i) + 1;
          switch (step.what) {
          case kind::load:
            s->read[i] = s->at[location].load(step.o);
            break;
          case kind::store:
            s->at[location].store(value, step.o);
            break;
          case kind::exchange:
            s->read[i] = s->at[location].exchange(value, step.o);
            break;
          case kind::light:
            policy::light_barrier();
            break;
          case kind::heavy:
            policy::heavy_barrier();
            break;
          }
        }
      });
    e.finally([s, &seen, &p] {
      for (std::size_t l = 0; l != locations; ++l) s->read[p.size() + l] = s->at[l].load();
      seen.insert(s->read);
    });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
  return seen;
}

// What the axioms allow

/// A relation among events, the writes of the beginning included: they come last, one for each location.
class relation {
  std::vector<std::vector<bool>> holds_;

public:
  explicit relation(std::size_t n)
      : holds_(n, std::vector<bool>(n, false)) {}
  [[nodiscard]] std::size_t size() const { return holds_.size(); }
  [[nodiscard]] bool operator()(std::size_t a, std::size_t b) const { return holds_[a][b]; }
  void add(std::size_t a, std::size_t b) { holds_[a][b] = true; }
  void add(relation const& other) {
    for (std::size_t a = 0; a != size(); ++a)
      for (std::size_t b = 0; b != size(); ++b)
        if (other(a, b)) add(a, b);
  }
  void close() {
    for (std::size_t k = 0; k != size(); ++k)
      for (std::size_t a = 0; a != size(); ++a)
        for (std::size_t b = 0; b != size(); ++b)
          if (holds_[a][k] && holds_[k][b]) holds_[a][b] = true;
  }
  [[nodiscard]] bool acyclic() const {
    relation closed = *this;
    closed.close();
    for (std::size_t a = 0; a != size(); ++a)
      if (closed(a, a)) return false;
    return true;
  }
};

class axioms {
  program p_;
  std::size_t real_;              // events without those of the beginning
  std::vector<std::size_t> from_; // the event from which each one reads
  std::vector<std::vector<std::size_t>> modification_;
  std::set<outcome> allowed_;

public:
  explicit axioms(program p)
      : p_(std::move(p))
      , real_(p_.size())
      , from_(p_.size() + locations)
      , modification_(locations) {
    for (int l = 0; l != locations; ++l) p_.push_back({kind::store, l, order::relaxed, -1});
    choose_modification(0);
  }
  [[nodiscard]] std::set<outcome> const& allowed() const { return allowed_; }

private:
  void choose_modification(std::size_t location) {
    if (location == locations) return choose_from(0);
    std::vector<std::size_t>& writes = modification_[location];
    writes.clear();
    for (std::size_t i = 0; i != real_; ++i)
      if (p_[i].writes() && p_[i].location == static_cast<int>(location)) writes.push_back(i);
    writes.insert(writes.begin(), real_ + location);
    do choose_modification(location + 1);
    while (std::next_permutation(writes.begin() + 1, writes.end()));
  }

  void choose_from(std::size_t i) {
    if (i == real_) return judge();
    if (!p_[i].reads()) return choose_from(i + 1);
    std::vector<std::size_t> const& writes = modification_[static_cast<std::size_t>(p_[i].location)];
    for (std::size_t k = 0; k != writes.size(); ++k) {
      // A read-modify-write reads what comes right before it.
      if (p_[i].writes() && (k + 1 == writes.size() || writes[k + 1] != i)) continue;
      if (writes[k] == i) continue;
      from_[i] = writes[k];
      choose_from(i + 1);
    }
  }

  void judge() {
    std::size_t const n = p_.size();
    relation program_order(n), reads_from(n), coherence(n), happens(n);
    for (std::size_t a = 0; a != n; ++a)
      for (std::size_t b = 0; b != real_; ++b)
        if (a >= real_ || (p_[a].thread == p_[b].thread && a < b)) program_order.add(a, b);
    for (std::size_t i = 0; i != real_; ++i)
      if (p_[i].reads()) reads_from.add(from_[i], i);
    relation causes = program_order;
    causes.add(reads_from);
    // Beyond C++20: no thin air, and no load buffering.
    if (!causes.acyclic()) return;

    // Coherence-ordered before: reads-from, modification order, reads-before.
    coherence.add(reads_from);
    for (auto const& writes : modification_)
      for (std::size_t a = 0; a != writes.size(); ++a)
        for (std::size_t b = a + 1; b != writes.size(); ++b) {
          coherence.add(writes[a], writes[b]);
          for (std::size_t r = 0; r != real_; ++r)
            if (p_[r].reads() && from_[r] == writes[a] && r != writes[b]) coherence.add(r, writes[b]);
        }
    coherence.close();

    happens = program_order;
    for (std::size_t a = 0; a != real_; ++a)
      for (std::size_t b = 0; b != real_; ++b)
        if (synchronizes(a, b)) happens.add(a, b);
    happens.close();
    for (std::size_t a = 0; a != n; ++a)
      for (std::size_t b = 0; b != n; ++b)
        if (happens(a, a) || coherence(a, a) || (happens(a, b) && coherence(b, a))) return;

    // Beyond C++20: the single order agrees with happens-before altogether, not only with its strong part.
    if (!ordered(causes, coherence, happens, {})) return;

    outcome o(real_ + locations, 0);
    auto const value = [&](std::size_t write) { return write < real_ ? static_cast<int>(write) + 1 : 0; };
    for (std::size_t i = 0; i != real_; ++i)
      if (p_[i].reads()) o[i] = value(from_[i]);
    for (std::size_t l = 0; l != locations; ++l) o[real_ + l] = value(modification_[l].back());
    allowed_.insert(o);
  }

  /// A full fence that a heavy barrier makes another thread execute: behind so many of its light barriers,
  /// and before the next. It orders what happens before the one and after the other.
  struct remote {
    std::size_t heavy;
    std::size_t last = nowhere, next = nowhere;
  };
  static constexpr std::size_t nowhere = ~std::size_t{0};

  /// Is there a single order of all that is sequentially consistent, for some times of the remote fences?
  [[nodiscard]] bool ordered(relation const& causes, relation const& coherence, relation const& happens,
                             std::vector<remote> const& remotes) const {
    // Those of one heavy barrier after the other, of one thread after the other.
    std::size_t left = remotes.size();
    for (std::size_t h = 0; h != real_; ++h) {
      if (!p_[h].fences()) continue;
      for (int t = 0; t <= p_[real_ - 1].thread; ++t) {
        if (t == p_[h].thread || left-- != 0) continue;
        std::vector<std::size_t> lights{nowhere};
        for (std::size_t l = 0; l != real_; ++l)
          if (p_[l].what == kind::light && p_[l].thread == t) lights.push_back(l);
        lights.push_back(nowhere);
        for (std::size_t i = 0; i + 1 != lights.size(); ++i) {
          std::vector<remote> more = remotes;
          more.push_back({h, lights[i], lights[i + 1]});
          if (ordered(causes, coherence, happens, more)) return true;
        }
        return false;
      }
    }
    return acyclic_with(causes, coherence, happens, remotes);
  }

  /// Nodes of the order: the events, of which a heavy barrier is its second fence; then the first fence of
  /// each; then the remote ones.
  [[nodiscard]] bool acyclic_with(relation const& causes, relation const& coherence, relation const& happens,
                                  std::vector<remote> const& remotes) const {
    std::size_t const n = p_.size();
    relation single(2 * n + remotes.size());
    auto const remote_at = [&](std::size_t node) -> remote const& { return remotes[node - 2 * n]; };
    for (std::size_t a = 0; a != n; ++a)
      for (std::size_t b = 0; b != n; ++b)
        if (causes(a, b)) {
          single.add(a, b);
          if (p_[b].fences()) single.add(a, n + b);
        }
    for (std::size_t h = 0; h != real_; ++h)
      if (p_[h].fences()) single.add(n + h, h);
    for (std::size_t f = 2 * n; f != single.size(); ++f) {
      remote const& r = remote_at(f);
      single.add(n + r.heavy, f);
      single.add(f, r.heavy);
      if (r.last != nowhere) single.add(r.last, f);
      if (r.next != nowhere) single.add(f, r.next);
    }
    auto const before = [&](std::size_t x, std::size_t a) { // x is a, or a fence before it
      if (x < n && p_[x].fences()) return happens(x, a);
      if (x < n) return x == a && p_[a].sequential();
      if (x < 2 * n) return p_[x - n].fences() && happens(x - n, a);
      return remote_at(x).next != nowhere && happens(remote_at(x).next, a);
    };
    auto const after = [&](std::size_t y, std::size_t b) { // y is b, or a fence after it
      if (y < n && p_[y].fences()) return happens(b, y);
      if (y < n) return y == b && p_[b].sequential();
      if (y < 2 * n) return p_[y - n].fences() && happens(b, y - n);
      return remote_at(y).last != nowhere && happens(b, remote_at(y).last);
    };
    for (std::size_t a = 0; a != n; ++a)
      for (std::size_t b = 0; b != n; ++b) {
        if (!coherence(a, b)) continue;
        for (std::size_t x = 0; x != single.size(); ++x)
          for (std::size_t y = 0; y != single.size(); ++y)
            if (before(x, a) && after(y, b)) single.add(x, y);
      }
    return single.acyclic();
  }

  /// A write that releases, or a fence before a write; what continues its release sequence; a read of it that
  /// acquires, or a fence after a read.
  [[nodiscard]] bool synchronizes(std::size_t a, std::size_t b) const {
    for (std::size_t w = 0; w != real_; ++w) {
      if (!p_[w].writes()) continue;
      bool const released =
          p_[a].fences() ? p_[a].thread == p_[w].thread && a < w : a == w && p_[w].releases();
      if (!released) continue;
      for (std::size_t r = 0; r != real_; ++r) {
        if (!p_[r].reads() || !continues(w, from_[r])) continue;
        bool const acquired =
            p_[b].fences() ? p_[r].thread == p_[b].thread && r < b : b == r && p_[r].acquires();
        if (acquired) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool continues(std::size_t head, std::size_t write) const {
    while (write != head && write < real_ && p_[write].reads()) write = from_[write];
    return write == head;
  }
};

// Both

template<class Generator>
program random_program(Generator& g, int threads, int length, bool barriers) {
  auto const below = [&](unsigned n) { return static_cast<int>(g() % n); };
  constexpr std::array loads{order::relaxed, order::acquire, order::seq_cst};
  constexpr std::array stores{order::relaxed, order::release, order::seq_cst};
  constexpr std::array exchanges{order::relaxed, order::acquire, order::release, order::acq_rel,
                                 order::seq_cst};
  program p;
  for (int t = 0; t != threads; ++t)
    for (int i = 0; i != length; ++i) {
      int const location = below(locations);
      switch (below(barriers ? 8 : 6)) {
      case 7:
        p.push_back({kind::heavy, 0, order::seq_cst, t});
        break;
      case 6:
        p.push_back({kind::light, 0, order::relaxed, t});
        break;
      case 5:
        p.push_back({kind::exchange, location, exchanges[g() % exchanges.size()], t});
        break;
      case 4:
      case 3:
        p.push_back({kind::store, location, stores[g() % stores.size()], t});
        break;
      default:
        p.push_back({kind::load, location, loads[g() % loads.size()], t});
        break;
      }
    }
  return p;
}

std::string shown(program const& p) {
  std::ostringstream text;
  for (std::size_t i = 0; i != p.size(); ++i) {
    constexpr std::array names{"load", "store", "exchange", "light", "heavy"};
    text << "  " << i + 1 << ": T" << p[i].thread << ' ' << names[static_cast<std::size_t>(p[i].what)] << ' '
         << "xy"[p[i].location] << ' ' << name_of(p[i].o) << '\n';
  }
  return text.str();
}
std::string shown(std::set<outcome> const& some, std::set<outcome> const& without) {
  std::ostringstream text;
  for (outcome const& o : some) {
    if (without.contains(o)) continue;
    text << "  ";
    for (int const v : o) text << v << ' ';
    text << '\n';
  }
  return text.str();
}

void compare(unsigned seed, int programs, int threads, int length, bool barriers = true) {
  std::mt19937 generator(seed);
  for (int i = 0; i != programs; ++i) {
    program const p = random_program(generator, threads, length, barriers);
    std::set<outcome> const found = explored(p, threads);
    axioms const a(p);
    ASSERT_EQ(found, a.allowed()) << shown(p) << "too strong, misses:\n"
                                  << shown(a.allowed(), found) << "too weak, invents:\n"
                                  << shown(found, a.allowed());
  }
}

TEST(axioms, hold_for_two_threads) { compare(1, 500, 2, 3); }
TEST(axioms, hold_for_three_threads) { compare(2, 100, 3, 2); }
TEST(axioms, hold_for_four_threads) { compare(3, 2, 4, 2, false); }

} // namespace
