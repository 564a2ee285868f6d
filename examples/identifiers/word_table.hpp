// A hash table from identifiers to how often they occur.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace identifiers {

struct word {
  std::string_view text;
  std::uint64_t count = 0;
};

/// Open addressing with linear probing. The caller computes the hash, once, for it also chooses among tables,
/// and keeps the texts.
class word_table {
  struct slot {
    word entry; // free while the count is 0
    std::uint64_t hash = 0;
  };

  std::vector<slot> slots_ = std::vector<slot>(16); // a power of two, at most three quarters used
  std::size_t size_ = 0;

  slot& probe(std::string_view text, std::uint64_t hash) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      slot& at = slots_[i];
      if (at.entry.count == 0 || (at.hash == hash && at.entry.text == text)) return at;
    }
  }

  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const slot& moved : old) {
      if (moved.entry.count == 0) continue;
      std::size_t i = moved.hash & mask;
      while (slots_[i].entry.count != 0) i = (i + 1) & mask;
      slots_[i] = moved;
    }
  }

public:
  std::size_t size() const { return size_; }

  /// Counts `times` more of `text`. If it is new, `keep(text)` gives the copy that the table may refer to.
  template<class Keep>
  void add(std::string_view text, std::uint64_t hash, std::uint64_t times, Keep&& keep) {
    slot* found = &probe(text, hash);
    if (found->entry.count == 0) {
      if ((size_ + 1) * 4 > slots_.size() * 3) {
        grow();
        found = &probe(text, hash);
      }
      found->entry.text = keep(text);
      found->hash = hash;
      ++size_;
    }
    found->entry.count += times;
  }

  /// Adds what the other table counted; its texts must outlive this table.
  void add(const word_table& other) {
    for (const slot& at : other.slots_)
      if (at.entry.count != 0)
        add(at.entry.text, at.hash, at.entry.count, [](std::string_view kept) { return kept; });
  }

  template<class Visit>
  void for_each(Visit&& visit) const {
    for (const slot& at : slots_)
      if (at.entry.count != 0) visit(at.entry);
  }
};

} // namespace identifiers
