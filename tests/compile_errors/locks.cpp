// A lock that is waited for with co_await is none for the guards of std, which would not wait.
#include <mutex> // first: each message tells from where it was included

#include <rubato/rubato.hpp>

// shown: void lock() = delete;   // write: auto const lock = co_await mutex.scoped_lock();
// shown: void unlock() = delete; // write: auto const lock = co_await mutex.scoped_lock();

void guarded(rubato::async_mutex& m) {
  std::lock_guard const guard(m);
  // error: deleted function
  // error: deleted function
}
void owned(rubato::async_mutex& m) {
  std::unique_lock const lock(m);
  // error: deleted function
  // error: deleted function
}
void scoped(rubato::async_mutex& m) {
  std::scoped_lock const lock(m);
  // error: deleted function
  // error: deleted function
}
