// The exception that a wait or a loop throws when a stop ends it early.
//
//   #include <rubato/cancelled.hpp>
//   #include <rubato/pool.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(rubato::no_workers); // so the work cannot begin before it is cancelled
//     rubato::future<void> f = pool.spawn([] {});
//     f.cancel();
//     try {
//       f.get();
//     } catch (rubato::cancelled const& e) {
//       std::puts(e.what()); // -> rubato: cancelled: a stop was requested, or the pool ends or has ended
//     }
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include <exception>

namespace rubato {

/// Thrown by a wait that a stop request or the end of a pool ends early, if the result type of the wait has
/// no value for that. Also the result of work that was cancelled before it began.
class RUBATO_API cancelled : public std::exception {
public:
  /// A constant text.
  [[nodiscard]] char const* what() const noexcept override {
    return "rubato: cancelled: a stop was requested, or the pool ends or has ended";
  }
};

} // namespace rubato
