#include "status_line.hpp"

#include "system.hpp"

#include <cstdio>

namespace example {
namespace {

constexpr std::chrono::steady_clock::duration pause = std::chrono::milliseconds(100);
constexpr const char* clear_line = "\r\x1b[K";

} // namespace

status_line::status_line()
    : shown_(is_terminal(stderr))
    , next_((clock::now() + pause).time_since_epoch().count()) {}

status_line::~status_line() {
  if (shown_) std::fputs(clear_line, stderr);
}

bool status_line::due() {
  if (!shown_) return false;
  const auto now = clock::now().time_since_epoch().count();
  auto due = next_.load(std::memory_order_relaxed);
  return now >= due && next_.compare_exchange_strong(due, now + pause.count(), std::memory_order_relaxed);
}

void status_line::write(const std::string& text) { std::fprintf(stderr, "%s%s", clear_line, text.c_str()); }

} // namespace example
