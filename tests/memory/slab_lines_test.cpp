// Blocks of the slab in the hands of different threads share no cache line. docs/design/slab.md
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/memory/slab.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace rubato_test {
namespace {

constexpr std::size_t line = rubato::detail::slab_classes::line;

std::uintptr_t line_of(void const* memory) { return reinterpret_cast<std::uintptr_t>(memory) / line; }

// Neighbours came to belong to different threads, and each run of the same fork-join of coroutines with two
// workers took longer than the one before.
TEST(slab_lines, regression_neighbours_shared_lines) {
  constexpr std::size_t blocks = 200;
  for (std::size_t bytes = 49; bytes <= rubato::detail::slab_classes::largest; bytes += 5) {
    std::set<std::uintptr_t> lines;
    std::vector<void*> kept;
    for (std::size_t b = 0; b != blocks; ++b) {
      auto* const begin = static_cast<std::byte*>(rubato::detail::allocate(bytes));
      kept.push_back(begin);
      for (std::uintptr_t l = line_of(begin); l <= line_of(begin + bytes - 1); ++l)
        ASSERT_TRUE(lines.insert(l).second) << "a line of two blocks of " << bytes << " bytes";
    }
    for (void* const b : kept) rubato::detail::deallocate(b, bytes);
  }
}

TEST(slab_lines, a_class_holds_what_is_allocated_in_it) {
  using k = rubato::detail::slab_classes;
  std::size_t last = 0;
  for (std::size_t bytes = 1; bytes <= k::largest; ++bytes) {
    std::size_t const c = k::of(bytes);
    ASSERT_LT(c, k::number);
    ASSERT_GE(k::size(c), bytes);
    ASSERT_TRUE(c == last || c == last + 1) << bytes;
    ASSERT_TRUE(c == 0 || k::size(c - 1) < bytes) << bytes;
    last = c;
  }
  EXPECT_EQ(last + 1, k::number);
}

// The smallest frame, too, has a line for itself.
TEST(slab_lines, frames_are_whole_lines) {
  EXPECT_EQ(rubato::detail::whole_lines(33), line);
  EXPECT_EQ(rubato::detail::whole_lines(64), line);
  EXPECT_EQ(rubato::detail::whole_lines(65), 65U);
  std::set<std::uintptr_t> lines;
  std::vector<void*> frames;
  for (int f = 0; f != 200; ++f) {
    frames.push_back(rubato::detail::task_frame::operator new(40));
    EXPECT_TRUE(lines.insert(line_of(frames.back())).second);
  }
  for (void* const f : frames) rubato::detail::task_frame::operator delete(f, 40);
}

} // namespace
} // namespace rubato_test
