// The slabs' locks, for fork().
#pragma once

namespace rubato::detail {

void lock_slabs() noexcept;
void unlock_slabs() noexcept;

} // namespace rubato::detail
