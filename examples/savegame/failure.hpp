// Why a request is not served.
#pragma once

#include <stdexcept>
#include <string>

namespace savegame {

/// Thrown anywhere on the way of a request; becomes its answer.
class failure : public std::runtime_error {
  int status_;

public:
  failure(int status, const std::string& text)
      : std::runtime_error(text)
      , status_(status) {}
  /// Of HTTP.
  int status() const noexcept { return status_; }
};

} // namespace savegame
