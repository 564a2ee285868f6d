// The CPUs on which a thread may run, now and before it was pinned.
#pragma once

#include <span>
#include <vector>

namespace rubato::os {

/// A set of CPUs, of any size, as the kernel wants it.
class cpu_mask {
  std::vector<unsigned long> words_;
  static cpu_mask of(int thread);

public:
  cpu_mask() noexcept = default;
  /// Numbers that no kernel can have are left out.
  explicit cpu_mask(std::span<int const> cpus);
  /// That of the calling thread; empty if the kernel refuses to tell.
  static cpu_mask current() { return of(0); }
  /// That of the main thread, which stands for the process: the parent process may have set it.
  static cpu_mask of_process();

  [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
  /// Ascending.
  [[nodiscard]] std::vector<int> cpus() const;
  /// Gives the calling thread these CPUs. False, and nothing changed, if the kernel refuses.
  [[nodiscard]] bool apply() const noexcept;
};

/// The CPUs on which the calling thread may run, ascending. A thread pinned by pin() gets those from before
/// the pin. Empty only if the kernel refuses to tell.
std::vector<int> affinity_cpus();

/// The CPUs that the calling thread had before it was pinned; empty if it is not pinned.
cpu_mask const& mask_before_pin() noexcept;

} // namespace rubato::os
