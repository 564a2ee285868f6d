#include "strategy.hpp"

#include <rubato/pool.hpp>

#include <charconv>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace tail {
namespace {

template<class T>
T number(std::string_view text, const std::string& strategy) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument("'" + std::string(text) + "' in the strategy '" + strategy +
                                "' is no number");
  return value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

} // namespace

rubato::race_options strategy::options() const {
  rubato::race_options chosen;
  chosen.runners(runners).pin(pinned).hedge_after(after);
  if (policy) chosen.policy(*policy);
  return chosen;
}

strategy make_strategy(const std::string& text) {
  const auto parts = split(text);
  const auto count = parts.size();
  strategy made;
  made.name = text;
  made.how = strategy::kind::hedge;
  made.runners = 2;
  if (text == "single") {
    made.how = strategy::kind::single;
    made.runners = 1;
  } else if (parts[0] == "race" && count == 2) {
    made.how = strategy::kind::race;
    made.runners = number<unsigned>(parts[1], text);
  } else if (parts[0] == "hedge" && count == 2) {
    made.runners = number<unsigned>(parts[1], text);
  } else if (parts[0] == "after" && count == 2) {
    made.after = std::chrono::microseconds(number<unsigned>(parts[1], text));
  } else if (parts[0] == "adaptive" && count >= 2 && count <= 4) {
    made.policy = std::make_shared<rubato::hedge_policy>(number<double>(parts[1], text),
                                                         count > 2 ? number<double>(parts[2], text) : 0.05,
                                                         count > 3 ? number<unsigned>(parts[3], text) : 50);
  } else {
    throw std::invalid_argument("'" + text + "' is no strategy; --help lists them");
  }
  made.pinned = (parts[0] == "race" || parts[0] == "hedge") && made.runners <= rubato::usable_cpus();
  if (made.runners == 0 || made.runners > 64)
    throw std::invalid_argument("the strategy '" + text + "' needs 1 to 64 copies");
  return made;
}

std::vector<std::string> usual_strategies() {
  return {"single", "race:2", "race:4", "hedge:2", "hedge:4", "after:2500", "adaptive:0.95"};
}

std::vector<std::string> sweep_strategies() {
  return {"single",
          "hedge:2",
          "after:1000",
          "after:2000",
          "after:4000",
          "after:8000",
          "adaptive:0.5:1",
          "adaptive:0.9:1",
          "adaptive:0.95:0.05",
          "adaptive:0.95:0.02",
          "adaptive:0.95:0.01",
          "adaptive:0.98",
          "adaptive:0.99"};
}

} // namespace tail
