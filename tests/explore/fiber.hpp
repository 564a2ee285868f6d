// A stack of its own on which simulated threads run, switched by hand; the sanitizers are told.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <memory>

#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXPLORE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define EXPLORE_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define EXPLORE_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define EXPLORE_TSAN 1
#endif

namespace rubato_test {

class fiber {
public:
  using entry_type = void (*)(void*);

  /// Stands for the running thread itself, with the stack that it has.
  fiber();
  /// Begins with `entry(argument)`, which never returns, when it is first switched to.
  fiber(entry_type entry, void* argument);
  ~fiber();
  fiber(fiber const&) = delete;
  fiber& operator=(fiber const&) = delete;

  /// Leaves this fiber, which must be the running one, and goes on where `next` was left.
  void switch_to(fiber& next);

private:
  // Parts of a schedule print and compare; the sanitizers make frames several times larger.
  static constexpr std::size_t stack_size = std::size_t{256} << 10U;

  static void begin();
  void arrived();

  entry_type entry_ = nullptr;
  void* argument_ = nullptr;
  std::unique_ptr<std::byte[]> stack_;
  ucontext_t context_{};
#if defined(EXPLORE_ASAN)
  void* fake_stack_ = nullptr;
  void const* bottom_ = nullptr;
  std::size_t size_ = 0;
#elif defined(EXPLORE_TSAN)
  void* tsan_ = nullptr;
  bool own_tsan_ = false;
#else
  std::jmp_buf resume_{};
  bool begun_ = false;
#endif
};

} // namespace rubato_test
