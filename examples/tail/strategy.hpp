// How a call is made: once, or as several copies of which the first counts.
#pragma once

#include <rubato/hedge_policy.hpp>
#include <rubato/race.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace tail {

struct strategy {
  enum class kind { single, race, hedge };

  std::string name;
  kind how = kind::single;
  unsigned runners = 1;
  bool pinned = false;
  std::chrono::microseconds after{0};
  std::shared_ptr<rubato::hedge_policy> policy; ///< null: none

  rubato::race_options options() const;
};

/// single              one call
/// race:N              N copies, joined; pinned if there is a core for each
/// hedge:N             N copies that begin at once; pinned likewise
/// after:US            the second copy begins after so many microseconds
/// adaptive:Q[:B[:S]]  a hedge_policy says when: quantile, budget, burst
///
/// The last two do not pin: where one copy runs alone, nothing makes up for a core that is busy.
///
/// Throws std::invalid_argument if the text is none of these.
strategy make_strategy(const std::string& text);

/// What is compared if nothing else is asked for.
std::vector<std::string> usual_strategies();
/// For the chart of extra work against the tail.
std::vector<std::string> sweep_strategies();

} // namespace tail
