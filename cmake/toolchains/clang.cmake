# The Clang that the project is checked with, or else the newest one there is.
find_program(
  rubato_clang
  NAMES clang++-19 clang++-22 clang++-21 clang++-20 clang++-18 clang++-17 clang++-16 clang++
  REQUIRED NO_CACHE)
set(CMAKE_CXX_COMPILER ${rubato_clang})
