#include "rubato/c/sync.h"

#include "c/access.hpp"
#include "pool/call_end.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/sched/wait/blocking_region.hpp"

#include <memory>
#include <new>

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

namespace {

struct latch_parts {
  countdown<uint32_t> left;
  call_end end;
};

latch_parts& parts_of(rb_latch const* latch) noexcept {
  return kept_in<latch_parts>(const_cast<rb_latch*>(latch)); // NOLINT: built in memory that is not const
}

} // namespace

int rb_latch_init(rb_latch* latch, uint32_t n) noexcept {
  return without_exceptions([&] {
    auto* const made = ::new (static_cast<void*>(latch->opaque)) latch_parts();
    made->left.add(n);
    if (n == 0) made->end.reach();
  });
}

void rb_latch_count_down(rb_latch* latch, uint32_t n) noexcept {
  latch_parts& parts = parts_of(latch);
  if (n != 0 && parts.left.arrive(n)) parts.end.reach(); // those that wait stay until then
}

int rb_latch_is_open(rb_latch const* latch) noexcept { return parts_of(latch).end.is_reached() ? 1 : 0; }

void rb_latch_wait(rb_latch* latch) noexcept { parts_of(latch).end.wait(); }

void rb_latch_destroy(rb_latch* latch) noexcept { std::destroy_at(&parts_of(latch)); }

void* rb_blocking_begin(rb_worker* worker) noexcept { return leave_seat(of_c(worker)); }

void rb_blocking_end(rb_worker* worker, void* seat) noexcept { come_back(of_c(worker), seat); }
