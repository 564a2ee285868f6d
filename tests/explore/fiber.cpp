// The hardened longjmp takes a jump to another stack for an error.
#undef _FORTIFY_SOURCE

#include "explore/fiber.hpp"

#if defined(EXPLORE_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(EXPLORE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#include <cstdlib>

namespace rubato_test {

namespace {
// Which fiber has just switched, and to which. All fibers of a process run on one thread.
fiber* leaving = nullptr;
fiber* entering = nullptr;
} // namespace

fiber::fiber() {
#if defined(EXPLORE_TSAN)
  tsan_ = __tsan_get_current_fiber();
#elif !defined(EXPLORE_ASAN)
  begun_ = true;
#endif
}

fiber::fiber(entry_type entry, void* argument)
    : entry_(entry)
    , argument_(argument)
    , stack_(std::make_unique_for_overwrite<std::byte[]>(stack_size)) {
  if (getcontext(&context_) != 0) std::abort();
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = stack_size;
  context_.uc_link = nullptr;
  makecontext(&context_, &fiber::begin, 0);
#if defined(EXPLORE_ASAN)
  bottom_ = stack_.get();
  size_ = stack_size;
#elif defined(EXPLORE_TSAN)
  tsan_ = __tsan_create_fiber(0);
  own_tsan_ = true;
#endif
}

fiber::~fiber() {
#if defined(EXPLORE_TSAN)
  if (own_tsan_) __tsan_destroy_fiber(tsan_);
#endif
}

void fiber::begin() {
  fiber& self = *entering;
  self.arrived();
  self.entry_(self.argument_);
  std::abort();
}

void fiber::arrived() {
#if defined(EXPLORE_ASAN)
  // The first to leave the thread's own stack learns its bounds here.
  __sanitizer_finish_switch_fiber(fake_stack_, &leaving->bottom_, &leaving->size_);
#endif
}

void fiber::switch_to(fiber& next) {
  leaving = this;
  entering = &next;
#if defined(EXPLORE_ASAN)
  __sanitizer_start_switch_fiber(&fake_stack_, next.bottom_, next.size_);
  swapcontext(&context_, &next.context_);
  arrived();
#elif defined(EXPLORE_TSAN)
  __tsan_switch_to_fiber(next.tsan_, 0);
  swapcontext(&context_, &next.context_);
#else
  // swapcontext() makes a system call, to keep a signal mask that no fiber has changed: ten times slower.
  if (_setjmp(resume_) != 0) return;
  if (next.begun_) _longjmp(next.resume_, 1);
  next.begun_ = true;
  setcontext(&next.context_);
#endif
}

} // namespace rubato_test
