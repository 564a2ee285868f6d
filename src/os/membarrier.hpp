// A full fence in every thread of the process at once: the dear half of an asymmetric barrier.
#pragma once

namespace rubato::os {

/// Whether membarrier() works here. The first call registers the process with the kernel; the answer never
/// changes afterwards. False if the kernel or a sandbox refuses, or if RUBATO_NO_MEMBARRIER=1 was set at the
/// first call.
[[nodiscard]] bool membarrier_available() noexcept;

/// Afterwards every other thread of the process has executed a full fence at some point during this call, and
/// so has the caller. Only where membarrier_available(). Interrupts every CPU that runs a thread of the
/// process: 1 to 3 us.
void membarrier() noexcept;

/// For tests: membarrier_available() answers false as long as `refuse` holds. The answer may change, so only
/// while nothing relies on it.
void refuse_membarrier(bool refuse) noexcept;

namespace detail {
/// The first call of membarrier_available(): reads the environment, registers, tries.
[[nodiscard]] bool ask_for_membarrier() noexcept;
} // namespace detail

} // namespace rubato::os
