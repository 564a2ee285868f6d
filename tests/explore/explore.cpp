#include "explore/explore.hpp"

#include "explore/scheduler.hpp"
#include "rubato/detail/base/assert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

namespace rubato_test {

namespace {

std::string given_schedule(options const& o) {
  char const* const given = std::getenv("EXPLORE_REPLAY");
  // A schedule of the code as it is says nothing about weakened code.
  return given != nullptr && !o.weaken ? given : o.replay;
}

std::string report(scheduler const& s, result const& r, options const& o) {
  std::ostringstream text;
  text << s.message() << "\nexecution " << r.executions;
  if (o.random != 0) text << " of the random ones with seed " << o.seed;
  if (o.weaken) text << ", weakened at " << describe(*o.weaken);
  text << "\nschedule: EXPLORE_REPLAY=" << r.schedule << '\n';
  for (std::string const& line : s.trace()) text << line << '\n';
  return text.str();
}

options with_random(options o, std::uint64_t random) {
  o.random = random;
  return o;
}

std::string name_in(tests const& all, named_test const& t) {
  return t.name.empty() ? "test " + std::to_string(&t - all.data()) : t.name;
}

/// The library's own assertions.
void end_execution(char const* text, std::size_t length) {
  if (scheduler::active() != nullptr) fail(verdict::assertion, std::string(text, length));
}

} // namespace

result run(options const& o, test const& t) {
  rubato::detail::on_failed_assertion = &end_execution;
  std::string const schedule = given_schedule(o);
  scheduler s(o, t, schedule);
  bool const random = o.random != 0 && schedule.empty();
  if (random) s.decisions().seed(o.seed);
  result r;
  for (bool more = true; more;) {
    s.execute(!schedule.empty());
    ++r.executions;
    if (s.outcome() != verdict::ok || !schedule.empty()) break;
    if (random) {
      s.decisions().redraw();
      more = r.executions < o.random;
    } else {
      r.exhausted = !s.decisions().advance();
      more = !r.exhausted && r.executions < o.max_executions;
    }
  }
  r.sites = s.sites();
  r.what = s.outcome();
  r.ok = r.what == verdict::ok;
  if (!r.ok && schedule.empty()) {
    // Once more, this time keeping a trace.
    s.decisions().rewind();
    s.execute(true);
    if (s.outcome() != r.what) r.what = verdict::nondeterministic;
  }
  if (!r.ok || !schedule.empty()) {
    r.schedule = s.decisions().text();
    r.message = report(s, r, o);
  }
  return r;
}

std::vector<std::string> unnoticed_weakenings(options const& o, tests const& all, std::uint64_t random) {
  site_set passed;
  for (named_test const& t : all)
    for (options const& each : {with_random(o, random), o}) {
      result const r = run(each, t.body);
      if (!r.ok) return {"fails as it is: " + r.message};
      for (site const& s : r.sites) passed.insert(s);
    }
  auto const noticed = [&](weakening const& w, std::uint64_t how_many_random) {
    options weakened = with_random(o, how_many_random);
    weakened.weaken = w;
    return std::ranges::any_of(all, [&](named_test const& t) { return !run(weakened, t.body).ok; });
  };
  std::vector<std::string> result;
  for (site const& s : passed.sites()) {
    if (!std::string_view(s.where.file_name()).ends_with(o.weaken_in)) continue;
    for (weakening const& w : weakenings(s))
      if (!(random != 0 && noticed(w, random)) && !noticed(w, 0)) result.push_back(describe(w));
  }
  return result;
}

void expect_all_pass(options const& o, tests const& all) {
  for (named_test const& t : all) {
    SCOPED_TRACE(name_in(all, t));
    result r = run(with_random(o, 0), t.body);
    EXPECT_TRUE(r.ok) << r.message;
    if (o.random == 0) continue;
    r = run(o, t.body);
    EXPECT_TRUE(r.ok) << r.message;
  }
}

void expect_all_fail(tests const& faulty, std::optional<verdict> how, options const& o) {
  for (named_test const& t : faulty) {
    SCOPED_TRACE(name_in(faulty, t));
    result r = run(o, t.body); // most faults show soon at random
    if (r.ok) r = run(with_random(o, 0), t.body);
    EXPECT_FALSE(r.ok);
    EXPECT_EQ(r.what, how.value_or(r.what)) << r.message;
  }
}

void expect_every_weakening_fails(options const& o, tests const& all,
                                  std::vector<std::string> const& allowed) {
  std::vector<bool> needed(allowed.size(), false);
  for (std::string const& line : unnoticed_weakenings(o, all)) {
    bool found = false;
    for (std::size_t i = 0; i != allowed.size(); ++i) {
      if (line.find(allowed[i]) == std::string::npos) continue;
      found = true;
      needed[i] = true;
    }
    if (!found) ADD_FAILURE() << "no schedule notices this weakening: " << line;
  }
  for (std::size_t i = 0; i != allowed.size(); ++i)
    if (!needed[i]) ADD_FAILURE() << "not needed as an exception: " << allowed[i];
}

} // namespace rubato_test
