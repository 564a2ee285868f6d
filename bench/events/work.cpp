#include "work.hpp"

#include <atomic>
#include <cstdint>
#include <random>

namespace {

[[gnu::noinline]] std::mt19937* make_generator() {
  thread_local std::mt19937 of_thread{std::random_device{}()};
  return &of_thread;
}

thread_local constinit std::mt19937* generator = nullptr; // as there, a test costs no look at a guard

inline std::mt19937& of_thread() {
  if (generator == nullptr) generator = make_generator();
  return *generator;
}

[[gnu::noinline]] bool draw_bit() {
  return std::uniform_int_distribution<std::uint16_t>(0, 1)(of_thread()) == 1;
}

} // namespace

void draw_bits(int count) {
  for (int i = 0; i != count; ++i) {
    std::atomic<bool> flag(draw_bit());
    flag.store(true);
  }
}

std::size_t draw_index(std::size_t size) {
  return std::uniform_int_distribution<std::size_t>(0, size - 1)(of_thread());
}
