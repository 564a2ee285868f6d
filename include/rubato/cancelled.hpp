// A wait or a loop that a stop has ended early.
#pragma once

#include "rubato/detail/config.hpp"

#include <exception>

namespace rubato {

/// Thrown where a stopped wait has no room for a value.
class cancelled : public std::exception {
public:
  [[nodiscard]] char const* what() const noexcept override {
    return "rubato: cancelled: a stop was requested";
  }
};

} // namespace rubato
