#include "attached_thread.hpp"

#include <Python.h>

#include <atomic>

namespace rubato::python {
namespace {

// Threads of the global pool can outlive the interpreter.
std::atomic<bool> interpreter_ends{false};

class attachment {
  bool const is_ours_ = PyGILState_GetThisThreadState() == nullptr;

public:
  attachment() {
    if (!is_ours_) return;
    (void)PyGILState_Ensure();
    (void)PyEval_SaveThread();
  }
  attachment(attachment const&) = delete;
  attachment& operator=(attachment const&) = delete;
  ~attachment() {
    // Pairs with the store in stop_detaching_threads(), because that precedes the wake with which the exit of
    // the program ends this thread.
    if (!is_ours_ || interpreter_ends.load(std::memory_order_acquire)) return;
    (void)PyGILState_Ensure();
    PyGILState_Release(PyGILState_LOCKED);
    PyGILState_Release(PyGILState_UNLOCKED); // the one that the constructor has kept: deletes the state
  }
};

} // namespace

void attach_this_thread() { static thread_local attachment const kept; }

void stop_detaching_threads() noexcept { interpreter_ends.store(true, std::memory_order_release); }

} // namespace rubato::python
