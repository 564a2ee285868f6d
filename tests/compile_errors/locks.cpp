// A lock that is waited for with co_await is none for the guards of std, which would not wait.
#include <mutex> // first: each message tells from where it was included

#include <rubato/rubato.hpp>

void guarded(rubato::async_mutex& m) {
  std::lock_guard const guard(m);
  // error: no member named 'lock'
  // error: no member named 'unlock'
}
void owned(rubato::async_mutex& m) {
  std::unique_lock const lock(m);
  // error: no member named 'lock'
  // error: no member named 'unlock'
}
void scoped(rubato::async_mutex& m) {
  std::scoped_lock const lock(m);
  // error: no member named 'lock'
  // error: no member named 'unlock'
}
