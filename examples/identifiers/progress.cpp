#include "progress.hpp"

#include "system.hpp"

#include <cinttypes>
#include <cstdio>
#include <utility>

namespace identifiers {
namespace {

constexpr std::chrono::steady_clock::duration pause = std::chrono::milliseconds(100);
constexpr const char* clear_line = "\r\x1b[K";

} // namespace

progress::progress(std::string label)
    : shown_(is_terminal(stderr))
    , label_(std::move(label))
    , next_((clock::now() + pause).time_since_epoch().count()) {}

progress::~progress() {
  if (shown_) std::fputs(clear_line, stderr);
}

void progress::write_if_due() {
  const auto now = clock::now().time_since_epoch().count();
  auto due = next_.load(std::memory_order_relaxed);
  if (now < due || !next_.compare_exchange_strong(due, now + pause.count(), std::memory_order_relaxed))
    return;
  std::fprintf(stderr, "%s%s: %" PRIu64 " files, %" PRIu64 " MB", clear_line, label_.c_str(),
               files_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed) / 1'000'000);
}

} // namespace identifiers
