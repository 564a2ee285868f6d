#include "lengths.h"

#include <rubato/algorithm.hpp>
#include <rubato/pool.hpp>

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

namespace {

bool is_space(char c) { return c == ' ' || c == '\n'; }

using lengths = std::vector<uint64_t>;

/// Adds the words that begin in [begin, end).
void add_words(lengths& counts, std::string_view text, size_t begin, size_t end) {
  while (begin < end) {
    bool const begins = !is_space(text[begin]) && (begin == 0 || is_space(text[begin - 1]));
    if (!begins) {
      ++begin;
      continue;
    }
    size_t const length = std::min(text.find_first_of(" \n", begin), text.size()) - begin;
    ++counts[std::min(length, counts.size() - 1)];
    begin += length;
  }
}

} // namespace

void words_count_lengths(char const* text, size_t size, uint64_t* counts, size_t rooms) {
  constexpr size_t piece = 4096;
  std::string_view const all(text, size);
  lengths const sum = rubato::fold(
      std::views::iota(size_t{0}, (size + piece - 1) / piece), [rooms] { return lengths(rooms); },
      [all](lengths& into, size_t n) {
        add_words(into, all, n * piece, std::min((n + 1) * piece, all.size()));
      },
      [](lengths& into, lengths const& later) {
        std::ranges::transform(into, later, into.begin(), std::plus<>());
      });
  std::ranges::transform(sum, std::span(counts, rooms), counts, std::plus<>());
}

size_t words_threads_of_pool(uintptr_t* threads, size_t room) {
  auto const found =
      rubato::pool::global().broadcast(rubato::per_thread, [] { return uintptr_t{pthread_self()}; });
  std::copy_n(found.begin(), std::min(room, found.size()), threads);
  return found.size();
}
