#include "os/fork.hpp"

#include <pthread.h>
#include <system_error>

namespace rubato::os {

void register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) {
  if (int const error = ::pthread_atfork(prepare, parent, child); error != 0)
    throw std::system_error(error, std::generic_category(), "pthread_atfork");
}

} // namespace rubato::os
