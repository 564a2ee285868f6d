// Where protocol code accesses memory, and what becomes of an access whose memory order is weakened by one
// step.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace rubato_test {

enum class operation : std::uint8_t { load, store, modify, compare, fence, light_barrier, heavy_barrier };

/// One call in the source that accesses shared memory.
struct site {
  std::source_location where;
  operation what = operation::load;
  std::memory_order order = std::memory_order_seq_cst;
  std::memory_order failure = std::memory_order_seq_cst; ///< of a compare: when it does not exchange
};

/// A change of one site.
struct weakening {
  site where;
  bool of_failure = false;                          ///< the order of a compare that does not exchange
  std::memory_order to = std::memory_order_relaxed; ///< of a barrier: it is left out
};

/// The changes that leave the order at a site one step weaker.
std::vector<weakening> weakenings(site const& s);

/// "file:line function: change: source text", as far as the source can be read.
std::string describe(weakening const& w);
std::string describe(std::source_location const& where);
char const* name_of(std::memory_order order);

bool same_place(std::source_location const& a, std::source_location const& b) noexcept;

/// The sites that executions have passed.
class site_set {
public:
  void insert(site const& s);
  [[nodiscard]] std::vector<site> const& sites() const noexcept { return sites_; }

private:
  std::vector<site> sites_;
  std::array<std::uint32_t, 256> recent_{}; // index + 1 into sites_
};

} // namespace rubato_test
