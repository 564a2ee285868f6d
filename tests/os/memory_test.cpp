#include "os/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <new>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace rubato;

/// How many of the pages are in memory.
std::ptrdiff_t owned_task(void* memory, std::size_t bytes) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(::mincore(memory, bytes, pages.data()), 0);
  return std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; });
}

TEST(memory, is_zero_and_committed_by_the_page) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  auto* const memory = static_cast<unsigned char*>(os::reserve(bytes));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4'096, 0U);
  EXPECT_EQ(owned_task(memory, bytes), 0);
  EXPECT_EQ(memory[bytes / 2], 0);
  memory[0] = 1;
  memory[bytes / 2] = 2;
  memory[bytes - 1] = 3;
  EXPECT_LE(owned_task(memory, bytes), 3); // not a huge page for each
  EXPECT_TRUE(std::ranges::all_of(std::span(memory + 1, 100'000), [](unsigned char c) { return c == 0; }));
  os::release(memory, bytes);
}

TEST(memory, more_than_there_is) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  std::vector<void*> all;
  for (int i = 0; i < 32; ++i) all.push_back(os::reserve(bytes));
  for (void* const m : all) *static_cast<int*>(m) = 1;
  for (void* const m : all) os::release(m, bytes);
}

TEST(memory, any_size) {
  for (std::size_t const bytes : {1U, 100U, 4'095U, 4'096U, 4'097U, 1'000'000U}) {
    auto* const memory = static_cast<unsigned char*>(os::reserve(bytes));
    std::ranges::fill(std::span(memory, bytes), static_cast<unsigned char>(0xff));
    os::release(memory, bytes);
  }
}

TEST(memory, in_huge_pages_is_aligned_and_zero) {
  for (std::size_t pages = 1; pages != 4; ++pages) {
    std::size_t const bytes = pages * os::huge_page;
    auto* const memory = static_cast<unsigned char*>(os::reserve_huge(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % os::huge_page, 0U);
    EXPECT_TRUE(std::ranges::all_of(std::span(memory, bytes), [](unsigned char c) { return c == 0; }));
    std::ranges::fill(std::span(memory, bytes), static_cast<unsigned char>(0xff));
    os::release(memory, bytes);
  }
}

TEST(memory, impossible_sizes_are_thrown) {
  EXPECT_THROW(static_cast<void>(os::reserve(SIZE_MAX)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(os::reserve(SIZE_MAX / 2)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(os::reserve(0)), std::bad_alloc);
}

} // namespace
