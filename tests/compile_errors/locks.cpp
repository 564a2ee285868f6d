// A lock that is waited for with co_await is none for the guards of std, which would not wait.
#include <mutex> // first: each message tells from where it was included
#include <shared_mutex>

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
// shown: void lock_shared() = delete;   // write: auto const lock = co_await mutex.scoped_shared_lock();
// shown: void unlock_shared() = delete; // write: auto const lock = co_await mutex.scoped_shared_lock();
void guarded(rubato::async_shared_mutex& m) {
  std::lock_guard const guard(m);
  // error: deleted function
  // error: deleted function
}
void shared(rubato::async_shared_mutex& m) {
  std::shared_lock const lock(m);
  // error: deleted function
  // error: deleted function
}
