#include "rubato/c/abi.h"

#include "c/access.hpp"
#include "rubato/detail/work/pool_port.hpp"

using namespace rubato::detail; // NOLINT(google-build-using-namespace): the file defines C functions

uint32_t rb_abi_version() noexcept { return RB_ABI_VERSION; }

rb_worker* rb_current() noexcept { return current->core != nullptr ? to_c(current) : nullptr; }

uint32_t rb_worker_number(rb_worker const* worker) noexcept { return of_c(worker).index; }

rb_pool* rb_worker_pool(rb_worker const* worker) noexcept { return to_c(&handle_of(*of_c(worker).core)); }
