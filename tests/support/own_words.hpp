// What a process says on standard error, as it hears it itself. For tests in a process of their own.
#pragma once

#include "support/process.hpp"

#include <array>
#include <string>
#include <unistd.h>

namespace rubato_test {

/// What this process writes on standard error from here on, up to a word.
class own_words {
  int const before_ = ::dup(2);
  std::array<int, 2> pipe_{};

public:
  own_words() {
    if (::pipe(pipe_.data()) != 0 || ::dup2(pipe_[1], 2) < 0) leave(false, "no pipe");
  }
  std::string up_to(char const* word) {
    std::string all;
    for (char c = 0; all.find(word) == std::string::npos && ::read(pipe_[0], &c, 1) == 1;) all += c;
    ::dup2(before_, 2);
    return all;
  }
};

inline bool says(std::string const& text, char const* what) { return text.find(what) != std::string::npos; }

} // namespace rubato_test
