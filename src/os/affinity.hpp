// The CPUs on which a thread may run, and what they were before it was pinned.
#pragma once

#include <span>
#include <vector>

namespace rubato::os {

/// A set of CPUs, of any size, as the kernel wants it.
class cpu_mask {
  std::vector<unsigned long> words_;

public:
  cpu_mask() noexcept = default;
  /// Numbers that no kernel can have are left out.
  explicit cpu_mask(std::span<int const> cpus);
  /// That of the calling thread; empty if the kernel refuses to tell.
  static cpu_mask current();

  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  /// Ascending.
  [[nodiscard]] std::vector<int> cpus() const;
  /// Gives the calling thread these CPUs. False, and nothing changed, if the kernel refuses.
  [[nodiscard]] bool apply() const noexcept;
};

/// What the calling thread had before it was pinned; empty if it is not pinned.
cpu_mask const& mask_before_pin() noexcept;

} // namespace rubato::os
