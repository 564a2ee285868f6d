// A program that a page or a header shows.
#pragma once

struct shown_program {
  char const* name;
  char const* where; // file:line
  void (*run)();
  char const* output; // as it is shown
};

/// Makes a test of it.
struct add_shown_program {
  explicit add_shown_program(shown_program const& p);
};
