#include "explore/choices.hpp"

namespace rubato_test {

namespace {
constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
static_assert(digits.size() == most_options);
} // namespace

choices::choices(std::string_view schedule) {
  for (char const c : schedule) {
    std::size_t const digit = digits.find(c);
    diverged_ = diverged_ || digit == std::string_view::npos;
    given_.push_back(static_cast<unsigned>(digit));
  }
}

unsigned choices::pick(unsigned count, unsigned allowed) {
  std::size_t const i = next_++;
  if (i == path_.size()) {
    unsigned taken = 0;
    if (i < given_.size()) {
      taken = given_[i];
    } else if (random_ && allowed > 1 && generator_() % 4 == 0) {
      taken = static_cast<unsigned>(1 + generator_() % (allowed - 1));
    }
    path_.push_back({taken, count, allowed});
  }
  decision const& d = path_[i];
  diverged_ = diverged_ || d.count != count || d.taken >= count;
  return diverged_ ? 0 : d.taken;
}

bool choices::advance() {
  while (!path_.empty() && path_.back().taken + 1 >= path_.back().allowed) path_.pop_back();
  rewind();
  if (path_.empty()) return false;
  ++path_.back().taken;
  return true;
}

void choices::seed(std::uint64_t s) {
  random_ = true;
  generator_.seed(s);
}

void choices::redraw() {
  path_.clear();
  rewind();
}

std::string choices::text() const {
  std::string result;
  for (decision const& d : path_) result.push_back(digits[d.taken]);
  // Never empty: an empty schedule would not be recognised as one.
  result.resize(result.find_last_not_of('0') + 1);
  return result.empty() ? "0" : result;
}

} // namespace rubato_test
