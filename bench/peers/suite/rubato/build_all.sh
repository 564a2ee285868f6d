#!/bin/sh
# Builds the entry with a preset, as the suite's script calls it.
set -eu
cmake --preset "${1:-clang-linux-release}" .
cmake --build build --parallel
