// What rubato_check_coroutines() finds.
#include <rubato/task.hpp>

inline rubato::task<int> decide(rubato::task<bool> t) {
  if (co_await std::move(t)) co_return 1; // miscompiled on purpose
  co_return 0;
}
