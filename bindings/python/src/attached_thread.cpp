#include "attached_thread.hpp"

#include <Python.h>

#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include <pthread.h>

namespace rubato::python {
namespace {

// Threads of the global pool can outlive the interpreter.
std::atomic<bool> interpreter_ends{false};

// Held while a state is made. CPython has a lock of its own then, without the interpreter's lock, and the
// child after a fork() would wait for it for ever. Not destroyed: threads may outlive static objects.
std::mutex& making() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

class attachment {
  bool is_ours_ = PyGILState_GetThisThreadState() == nullptr;

public:
  attachment() {
    if (!is_ours_) return;
    std::scoped_lock const lock(making());
    if (PyThreadState_New(PyInterpreterState_Main()) == nullptr)
      Py_FatalError("no memory for a thread state");
  }
  attachment(attachment const&) = delete;
  attachment& operator=(attachment const&) = delete;
  ~attachment() {
    // Pairs with the store in stop_detaching_threads(), because that precedes the wake with which the exit of
    // the program ends this thread.
    if (!interpreter_ends.load(std::memory_order_acquire)) detach();
  }
  void detach() {
    if (!std::exchange(is_ours_, false)) return;
    (void)PyGILState_Ensure();
    PyGILState_Release(PyGILState_LOCKED);
    PyGILState_Release(PyGILState_UNLOCKED); // the one that the constructor has kept: deletes the state
  }
};

attachment& of_this_thread() {
  static thread_local attachment kept;
  return kept;
}

} // namespace

void attach_this_thread() { (void)of_this_thread(); }

void detach_this_thread() { of_this_thread().detach(); }

void let_forks_wait_for_attachments() {
  if (pthread_atfork([] { making().lock(); }, [] { making().unlock(); }, [] { making().unlock(); }) != 0)
    throw std::bad_alloc();
}

void stop_detaching_threads() noexcept { interpreter_ends.store(true, std::memory_order_release); }

} // namespace rubato::python
