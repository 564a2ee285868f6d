#include "explore/explore.hpp"

#include "explore/scheduler.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>

namespace explore {

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

} // namespace

result run(options const& o, test const& t) {
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

std::vector<std::string> unnoticed_weakenings(options const& o, std::vector<test> const& tests,
                                              std::uint64_t random) {
  site_set all;
  for (test const& t : tests) {
    options sampled = o;
    sampled.random = random;
    for (options const& each : {sampled, o}) {
      result const r = run(each, t);
      if (!r.ok) return {"fails as it is: " + r.message};
      for (site const& s : r.sites) all.insert(s);
    }
  }
  auto const noticed = [&](weakening const& w, std::uint64_t how_many_random) {
    options weakened = o;
    weakened.weaken = w;
    weakened.random = how_many_random;
    for (test const& t : tests)
      if (!run(weakened, t).ok) return true;
    return false;
  };
  std::vector<std::string> result;
  for (site const& s : all.sites()) {
    if (!std::string_view(s.where.file_name()).ends_with(o.weaken_in)) continue;
    for (weakening const& w : weakenings(s))
      if (!(random != 0 && noticed(w, random)) && !noticed(w, 0)) result.push_back(describe(w));
  }
  return result;
}

void expect_every_weakening_fails(options const& o, std::vector<test> const& tests,
                                  std::vector<std::string> const& allowed) {
  std::vector<bool> needed(allowed.size(), false);
  for (std::string const& line : unnoticed_weakenings(o, tests)) {
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

} // namespace explore
