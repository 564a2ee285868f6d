// How a wait for a result can end, so that tests can compare it.
#pragma once

#include <rubato/cancelled.hpp>

#include <exception>
#include <future>
#include <ostream>
#include <utility>

namespace rubato_test {

enum class outcome { value, broken, no_state, cancelled, other };

inline std::ostream& operator<<(std::ostream& to, outcome o) {
  switch (o) {
  case outcome::value:
    return to << "a value";
  case outcome::broken:
    return to << "a broken promise";
  case outcome::no_state:
    return to << "no state";
  case outcome::cancelled:
    return to << "cancelled";
  default:
    return to << "another exception";
  }
}

/// Calls f and tells how that ended.
template<class F>
outcome outcome_of(F&& f) {
  try {
    static_cast<void>(std::forward<F>(f)());
    return outcome::value;
  } catch (std::future_error const& e) {
    if (e.code() == std::future_errc::broken_promise) return outcome::broken;
    if (e.code() == std::future_errc::no_state) return outcome::no_state;
    return outcome::other;
  } catch (rubato::cancelled const&) {
    return outcome::cancelled;
  } catch (...) {
    return outcome::other;
  }
}

/// How get() ends.
template<class Future>
outcome outcome_of_get(Future& f) {
  return outcome_of([&] { static_cast<void>(f.get()); });
}

/// An exception of the tests' own, told apart by its number.
struct failure : std::exception {
  int number;
  explicit failure(int n)
      : number(n) {}
};

/// The number of the failure that f() throws; -1 if it throws none, -2 if it throws something else.
template<class F>
int failure_of(F&& f) {
  try {
    static_cast<void>(std::forward<F>(f)());
    return -1;
  } catch (failure const& e) {
    return e.number;
  } catch (...) {
    return -2;
  }
}

} // namespace rubato_test
